"""Counts the bytes of jobs, copied and left, by the brokers that receive and that sent them.

The numbers follow from the records and from the sizes of the brokers' replicas (`rates.Sizes`), so they are
correct again right after a restart.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from math import inf
from typing import Generic, TypeVar

from controller.model.cluster import Ending, Finished, Partition, Reassignment
from controller.model.replicas import NO_LEADER, Replicas, TopicPartition, without
from controller.state.state import State
from server.progress.rates import SAMPLE_SECONDS, Meter, Sizes
from server.progress.stalled_steps import StalledSteps

Bytes = Counter[int]
"""Bytes by the broker that they are copied to."""

Copy = tuple[TopicPartition, int]
"""A partition, and the broker that gets a copy of it."""

Flow = tuple[int, int]
"""The broker that data is copied from, and the one that it is copied to."""


@dataclass(slots=True)
class JobBytes:
    """Bytes of one job at one time."""

    moved: Bytes = field(default_factory=Counter)
    left: Bytes = field(default_factory=Counter)
    queued: Bytes = field(default_factory=Counter)
    """The part of `left` that no step in flight copies."""
    waiting: Bytes = field(default_factory=Counter)
    """The part of `queued` that cannot start now, for another reason than the limits."""
    sent: Bytes = field(default_factory=Counter)
    """What is in `moved`, by the broker that sent it."""
    unknown_in: set[int] = field(default_factory=set)
    """Brokers with an adding replica of unknown size; `unknown_out` are the leaders that send it."""
    unknown_out: set[int] = field(default_factory=set)
    receiving: set[int] = field(default_factory=set)
    """The brokers to which steps in flight copy data."""
    flows: Counter[Flow] = field(default_factory=Counter)
    """What is in `left`, by the broker that sends it and the one that receives it."""
    moving: bool = False
    """A step of the job is in flight."""

    @property
    def busy(self) -> set[int]:
        """The brokers that do not have all data yet, while a step is in flight."""
        return {broker for broker, size in self.left.items() if size} if self.moving else set()

    def keep_total(self, before: "JobBytes") -> None:
        """Take as copied what a rollback no longer has to copy.

        The target of a rollback is the reassignment's `original`, so no restored replica counts as copied
        otherwise.
        """
        for broker in before.moved.keys() | before.left.keys():
            total = before.moved[broker] + before.left[broker]
            self.moved[broker] = max(self.moved[broker], total - self.left[broker])

    def lost_since(self, before: "JobBytes") -> "JobBytes":
        """Return what was copied before and is not counted any more."""
        return JobBytes(moved=before.moved - self.moved, sent=before.sent - self.sent)

    def add_copied(self, other: "JobBytes") -> None:
        """Add what another measurement says is copied."""
        self.moved.update(other.moved)
        self.sent.update(other.sent)


class JobProgress:
    """What is kept of one job from one measurement to the next."""

    def __init__(self) -> None:
        self.bytes = JobBytes()
        """The last measurement."""
        self.metered: JobBytes | None = None
        """The last measurement that the rates contain."""
        self.meter: Meter | None = None
        """The job's rate while the job is open."""
        self._ended = 0
        """Partitions that have ended and were read."""
        self._copied = JobBytes()
        """What was copied of these."""
        self._topics_deleted = False
        """Since the last measurement, partitions have ended because their topic was deleted."""
        self._mean: tuple[int | None] | None = None

    def measured(self, now: JobBytes, *, is_rollback: bool) -> None:
        """Take over a complete measurement.

        What was copied of topics that were deleted meanwhile stays copied, so that the progress does not
        fall.
        """
        if is_rollback:
            now.keep_total(self.bytes)
        elif self._topics_deleted:
            lost = now.lost_since(self.bytes)
            self._copied.add_copied(lost)
            now.add_copied(lost)
        self._topics_deleted = False
        self.bytes, self._mean = now, None

    def add_interval(self, seconds: float, *, is_open: bool) -> None:
        """Add the interval since the measurement that the rate contains. An ended job has no rate."""
        self.meter = (self.meter or Meter()) if is_open else None
        if self.meter is not None and self.metered is not None:
            self.meter.add(seconds, self.copied_since(), self.metered.moving, self.bytes.moving)

    def copied_since(self) -> int:
        """Return the bytes copied since the measurement that the rate contains."""
        return 0 if self.metered is None else increase(self.metered.moved, self.bytes.moved).total()

    def mean(self, compute: Callable[[], int | None]) -> int | None:
        """Return what `compute` returns, which is called once for each measurement."""
        if self._mean is None:
            self._mean = (compute(),)
        return self._mean[0]

    def ended_rows(self, finished: Mapping[TopicPartition, Finished]) -> Iterator[Finished]:
        """Yield the partitions that have ended since the last measurement, so that each is read once."""
        for row in list(islice(finished.values(), self._ended, None)):
            self._ended += 1
            self._topics_deleted |= row.ending is Ending.TOPIC_DELETED
            yield row

    def add_ended(self, brokers: Replicas, sources: Iterable[int], size: int) -> None:
        """Add the replicas of a partition that has ended, and where they were copied from."""
        _add(self._copied.moved, brokers, size)
        _add(self._copied.sent, sources, size)

    def bytes_of_ended(self) -> JobBytes:
        """Return a new measurement with the bytes of all partitions that have ended."""
        return JobBytes(moved=Bytes(self._copied.moved), sent=Bytes(self._copied.sent))


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Remembered(Generic[K, V]):
    """Values by key, each as it was first; those that a round does not ask for are forgotten at its end."""

    def __init__(self) -> None:
        self._values: dict[K, V] = {}
        self._asked: dict[K, V] = {}

    def __len__(self) -> int:
        return len(self._values)

    def value(self, key: K, first: Callable[[], V]) -> V:
        """Return the value; `first` makes that of a new key."""
        value = self._values[key] if key in self._values else first()
        self._asked[key] = value
        return value

    def begin_round(self) -> None:
        """Begin a round, perhaps before the last one has ended."""
        self._asked = {}

    def end_round(self) -> None:
        """Forget what was not asked for."""
        self._values, self._asked = self._asked, {}


