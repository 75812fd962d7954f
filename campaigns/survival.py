"""Survival of instances that share a state topic: the active one is killed, or suspended and resumed, under load.

Run it with `python -m campaigns.survival --rounds 100`.

A client sends orders to both instances all the time. A proxy between the instances and Kafka records the steps and the
claims. In the end each partition must have the replicas of its last acknowledged order, no partition may be blocked,
and no instance may have sent a step after the claim of another one. With --without-lease the instances do not check
their lease, and the campaign must fail. After a failure the logs of the instances and of Kafka are kept.
"""

import argparse
import asyncio
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from backends.state_topic.history import History
from backends.state_topic.kafka_log import KafkaStateLog
from backends.upstream.client import UpstreamClient
from campaigns.orders import CHOICES, TOPIC, Orders, SurvivalError
from campaigns.recording_proxy import RecordingProxy
from campaigns.suspended_instance import STOP_FILE, WITHOUT_LEASE
from common.address import Address
from protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from tools.instances import SESSION_MS, Instance
from tools.kafka_cluster import KafkaCluster, running_kafka
from tools.kafka_settings import SOON_FENCED, WATCHED, Spec

STATE_TOPIC = "__reassignd_state"
BROKERS = 3
PARTITIONS, SENDERS = 120, 3
"""Partitions, and tasks that send orders to each instance."""

SPEC = Spec(BROKERS, "4.1", controllers=1, watched=True, settings=SOON_FENCED)
ACTIVE = "role: active"
TAKE_OVER_SECONDS = 120.0
END_SECONDS = 60.0
"""Longest time without progress in the end."""
LIMIT = "reassignment.max.concurrent.partition.movements"


def address(text: str) -> Address:
    """Return the parts of HOST:PORT."""
    host, _, port = text.rpartition(":")
    return Address(host, int(port))


