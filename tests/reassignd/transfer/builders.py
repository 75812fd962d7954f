"""A topic in memory, and data directories of a gateway."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from backends.sqlite.store import SqliteStore
from backends.state_topic.log import Fetched, Timings
from common.clock import RealClock
from controller.model.audit import AuditAction, AuditEntry
from controller.model.cluster import ControllerEpoch, Paused, Pending, Record
from protocol.record_batch import BatchRecord, Producer
from reassignd.runtime.storage import identity
from reassignd.transfer.topic import Topic
from server.gateway.port_assignments import Claim, PortAssignments
from tests.backends.state_topic.builders import Log

TIMINGS = Timings(session=0.6)
CLUSTER = "upstream-1"
RECORDS: list[Record] = [ControllerEpoch(3), Pending("foo", 1, (1, 2), 1), Paused(True)]


class MemoryLog:
    """A `StateLog` and an `EntryLog` in memory. Each claim has a newer epoch of the same producer."""

    def __init__(self) -> None:
        self.log, self._epoch = Log(), -1
        self.failure: Exception | None = None
        """What the next fetch raises."""

    async def fetch(self, offset: int, *, wait: bool = True) -> Fetched:
        if (failure := self.failure) is not None:
            self.failure = None
            raise failure
        if wait and offset >= self.log.end:
            await asyncio.sleep(0.01)
        return Fetched([each for each in self.log.batches if each.header.offset >= offset], self.log.end)

    async def start_offset(self) -> int:
        return 0

    async def new_epoch(self) -> Producer:
        self._epoch += 1
        return Producer(7, self._epoch)

    async def append(
        self,
        records: Sequence[BatchRecord],
        producer: Producer,
        sequence: int,
        *,
        transactional: bool = False,
    ) -> None:
        attributes = 0x10 if transactional else 0
        self.log.add(*records, producer=producer, sequence=sequence, attributes=attributes)

    async def begin_transaction(self, producer: Producer) -> None:
        pass

    async def end_transaction(self, producer: Producer) -> None:
        self.log.marker(commit=True, producer=producer)


class Cluster:
    """The logs of a state topic and of its audit topic."""

    def __init__(self, cluster_id: str = CLUSTER) -> None:
        self.cluster_id = cluster_id
        self.state, self.audit = MemoryLog(), MemoryLog()

    def topic(self) -> Topic:
        """Connect to the topic."""
        return Topic("state", self.cluster_id, self.state, self.audit, TIMINGS, RealClock())


def an_entry(number: int) -> AuditEntry:
    """Return an entry with the time of its id."""
    return AuditEntry(number, number, AuditAction.PAUSE, "User:ann", "c", 0, "{}")


async def a_directory(path: Path, *, records: Sequence[Record] = (), entries: int = 3) -> Path:
    """Make the data directory of a gateway before CLUSTER."""
    store = SqliteStore(path)
    await store.commit([*(records or RECORDS), *(an_entry(number) for number in range(1, entries + 1))])
    store.close()
    await PortAssignments(path).position(Claim(4, 9, {4}))
    identity.cluster_id(path)
    identity.claim(path, "backend", "upstream")
    identity.claim(path, "upstream.cluster.id", CLUSTER)
    return path
