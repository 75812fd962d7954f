"""Progress of jobs in bytes: how much is copied, how fast, and how long the rest will take.

The numbers follow from the records and from the sizes of the brokers' replicas (`server.ports.Sizes`), so they are
correct again right after a restart. They are measured in the background, in slices, at intervals that grow with the
number of reassignments so that measuring takes a few percent of the time. Requests get the last measurement.
"""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from math import ceil
from typing import NamedTuple

from common.clock import Clock, RealClock
from controller.model.cluster import (
    Ending,
    Finished,
    JobKind,
    Partition,
    Reassignment,
    Replicas,
    TopicPartition,
)
from controller.state.state import State
from server.api.stalled_steps import StalledSteps
from server.api.streams import in_slices
from server.ports import Sizes

INTERVAL_SECONDS = 1.0
"""Shortest time between two measurements."""

INTERVAL_SECONDS_PER_ROW = 100e-6
"""Time between two measurements for each row of the last one. Measuring a row takes a few microseconds."""

WINDOW_SECONDS = 10.0
"""Shortest time over which a rate is averaged."""

Bytes = Counter[int]
"""Bytes by the broker that they are copied to."""


class CopyRate(NamedTuple):
    """Bytes copied, bytes to copy in total, and the present rate in bytes per second, None when not known."""

    moved: int
    total: int
    rate: int | None

    @property
    def seconds_left(self) -> int | None:
        """Time that the rest takes at this rate; None without a rate."""
        left = self.total - self.moved
        if not left:
            return 0
        return ceil(left / self.rate) if self.rate else None


class _Copied(NamedTuple):
    """Bytes of one job, copied and to be copied."""

    moved: Bytes
    left: Bytes


class _Measurement(NamedTuple):
    """The bytes of all jobs at one time."""

    seconds: float
    open_jobs: frozenset[int]
    jobs: Mapping[int, _Copied]


class _Ended(NamedTuple):
    """The partitions of a job that have ended: their number, and the bytes copied for them."""

    rows: int
    moved: Bytes


