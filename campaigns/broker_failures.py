"""Failures of brokers under two instances that execute a plan and orders.

Run it with `python -m campaigns.broker_failures --rounds 10`. The rounds repeat the kinds of HARM. Each
begins with a plan of many partitions, and ends when the plan has ended, clients' orders are acknowledged
again, and one instance is active. `campaigns.two_instances` has what must hold in the end. After a failure
the logs are kept.
"""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import cycle
from pathlib import Path

from backends.client.errors import BrokerError
from backends.upstream.client import UpstreamClient
from campaigns.orders import Replicas, SurvivalError
from campaigns.recording_proxy import RecordingProxy
from campaigns.two_instances import (
    SESSION,
    STATE_TOPIC,
    Say,
    TwoInstances,
    address,
    parser_of,
    run_campaign,
)
from common.error_codes import ErrorCode
from protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol.messages.find_coordinator_request import FindCoordinatorRequest
from protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from protocol.messages.metadata_response import MetadataResponsePartition
from tools.kafka_cluster import KafkaCluster
from tools.kafka_settings import SOON_FENCED, Spec

PLANNED, PLANNED_PARTITIONS = "planned", 100
PLACEMENTS = ((1, 2), (2, 3), (3, 1))
"""The plans move all partitions from one of these to the next."""

TRANSACTIONS = "__transaction_state"
TRANSACTION_KEY = 1
"""Key type of FindCoordinator."""

OUTAGE_SECONDS = 3 * SESSION
"""How long commits are impossible where a round does that: the lease of the active instance lapses."""

ORDERS = 10
"""Orders that must be acknowledged after a failure."""

LONGEST_SECONDS = 180.0
"""Limit for each thing that a round waits for."""


