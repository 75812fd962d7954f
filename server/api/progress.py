"""How many bytes jobs have copied, how fast, and how long the rest will take.

Everything follows from the records and from what the brokers' replicas hold (`server.ports.Sizes`), so that it is right
again as soon as the server has started. It is looked at in the background, in slices, so rarely that it costs a few
hundredths of the time however much is under way; whoever asks gets the last look.
"""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from math import ceil
from typing import NamedTuple

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
from server.api.standstill import Standstill
from server.api.streams import breathing
from server.ports import Sizes

LOOK_SECONDS = 1.0
"""Between two looks, at least."""

SECONDS_PER_ROW = 100e-6
"""Between two looks, for each row that was looked at; that takes a few microseconds."""

WINDOW_SECONDS = 10.0
"""A rate is the mean of so long, at least."""

Bytes = Counter[int]
"""By the broker that they are copied to."""


class CopyRate(NamedTuple):
    """Bytes copied and to be copied in all; bytes a second of late, None while that is not known."""

    moved: int
    total: int
    rate: int | None

    @property
    def seconds_left(self) -> int | None:
        """How long the rest will take at this rate; None where nothing tells."""
        left = self.total - self.moved
        if not left:
            return 0
        return ceil(left / self.rate) if self.rate else None


class _Copied(NamedTuple):
    """Of one job."""

    moved: Bytes
    left: Bytes


class _Look(NamedTuple):
    seconds: float
    under_way: frozenset[int]
    jobs: Mapping[int, _Copied]


class _Ended(NamedTuple):
    """Partitions of a job that have ended, so many, and what was copied for them."""

    rows: int
    moved: Bytes