class Progress:
    """Measures the progress of jobs while `run` runs."""

    def __init__(self, state: State, sizes: Sizes, clock: Clock | None = None) -> None:
        self._state, self._sizes = state, sizes
        self._clock = RealClock() if clock is None else clock
        self._measurements: deque[_Measurement] = deque()
        """The last measurements, over `WINDOW_SECONDS` or more."""
        self._stalled = StalledSteps(state, sizes)
        self._ended: dict[int, _Ended] = {}

    async def run(self) -> None:
        """Measure until cancelled. A measurement costs nothing while no job is open."""
        while True:
            rows = await self.measure()
            await self._clock.sleep(max(INTERVAL_SECONDS, rows * INTERVAL_SECONDS_PER_ROW))

    async def measure(self) -> int:
        """Measure once; return the number of rows that were read."""
        open_jobs = frozenset(self._state.open)
        # Jobs that ended within the window still count for the rates of the brokers.
        recent = open_jobs.union(*(each.open_jobs for each in self._measurements))
        jobs = {number: _Copied(Counter(), Counter()) for number in recent if number in self._state.jobs}
        rows = 0
        self._stalled.begin_round()
        async for _ in in_slices(self._rows(jobs)):
            rows += 1
        self._stalled.end_round()
        self._keep_totals(jobs)
        measurements = self._measurements
        measurements.append(_Measurement(self._clock.now(), open_jobs, jobs))
        while len(measurements) > 2 and measurements[-1].seconds - measurements[1].seconds >= WINDOW_SECONDS:
            measurements.popleft()
        self._ended = {number: ended for number, ended in self._ended.items() if number in jobs}
        return rows

    def of_job(self, number: int) -> CopyRate | None:
        """Return the job's progress; None when it is not known, or when there is nothing to copy."""
        if not self._measurements or number not in self._measurements[-1].jobs:
            return None
        moved, left = self._measurements[-1].jobs[number]
        before = self._measurements[0].jobs.get(number)
        return self._rate(moved.total(), left.total(), None if before is None else before.moved.total())

    @property
    def stalled(self) -> Mapping[TopicPartition, str]:
        """The steps in flight that make no progress, with the reason."""
        return self._stalled.reasons

    def to_brokers(self) -> dict[int, CopyRate]:
        """Return the progress of all open jobs by the broker that receives the data."""
        if not self._measurements:
            return {}
        last = self._measurements[-1]
        moved, left = _sum(last, last.open_jobs)
        ever, _ = _sum(last, last.jobs)
        before, _ = _sum(self._measurements[0], last.jobs)
        rates = {}
        for broker in sorted(left):
            then = moved[broker] - max(0, ever[broker] - before[broker])
            rate = self._rate(moved[broker], left[broker], then)
            if rate is not None:
                rates[broker] = rate
        return rates

    def _rate(self, moved: int, left: int, before: int | None) -> CopyRate | None:
        if not moved + left:
            return None
        seconds = self._measurements[-1].seconds - self._measurements[0].seconds
        known = before is not None and seconds >= WINDOW_SECONDS
        rate = round(max(0, moved - (before or 0)) / seconds) if known else None
        return CopyRate(moved, moved + left, rate)

    # ---- measuring ------------------------------------------------------------------------------------------

    def _rows(self, jobs: Mapping[int, _Copied]) -> Iterator[None]:
        """Add up the bytes of the jobs. Yields after each row."""
        for number, copied in jobs.items():
            yield from self._add_ended(number, copied)
        for reassignment in list(self._state.reassignments.values()):
            partition = self._state.partition(*reassignment.key)
            if partition is not None and reassignment.job in jobs:
                self._add_ongoing(reassignment, partition, jobs[reassignment.job])
                if partition.adding:
                    self._stalled.check(partition)
            yield
        for pending in list(self._state.pending.values()):
            earlier = self._state.reassignments.get(pending.key)
            if earlier is not None and pending.job in jobs:
                added = _added(pending.target, earlier.original)
                _add(jobs[pending.job].left, added, self._size(pending.key))
            yield

    def _add_ended(self, number: int, copied: _Copied) -> Iterator[None]:
        """Add the partitions that have ended. The sum is kept, so that each row is read once."""
        finished = self._state.finished.get(number, {})
        rows, moved = self._ended.get(number, _Ended(0, Counter()))
        for row in list(islice(finished.values(), rows, None)):
            if row.ending is Ending.DONE:
                _add(moved, _added(row.target, row.original), self._size(_key_of(row)))
            rows += 1
            yield
        self._ended[number] = _Ended(rows, moved)
        copied.moved.update(moved)

    def _add_ongoing(self, reassignment: Reassignment, partition: Partition, copied: _Copied) -> None:
        key, size = reassignment.key, self._size(reassignment.key)
        for broker in reassignment.target:
            if broker in partition.adding:
                received = min(size, self._sizes.arrived(key, broker) or 0)
                copied.moved[broker] += received
                copied.left[broker] += size - received
            elif broker not in partition.replicas:
                copied.left[broker] += size
            elif broker not in reassignment.original:
                copied.moved[broker] += size

    def _keep_totals(self, jobs: Mapping[int, _Copied]) -> None:
        """Set what rollbacks have copied to what they no longer have to copy.

        The target of a rollback is the reassignment's `original`, so `_add_ongoing` counts no restored replica as copied.
        """
        before = self._measurements[-1].jobs if self._measurements else {}
        for number, (moved, left) in jobs.items():
            job, earlier = self._state.jobs.get(number), before.get(number)
            if job is not None and job.kind is JobKind.ROLLBACK and earlier is not None:
                for broker in earlier.moved.keys() | earlier.left.keys():
                    total = earlier.moved[broker] + earlier.left[broker]
                    moved[broker] = max(moved[broker], total - left[broker])

    def _size(self, key: TopicPartition) -> int:
        return self._sizes.size(key) or 0


def _sum(measurement: _Measurement, jobs: Iterable[int]) -> _Copied:
    """Return the sum over these jobs."""
    copied = _Copied(Counter(), Counter())
    for number in jobs:
        if number in measurement.jobs:
            copied.moved.update(measurement.jobs[number].moved)
            copied.left.update(measurement.jobs[number].left)
    return copied


def _added(target: Replicas, replicas: Replicas) -> Replicas:
    return tuple(broker for broker in target if broker not in replicas)


def _add(counted: Bytes, brokers: Replicas, size: int) -> None:
    for broker in brokers:
        counted[broker] += size


def _key_of(row: Finished) -> TopicPartition:
    return TopicPartition(row.topic, row.partition)