class Survival:
    """Two instances before a cluster, with the proxy."""

    def __init__(
        self, kafka: KafkaCluster, proxy: RecordingProxy, folder: Path, seed: int, *, without_lease: bool
    ) -> None:
        self._kafka, self.proxy = kafka, proxy
        self._rng = random.Random(seed)
        servers = ",".join(
            f"127.0.0.2:{kafka.address(broker, WATCHED).rpartition(':')[2]}" for broker in kafka.brokers
        )
        self.instances = [Instance(kafka, folder, name, STATE_TOPIC, servers) for name in ("first", "second")]
        self._stop_file = folder / "stop"
        os.environ |= {STOP_FILE: str(self._stop_file), WITHOUT_LEASE: "yes" if without_lease else "no"}
        for instance in self.instances:
            instance.use_module("campaigns.suspended_instance")
        self.orders = Orders(PARTITIONS, self._rng)
        self.counts = self.orders.counts
        self._client = UpstreamClient([address(kafka.bootstrap)])
        self._ending = asyncio.Event()

    async def run(self, rounds: int, say: Callable[[str], None], kills: float = 0.5) -> None:
        """Run the rounds, of which a part are kills, and check the end. Raises SurvivalError."""
        await self._create()
        for instance in self.instances:
            await self._start(instance)
        await self._limit("20")
        sending = [asyncio.ensure_future(self._send(each)) for each in self.instances * SENDERS]
        for number in range(1, rounds + 1):
            await asyncio.sleep(self._rng.uniform(0.5, 3))
            await self._round(kill=self._rng.random() < kills)
            self._check(sending)
            say(f"{number} rounds, {self.proxy.rows} steps, {dict(self.counts)}")
        # The last orders get their answers: those that are given up may be carried out or not.
        self._ending.set()
        await asyncio.gather(*sending)
        await self._check_end()

    def end(self) -> None:
        """Kill the instances."""
        for instance in self.instances:
            if instance.runs:
                instance.kill()

    async def _create(self) -> None:
        rows = [CreatableReplicaAssignment(number, CHOICES[0]) for number in range(PARTITIONS)]
        response = await self._client.ask(CreateTopicsRequest([CreatableTopic(TOPIC, -1, -1, rows)], 30_000))
        if response.topics[0].error_code:
            raise SurvivalError(f"the topic was not created: {response}")

    async def _start(self, instance: Instance) -> None:
        process = instance.launch()
        self.proxy.pids.add(process.pid)
        assert process.stdout is not None
        line = await asyncio.to_thread(process.stdout.readline)
        if not line.startswith("ready: "):
            raise SurvivalError(f"an instance did not start: {instance.log[-2000:]}")

    async def _send(self, instance: Instance) -> None:
        while not self._ending.is_set():
            client = UpstreamClient([address(instance.bootstrap)])
            try:
                for _ in range(10):
                    if self._ending.is_set():
                        break
                    await self.orders.send(client, instance.bootstrap)
                    await asyncio.sleep(self._rng.uniform(0, 0.1))
            finally:
                await client.close()

    async def _round(self, *, kill: bool) -> None:
        active = await self._active()
        other = self.instances[1 - self.instances.index(active)]
        if kill:
            self.counts["kills"] += 1
            await asyncio.to_thread(active.kill)
            await self._wait_active(other)
            await self._start(active)
        else:
            self.counts["suspensions"] += 1
            await self._suspend(active)
            await asyncio.sleep(self._rng.choice([0.5, 1.0, 1.3]) * SESSION_MS / 1000)
            if self._rng.random() < 0.8:
                await self._wait_active(other)
            active.send(signal.SIGCONT)
        await self._active()

    async def _suspend(self, instance: Instance) -> None:
        """Suspend the process, mostly right before it sends steps (`campaigns.suspended_instance`)."""
        if self._rng.random() < 0.8:
            self._stop_file.touch()
            for _ in range(50):
                if not self._stop_file.exists():
                    return
                await asyncio.sleep(0.1)
            self._stop_file.unlink(missing_ok=True)
        instance.send(signal.SIGSTOP)

    async def _active(self) -> Instance:
        deadline = time.monotonic() + TAKE_OVER_SECONDS
        while time.monotonic() < deadline:
            for instance in self.instances:
                if await self._is_active(instance):
                    return instance
            await asyncio.sleep(0.1)
        raise SurvivalError("no instance is active")

    async def _wait_active(self, instance: Instance) -> None:
        began = time.monotonic()
        while not await self._is_active(instance):
            if time.monotonic() > began + TAKE_OVER_SECONDS:
                raise SurvivalError(f"no take-over: {instance.log[-2000:]}")
            await asyncio.sleep(0.05)

    @staticmethod
    async def _is_active(instance: Instance) -> bool:
        try:
            return ACTIVE in await asyncio.wait_for(asyncio.to_thread(instance.text, "/readyz"), 3)
        except (OSError, TimeoutError):
            return False

    def _check(self, sending: Sequence[asyncio.Future[None]]) -> None:
        for each in sending:
            if each.done():
                each.result()
        if self.proxy.late:
            pids = [each.pid for each in self.instances]
            raise SurvivalError(
                f"steps after the claim of another instance: {self.proxy.late};"
                f" claims (term, process): {self.proxy.claims}; instances now: {pids}"
            )

    async def _check_end(self) -> None:
        self._check([])
        await self._active()
        await self._limit("100")
        before, since = await self._differences(), time.monotonic()
        while before:
            await asyncio.sleep(0.5)
            left = await self._differences()
            if left != before:
                before, since = left, time.monotonic()
            elif time.monotonic() > since + END_SECONDS:
                raise SurvivalError(
                    "partitions without the replicas of their last order:\n" + "\n".join(left)
                )
        self._check([])
        foreign = (await self._history()).foreign_batches
        if foreign:
            raise SurvivalError(f"{foreign} batches of an earlier instance after a claim")

    async def _differences(self) -> list[str]:
        """Return what is not as ordered, one line per partition."""
        listed = await self._client.ask(ListPartitionReassignmentsRequest())
        moving = [
            f"partition {row.partition_index} moves" for topic in listed.topics for row in topic.partitions
        ]
        response = await self._client.ask(MetadataRequest([MetadataRequestTopic(name=TOPIC)]))
        now = {row.partition_index: tuple(row.replica_nodes) for row in response.topics[0].partitions}
        return moving + [
            f"partition {number} has {now[number]} instead of {wanted}: {self.orders.history(number)}"
            for number, wanted in enumerate(self.orders.wanted)
            if now[number] not in wanted
        ]

    async def _history(self) -> History:
        log = KafkaStateLog(STATE_TOPIC, self._client, self._client)
        history = History()
        while True:
            fetched = await log.fetch(history.next_offset)
            history.apply(fetched.batches)
            if history.next_offset >= fetched.end_offset:
                return history

    async def _limit(self, value: str) -> None:
        """Set the limit on partition movements at one of the instances."""
        client = UpstreamClient([address(self.instances[0].bootstrap)])
        config = AlterableConfig(LIMIT, 0, value)
        request = IncrementalAlterConfigsRequest([AlterConfigsResource(4, "", [config])], False)
        (row,) = (await client.ask(request)).responses
        await client.close()
        if row.error_code:
            raise SurvivalError(f"the limit was not set: {row}")


@contextmanager
def survival(folder: Path, seed: int, *, without_lease: bool) -> Iterator[Survival]:
    """Run the cluster and the proxy; the instances are started by `Survival.run`."""
    (folder / "kafka").mkdir()
    with running_kafka(SPEC, folder=folder / "kafka") as kafka:
        brokers = [address(kafka.address(broker, WATCHED)) for broker in kafka.brokers]
        with RecordingProxy((Address("127.0.0.2", at.port), at) for at in brokers) as proxy:
            run = Survival(kafka, proxy, folder, seed, without_lease=without_lease)
            try:
                yield run
            finally:
                run.end()


def main() -> int:
    """Run the command. Return 1 when something was lost."""
    parser = argparse.ArgumentParser(prog="python -m campaigns.survival", description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument(
        "--kills", type=float, default=0.5, help="part of the rounds; the others are suspensions"
    )
    parser.add_argument("--without-lease", action="store_true")
    options = parser.parse_args()
    begun, folder = time.monotonic(), Path(tempfile.mkdtemp())
    with survival(folder, options.seed, without_lease=options.without_lease) as run:
        try:
            asyncio.run(run.run(options.rounds, lambda line: print(line, flush=True), options.kills))
        except SurvivalError as error:
            print(f"seed {options.seed}, logs in {folder}: {error}", file=sys.stderr)
            return 1
        print(
            f"{options.rounds} rounds in {time.monotonic() - begun:.0f} s, seed {options.seed}: nothing lost"
        )
        print(f"{run.proxy.rows:,} steps, {len(run.proxy.claims)} claims, {dict(run.counts)}")
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