class Measurement:
    """One measurement after the other: `rows` for all records, then `end`."""

    def __init__(self, state: State, sizes: Sizes, now: Callable[[], float]) -> None:
        self._state, self._sizes, self._now = state, sizes, now
        self._first = True
        self.stalled = StalledSteps(state, sizes)
        self._sources = Remembered[Copy, int]()
        """The leader from which a replica that was added was copied, as it was first measured."""
        self._unknown_since = Remembered[Copy, float]()
        """Since when the size of an adding replica has been unknown; -inf if since the first measurement."""
        self._jobs: dict[int, JobBytes] = {}

    def rows(self, jobs: Mapping[int, JobProgress]) -> Iterator[None]:
        """Add up the bytes of the jobs. Yields after each row."""
        self.stalled.begin_round()
        self._sources.begin_round()
        self._unknown_since.begin_round()
        self._jobs = {}
        for number, job in jobs.items():
            yield from self._add_ended(number, job)
            self._jobs[number] = job.bytes_of_ended()
        state = self._state
        for key, reassignment in zip(
            list(state.orders.reassignments), list(state.orders.reassignments.values()), strict=True
        ):
            partition, counted = state.cluster.partition(*key), self._jobs.get(reassignment.job)
            if partition is not None and counted is not None:
                self._add_ongoing(key, reassignment, partition, counted)
                if key in state.in_flight:
                    counted.moving = True
                    self.stalled.check(partition)
            yield
        for pending in list(state.orders.pending.values()):
            earlier, counted = state.orders.reassignments.get(pending.key), self._jobs.get(pending.job)
            if earlier is not None and counted is not None:
                added, size = without(pending.target, earlier.original), self._size(pending.key)
                _add(counted.left, added, size)
                _add_flows(counted, earlier.original[0], added, size)
            yield

    def end(self) -> Mapping[int, JobBytes]:
        """Return the bytes of each job, after all rows."""
        self.stalled.end_round()
        self._sources.end_round()
        self._unknown_since.end_round()
        self._first = False
        return self._jobs

    def _add_ended(self, number: int, job: JobProgress) -> Iterator[None]:
        for row in job.ended_rows(self._state.orders.finished.get(number, {})):
            if row.ending is Ending.DONE:
                key, added = TopicPartition(row.topic, row.partition), without(row.target, row.original)
                sources = [self._source(key, broker, row.original) for broker in added]
                job.add_ended(added, sources, self._size(key))
            yield

    def _add_ongoing(
        self, key: TopicPartition, reassignment: Reassignment, partition: Partition, counted: JobBytes
    ) -> None:
        size, waits = self._size(key), key in self._state.orders.waiting
        for broker in reassignment.target:
            if broker in partition.adding:
                arrived = self._sizes.arrived(key, broker)
                received = min(size, arrived or 0)
                source = self._source(key, broker, reassignment.original)
                if (not size or arrived is None) and self._stays_unknown(key, broker):
                    counted.unknown_in.add(broker)
                    counted.unknown_out.add(source)
                counted.moved[broker] += received
                counted.sent[source] += received
                counted.left[broker] += size - received
                counted.flows[source, broker] += size - received
                counted.receiving.add(broker)
            elif broker not in partition.replicas:
                leader = partition.leader
                counted.left[broker] += size
                counted.flows[reassignment.original[0] if leader == NO_LEADER else leader, broker] += size
                counted.queued[broker] += size
                if waits:
                    counted.waiting[broker] += size
            elif broker not in reassignment.original:
                counted.moved[broker] += size
                counted.sent[self._source(key, broker, reassignment.original)] += size

    def _stays_unknown(self, key: TopicPartition, broker: int) -> bool:
        """Whether bytes that the broker receives cannot be assigned to a sample.

        The bytes of a replica whose size becomes known soon are those of the same sample, unless they may be
        from before the first measurement. A broker that is down receives nothing.
        """
        if broker not in self._state.cluster.live:
            return False
        now = self._now()
        since = self._unknown_since.value((key, broker), lambda: -inf if self._first else now)
        return now - since >= SAMPLE_SECONDS

    def _source(self, key: TopicPartition, broker: int, original: Replicas) -> int:
        """Return the leader from which the broker copied the partition, whatever leads it now."""

        def leader() -> int:
            partition = self._state.cluster.partition(*key)
            leader = NO_LEADER if partition is None else partition.leader
            return leader if leader not in (NO_LEADER, broker) else original[0]

        return self._sources.value((key, broker), leader)

    def _size(self, key: TopicPartition) -> int:
        return self._sizes.size(key) or 0


def increase(before: Bytes, now: Bytes) -> Bytes:
    """Return the bytes that were copied in between. Data that a cancel dropped does not count as negative."""
    return Counter({broker: size - before[broker] for broker, size in now.items() if size > before[broker]})


def _add_flows(counted: JobBytes, source: int, brokers: Iterable[int], size: int) -> None:
    for broker in brokers:
        counted.flows[source, broker] += size


def _add(counted: Bytes, brokers: Iterable[int], size: int) -> None:
    for broker in brokers:
        counted[broker] += size
