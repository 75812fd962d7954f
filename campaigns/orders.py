"""Random orders for `campaigns.survival`, and which replicas each partition may have after them."""

import asyncio
import random
import time
from collections import Counter
from math import inf

from backends.client.errors import BrokerError, NotSentError
from backends.upstream.client import UpstreamClient
from common.error_codes import ErrorCode
from protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol.messages.alter_partition_reassignments_response import AlterPartitionReassignmentsResponse

TOPIC = "moved"
ANSWER_SECONDS = 20.0
LATEST_SECONDS = 30.0
"""An order without an answer is carried out within this time, or never: instances hold it for 15 s at
most."""
EVENTS_SHOWN = 6
"""Events of a partition that a failure shows."""

Replicas = tuple[int, ...]
Targets = dict[int, Replicas]

CHOICES: list[Replicas] = [(1, 2), (2, 3), (3, 1), (2, 1), (3, 2), (1, 3)]


class SurvivalError(Exception):
    """Something was lost."""


class Orders:
    """Sends random orders, and knows which replicas each partition may have in the end."""

    def __init__(self, partitions: int, rng: random.Random) -> None:
        self.wanted: list[set[Replicas]] = [{CHOICES[0]} for _ in range(partitions)]
        """Of each partition the target of the last acknowledged order, and of later orders without an
        answer."""
        self.counts: Counter[str] = Counter()
        self.refusable: frozenset[int] = frozenset()
        """Codes with which Kafka refuses rows in the situations of the campaign. A refused row changes
        nothing."""
        self._rng = rng
        self._free_from = [0.0] * partitions
        """When the partition can be ordered again. Of two orders at once it would be unknown which one was
        the last."""
        self._events: list[list[str]] = [[] for _ in range(partitions)]

    async def send(self, client: UpstreamClient, to: str) -> None:
        """Order a few partitions to random targets. `to` names the instance in the history."""
        targets = self._choose()
        if not targets:
            await asyncio.sleep(0.2)
            return
        rows = [ReassignablePartition(partition, target) for partition, target in targets.items()]
        request = AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(TOPIC, rows)])
        try:
            response = await client.ask(request, timeout_seconds=ANSWER_SECONDS)
        except NotSentError:
            self._note(targets, f"was not sent to {to}", free_after=0)
            self.counts["orders not sent"] += 1
            await asyncio.sleep(0.2)
        except (BrokerError, asyncio.CancelledError) as error:
            self._mark_unanswered(targets, f"had no answer from {to} ({error})")
            self.counts["orders without an answer"] += 1
            if isinstance(error, asyncio.CancelledError):
                raise
        else:
            self._answered(targets, response, to)

    def history(self, partition: int) -> str:
        """Return the last events of the partition as text."""
        return "; ".join(self._events[partition][-EVENTS_SHOWN:])

    def _choose(self) -> Targets:
        """Return targets of partitions of which no order is in flight."""
        free = [number for number, time_ in enumerate(self._free_from) if time_ <= time.monotonic()]
        chosen = self._rng.sample(free, min(len(free), self._rng.randint(1, 10)))
        targets: Targets = {partition: self._rng.choice(CHOICES) for partition in chosen}
        self._note(targets, "begins", free_after=inf)
        return targets

    def _answered(self, targets: Targets, response: AlterPartitionReassignmentsResponse, to: str) -> None:
        code = response.error_code
        if code == ErrorCode.NOT_CONTROLLER:
            # An attempt whose answer was lost may have been carried out before.
            self._mark_unanswered(targets, f"was refused by {to} with {code}")
        elif code == ErrorCode.NONE:
            self.counts["orders acknowledged"] += 1
            self._note(targets, f"was acknowledged by {to}", free_after=0)
            for row in response.responses[0].partitions:
                if row.error_code in self.refusable:
                    self.counts["rows refused"] += 1
                    continue
                if row.error_code:
                    raise SurvivalError(f"an order was refused: {row}; {self.history(row.partition_index)}")
                self.wanted[row.partition_index] = {targets[row.partition_index]}
        else:
            raise SurvivalError(f"orders were refused: {code}, {response.error_message}")
        if code:
            self.counts[f"orders refused with {code}"] += 1

    def _mark_unanswered(self, targets: Targets, what: str) -> None:
        self._note(targets, what, free_after=LATEST_SECONDS)
        for partition, target in targets.items():
            self.wanted[partition].add(target)

    def _note(self, targets: Targets, what: str, free_after: float) -> None:
        now = time.monotonic()
        clock = time.strftime("%H:%M:%S") + f"{time.time() % 1:.3f}"[1:]
        for partition, target in targets.items():
            self._free_from[partition] = now + free_after
            self._events[partition].append(f"{clock} {target} {what}")