class Progress:
    """Looks while `run` runs. `now` tells seconds."""

    def __init__(self, state: State, sizes: Sizes, now: Callable[[], float] = time.monotonic) -> None:
        self._state, self._sizes, self._now = state, sizes, now
        self._looks: deque[_Look] = deque()
        self._still = Standstill(state, sizes)
        self._ended: dict[int, _Ended] = {}

    async def run(self) -> None:
        """Look for ever; at nothing while no job is under way."""
        while True:
            rows = await self.look()
            await asyncio.sleep(max(LOOK_SECONDS, rows * SECONDS_PER_ROW))

    async def look(self) -> int:
        """Look once; how many rows that took."""
        under_way = frozenset(self._state.open)
        known = under_way.union(*(each.under_way for each in self._looks))
        jobs = {number: _Copied(Counter(), Counter()) for number in known if number in self._state.jobs}
        rows = 0
        self._still.begin()
        async for _ in breathing(self._rows(jobs)):
            rows += 1
        self._still.end()
        self._keep_totals(jobs)
        self._looks.append(_Look(self._now(), under_way, jobs))
        while len(self._looks) > 2 and self._looks[-1].seconds - self._looks[1].seconds >= WINDOW_SECONDS:
            self._looks.popleft()
        self._ended = {number: each for number, each in self._ended.items() if number in jobs}
        return rows

    def of_job(self, number: int) -> CopyRate | None:
        """How far the job is; None where that is not known, or there is nothing to copy."""
        if not self._looks or number not in self._looks[-1].jobs:
            return None
        moved, left = self._looks[-1].jobs[number]
        before = self._looks[0].jobs.get(number)
        return self._pace(moved.total(), left.total(), None if before is None else before.moved.total())

    @property
    def standstill(self) -> Mapping[TopicPartition, str]:
        """Why steps in flight come no nearer to their end, of those that do not."""
        return self._still.reasons

    def to_brokers(self) -> dict[int, CopyRate]:
        """How far the jobs under way are, by the broker that gets the data; only those that get any."""
        if not self._looks:
            return {}
        last = self._looks[-1]
        moved, left = _sum(last, last.under_way)
        ever, _ = _sum(last, last.jobs)
        before, _ = _sum(self._looks[0], last.jobs)
        paces = {}
        for broker in sorted(left):
            then = moved[broker] - max(0, ever[broker] - before[broker])
            pace = self._pace(moved[broker], left[broker], then)
            if pace is not None:
                paces[broker] = pace
        return paces

    def _pace(self, moved: int, left: int, before: int | None) -> CopyRate | None:
        if not moved + left:
            return None
        seconds = self._looks[-1].seconds - self._looks[0].seconds
        known = before is not None and seconds >= WINDOW_SECONDS
        rate = round(max(0, moved - (before or 0)) / seconds) if known else None
        return CopyRate(moved, moved + left, rate)

    # ---- looking --------------------------------------------------------------------------------------------

    def _rows(self, jobs: Mapping[int, _Copied]) -> Iterator[None]:
        """Add everything up; yields after each row."""
        for number, copied in jobs.items():
            yield from self._add_ended(number, copied)
        for wanted in list(self._state.reassignments.values()):
            partition = self._state.partition(*wanted.key)
            if partition is not None and wanted.job in jobs:
                self._add_ongoing(wanted, partition, jobs[wanted.job])
                if partition.adding:
                    self._still.look(partition)
            yield
        for pending in list(self._state.pending.values()):
            earlier = self._state.reassignments.get(pending.key)
            if earlier is not None and pending.job in jobs:
                missing = _missing(pending.target, earlier.original)
                _add(jobs[pending.job].left, missing, self._size(pending.key))
            yield

    def _add_ended(self, number: int, copied: _Copied) -> Iterator[None]:
        """What a row has added is kept, so that each is looked at once."""
        finished = self._state.finished.get(number, {})
        rows, moved = self._ended.get(number, _Ended(0, Counter()))
        for row in list(islice(finished.values(), rows, None)):
            if row.ending is Ending.DONE:
                _add(moved, _missing(row.target, row.original), self._size(_key_of(row)))
            rows += 1
            yield
        self._ended[number] = _Ended(rows, moved)
        copied.moved.update(moved)

    def _add_ongoing(self, wanted: Reassignment, partition: Partition, copied: _Copied) -> None:
        key, size = wanted.key, self._size(wanted.key)
        for broker in wanted.target:
            if broker in partition.adding:
                have = min(size, self._sizes.arrived(key, broker) or 0)
                copied.moved[broker] += have
                copied.left[broker] += size - have
            elif broker not in partition.replicas:
                copied.left[broker] += size
            elif broker not in wanted.original:
                copied.moved[broker] += size

    def _keep_totals(self, jobs: Mapping[int, _Copied]) -> None:
        """A rollback ends where it is told to begin, so what it has brought back is what is not left any more."""
        before = self._looks[-1].jobs if self._looks else {}
        for number, (moved, left) in jobs.items():
            job, earlier = self._state.jobs.get(number), before.get(number)
            if job is not None and job.kind is JobKind.ROLLBACK and earlier is not None:
                for broker in earlier.moved.keys() | earlier.left.keys():
                    most = earlier.moved[broker] + earlier.left[broker]
                    moved[broker] = max(moved[broker], most - left[broker])

    def _size(self, key: TopicPartition) -> int:
        return self._sizes.size(key) or 0


def _sum(look: _Look, jobs: Iterable[int]) -> _Copied:
    """Of these jobs together."""
    copied = _Copied(Counter(), Counter())
    for number in jobs:
        if number in look.jobs:
            copied.moved.update(look.jobs[number].moved)
            copied.left.update(look.jobs[number].left)
    return copied


def _missing(target: Replicas, replicas: Replicas) -> Replicas:
    return tuple(broker for broker in target if broker not in replicas)


def _add(counted: Bytes, brokers: Replicas, size: int) -> None:
    for broker in brokers:
        counted[broker] += size


def _key_of(row: Finished) -> TopicPartition:
    return TopicPartition(row.topic, row.partition)