class BrokerFailures(TwoInstances):
    """Kills and restarts brokers. The KRaft controller is a node of its own, and stays."""

    PAUSE_SECONDS = 4.0
    """The plan has to share the limit with the orders."""

    SPEC = Spec(
        3,
        "4.1",
        apart=True,
        watched=True,
        settings=SOON_FENCED
        | {
            "controlled.shutdown.enable": "true",
            "transaction.state.log.replication.factor": "3",
            "transaction.state.log.min.isr": "2",
        },
    )

    def __init__(self, kafka: KafkaCluster, proxy: RecordingProxy, folder: Path, seed: int) -> None:
        super().__init__(kafka, proxy, folder, seed)
        self._measured = asyncio.Event()
        # A step cannot be turned when all replicas that were in sync are gone (unclean leader election).
        self.orders.refusable = frozenset({ErrorCode.INVALID_REPLICA_ASSIGNMENT})

    async def run(self, rounds: int, kinds: Sequence[str], say: Say) -> None:
        """Run the rounds, which repeat these kinds of HARM. Raises SurvivalError."""
        await self.create_topic(PLANNED, [PLACEMENTS[0]] * PLANNED_PARTITIONS)
        targets = cycle((*PLACEMENTS[1:], PLACEMENTS[0]))
        for number, name in zip(range(1, rounds + 1), cycle(kinds), strict=False):
            times = await self._round(HARM[name], next(targets))
            self.counts[name] += 1
            say(f"{number}. {name}: {times}; {self.progress}")

    async def _round(self, harm: "Harm", target: Replicas) -> str:
        """Do harm while a plan runs, and wait until it has ended. Return how long that took."""
        await self._order_plan(target)
        await asyncio.sleep(self.rng.uniform(0.2, 1.5))
        left, began = await self._left(target), time.monotonic()
        gap = asyncio.ensure_future(self._longest_gap())
        await harm(self)
        await self._until("orders are acknowledged", self._acknowledged(ORDERS))
        self._measured.set()

        async def has_ended() -> bool:
            return await self._left(target) == 0

        await self._until("the plan has ended", has_ended)
        plan = time.monotonic() - began
        await self._until("one instance is active", self._one_is_active)
        await self._until("all replicas are in sync", self._in_sync)
        self.check()
        return (
            f"{left} partitions left to be moved, no order acknowledged for {await gap:.1f} s,"
            f" plan ended after {plan:.0f} s"
        )

    async def kill_leader(self) -> None:
        """Kill the leader of the state partition.

        It stays away until orders are acknowledged by its successor.
        """
        await self._kill({await self._leader()}, until=self._acknowledged(ORDERS))

    async def kill_coordinator(self) -> None:
        """Kill the coordinator of the transactional id."""
        await self._kill({await self._coordinator()}, until=self._acknowledged(ORDERS))

    async def kill_both(self) -> None:
        """Kill leader and coordinator, or any second broker if they are the same one. One broker is left."""
        killed = {leader := await self._leader(), await self._coordinator()}
        if len(killed) == 1:
            killed.add(self.rng.choice([each for each in self.kafka.brokers if each != leader]))
        await self._kill(killed, for_seconds=OUTAGE_SECONDS)

    async def shrink_isr(self) -> None:
        """Kill both followers: the leader refuses batches, because it is alone in the ISR."""
        leader = await self._leader()
        await self._kill(set(self.kafka.brokers) - {leader}, for_seconds=OUTAGE_SECONDS)

    async def restart_all(self) -> None:
        """Stop and start one broker after the other, as in an upgrade of Kafka."""
        for broker in self.kafka.brokers:
            await asyncio.to_thread(self.kafka.stop_node, broker)
            await self._start({broker})
            await self._until("all replicas are in sync", self._in_sync)

    async def _kill(
        self,
        brokers: set[int],
        *,
        until: Callable[[], Awaitable[bool]] | None = None,
        for_seconds: float = 0.0,
    ) -> None:
        for broker in brokers:
            self.kafka.kill_node(broker)
        await asyncio.sleep(for_seconds)
        if until is not None:
            await self._until("orders are acknowledged without the broker", until)
        await self._start(brokers)

    async def _start(self, brokers: set[int]) -> None:
        for broker in brokers:
            self.kafka.start_node(broker)
        await asyncio.to_thread(self.kafka.wait_ready)

    async def _longest_gap(self) -> float:
        """Return the longest time between acknowledgments of orders until `_measured` is set, in seconds."""
        longest, acknowledged, since = 0.0, self.counts["orders acknowledged"], time.monotonic()
        self._measured.clear()
        while not self._measured.is_set():
            await asyncio.sleep(0.1)
            longest = max(longest, time.monotonic() - since)
            if self.counts["orders acknowledged"] != acknowledged:
                acknowledged, since = self.counts["orders acknowledged"], time.monotonic()
        return longest

    async def _order_plan(self, target: Replicas) -> None:
        """Order the plan at an instance until it is acknowledged; the same order again changes nothing."""
        rows = [ReassignablePartition(number, target) for number in range(PLANNED_PARTITIONS)]
        request = AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(PLANNED, rows)])

        async def is_acknowledged() -> bool:
            client = UpstreamClient([address(self.rng.choice(self.instances).bootstrap)])
            try:
                response = await client.ask(request)
            finally:
                await client.close()
            if response.error_code == ErrorCode.NOT_CONTROLLER:
                return False
            refused = [row for row in response.responses[0].partitions if row.error_code]
            if response.error_code or refused:
                raise SurvivalError(f"the plan was refused: {response.error_code}, {refused[:1]}")
            return True

        await self._until("the plan is acknowledged", is_acknowledged)

    def _acknowledged(self, more: int) -> Callable[[], Awaitable[bool]]:
        """Return whether this many further orders are acknowledged, as a function."""
        wanted = self.counts["orders acknowledged"] + more

        async def is_reached() -> bool:
            self.check()
            return self.counts["orders acknowledged"] >= wanted

        return is_reached

    async def _left(self, target: Replicas) -> int:
        """Return the number of partitions of the plan that are not on the target."""
        return sum(tuple(row.replica_nodes) != target for row in await self._partitions(PLANNED))

    async def _one_is_active(self) -> bool:
        return [await self.is_active(each) for each in self.instances].count(True) == 1

    async def _in_sync(self) -> bool:
        rows = [*await self._partitions(STATE_TOPIC), *await self._partitions(TRANSACTIONS)]
        return all(len(row.isr_nodes) == len(self.kafka.brokers) for row in rows)

    async def _leader(self) -> int:
        (row,) = await self._partitions(STATE_TOPIC)
        return row.leader_id

    async def _coordinator(self) -> int:
        request = FindCoordinatorRequest(key_type=TRANSACTION_KEY, coordinator_keys=(STATE_TOPIC,))
        return (await self.client.ask(request)).coordinators[0].node_id

    async def _partitions(self, topic: str) -> Sequence[MetadataResponsePartition]:
        response = await self.client.ask(MetadataRequest([MetadataRequestTopic(name=topic)]))
        return response.topics[0].partitions

    async def _until(self, what: str, holds: Callable[[], Awaitable[bool]]) -> None:
        """Wait until `holds` returns True; a broker that does not answer is asked again.

        Raises SurvivalError.
        """
        deadline, failure = time.monotonic() + LONGEST_SECONDS, ""
        while time.monotonic() < deadline:
            try:
                if await holds():
                    return
            except BrokerError as error:
                failure = str(error)
            await asyncio.sleep(0.2)
        raise SurvivalError(f"waited {LONGEST_SECONDS:.0f} s until {what}; {failure}")


Harm = Callable[[BrokerFailures], Awaitable[None]]
HARM: Mapping[str, Harm] = {
    "leader killed": BrokerFailures.kill_leader,
    "coordinator killed": BrokerFailures.kill_coordinator,
    "both killed": BrokerFailures.kill_both,
    "ISR of one": BrokerFailures.shrink_isr,
    "rolling restart": BrokerFailures.restart_all,
}


def main() -> int:
    """Run the command. Return 1 when something was lost."""
    parser = parser_of("campaigns.broker_failures", __doc__, rounds=2 * len(HARM))
    parser.add_argument(
        "--harm", action="append", choices=tuple(HARM), help="only this kind; can be repeated"
    )
    options = parser.parse_args()
    kinds = options.harm or tuple(HARM)
    return run_campaign(BrokerFailures, options.seed, lambda run, say: run.run(options.rounds, kinds, say))


if __name__ == "__main__":
    sys.exit(main())
