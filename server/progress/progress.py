"""Progress of jobs in bytes: how much is copied, how fast, and how long the rest will take.

The numbers follow from the records and from the sizes of the brokers' replicas (`server.progress.rates.Sizes`), so they are
correct again right after a restart. They are measured in the background, in slices, at intervals that grow with the
number of reassignments so that measuring takes a few percent of the time. Requests get the last measurement.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import ceil, inf
from typing import NamedTuple

from common.clock import Clock, RealClock, wall_clock
from common.tasks import Turns, in_slices
from controller.execution.throttle import throttle_rate
from controller.model.cluster import (
    NO_LEADER,
    Ending,
    Finished,
    JobKind,
    Partition,
    Reassignment,
    Replicas,
    TopicPartition,
)
from controller.schedule.openings import seconds_until_done
from controller.state.state import State
from server.counters import Totals
from server.progress.rates import SAMPLE_SECONDS, Copied, Meter, Sizes, Throughput, rounded, seconds_left
from server.progress.stalled_steps import StalledSteps

INTERVAL_SECONDS = 1.0
"""Shortest time between two measurements."""

INTERVAL_SECONDS_PER_ROW = 100e-6
"""Time between two measurements for each row of the last one. Measuring a row takes a few microseconds."""

INTERVAL_SECONDS_PER_STEP = 900e-6
"""Additional time for each step in flight, which takes some twenty microseconds."""


def pause_after(rows: int, steps: int) -> float:
    """Return the seconds between two measurements of this many rows, with this many steps in flight."""
    return max(INTERVAL_SECONDS, rows * INTERVAL_SECONDS_PER_ROW + steps * INTERVAL_SECONDS_PER_STEP)


Bytes = Counter[int]
"""Bytes by the broker that they are copied to."""


class CopyRate(NamedTuple):
    """Bytes copied and bytes to copy in total, the present rate in bytes per second, and the seconds that the rest takes.

    `rate` is None while nothing is copied, and until it was measured for `WINDOW_SECONDS`. `seconds_left` is None without
    a rate, and when a part of the rest cannot start: during a pause, or while it waits for something.
    """

    moved: int
    total: int
    rate: int | None = None
    seconds_left: int | None = None


@dataclass(slots=True)
class _Copied:
    """Bytes of one job."""

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
    moving: bool = False
    """A step of the job is in flight."""

    @property
    def receivers(self) -> set[int]:
        """The brokers that do not have all data yet."""
        return {broker for broker, size in self.left.items() if size}


class _Measurement(NamedTuple):
    """The bytes of all jobs at one time."""

    open_jobs: frozenset[int]
    jobs: Mapping[int, _Copied]


class _Ended(NamedTuple):
    """The partitions of a job that have ended: their number, and the bytes copied for them."""

    rows: int
    moved: Bytes
    sent: Bytes


class Progress:
    """Measures the progress of jobs while `run` runs."""

    def __init__(
        self,
        state: State,
        sizes: Sizes,
        clock: Clock | None = None,
        now_ms: Callable[[], int] = wall_clock,
        totals: Totals | None = None,
        turns: Turns | None = None,
    ) -> None:
        self._state, self._sizes, self._turns = state, sizes, turns
        self._clock = RealClock() if clock is None else clock
        self._last: _Measurement | None = None
        self._metered: _Measurement | None = None
        """The last measurement that the rates contain."""
        self._metered_at = -inf
        """The time at which the replicas of the brokers had those bytes."""
        self._job_meters: dict[int, Meter] = {}
        self._broker_meters: dict[int, Meter] = {}
        self._busy_meters: dict[int, Meter] = {}
        """As `_broker_meters`, but only of the time in which steps copy data to the broker."""
        self._stalled = StalledSteps(state, sizes)
        self._ended: dict[int, _Ended] = {}
        self._now_ms = now_ms
        self._mean: dict[int, int | None] = {}
        """What `_mean_seconds_left` has returned since the last measurement, by job."""
        self._left: Bytes | None = None
        """What `left_by_broker` has returned since the last measurement."""
        self.throughput = Throughput(now_ms, totals)
        self._sources: dict[tuple[TopicPartition, int], int] = {}
        """The leader from which a replica that was added was copied, as it was first measured."""
        self._new_sources: dict[tuple[TopicPartition, int], int] = {}
        self._unknown_since: dict[tuple[TopicPartition, int], float] = {}
        """Since when the size of an adding replica has been unknown; -inf if since the first measurement."""
        self._new_unknown_since: dict[tuple[TopicPartition, int], float] = {}

    async def run(self) -> None:
        """Measure until cancelled. A measurement costs nothing while no job is open."""
        while True:
            rows = await self.measure()
            await self._clock.sleep(pause_after(rows, len(self._state.in_flight)))

    async def measure(self) -> int:
        """Measure once; return the number of rows that were read."""
        open_jobs, seconds = frozenset(self._state.open), self._sizes.measured()
        # What a job copied before it ended counts for the rates of the brokers.
        recent = open_jobs.union(
            *(each.open_jobs for each in (self._last, self._metered) if each is not None)
        )
        jobs = {number: _Copied() for number in recent if number in self._state.jobs}
        rows = 0
        self._stalled.begin_round()
        self._new_sources, self._new_unknown_since = {}, {}
        async for _ in in_slices(self._rows(jobs), self._turns):
            rows += 1
        self._stalled.end_round()
        self._mean, self._left = {}, None
        self._sources, self._unknown_since = self._new_sources, self._new_unknown_since
        self._keep_totals(jobs)
        self._last = _Measurement(open_jobs, jobs)
        self._add_to_rates(seconds, self._last)
        self._ended = {number: ended for number, ended in self._ended.items() if number in jobs}
        return rows

    def of_job(self, number: int) -> CopyRate | None:
        """Return the job's progress; None when it is not known, or when there is nothing to copy."""
        copied = None if self._last is None else self._last.jobs.get(number)
        if copied is None or not (copied.moved or copied.left):
            return None
        moved, left = copied.moved.total(), copied.left.total()
        if not moved + left:
            return None
        rate = self._rate_of_job(number, copied)
        return CopyRate(moved, moved + left, rounded(rate), self._job_seconds_left(number, copied))

    @property
    def stalled(self) -> Mapping[TopicPartition, str]:
        """The steps in flight that make no progress, with the reason."""
        return self._stalled.reasons

    def to_brokers(self) -> dict[int, CopyRate]:
        """Return the progress of all open jobs by the broker that receives the data."""
        rates = {}
        total = self._sum_of_open_jobs()
        for broker in sorted(total.left):
            moved, left = total.moved[broker], total.left[broker]
            if moved + left:
                rate, seconds = self._broker_rate_and_seconds_left(broker, left)
                rates[broker] = CopyRate(moved, moved + left, rounded(rate), seconds)
        return rates

    def left_by_broker(self) -> Mapping[int, int]:
        """Return the bytes that open jobs have to copy to each broker, as of the last measurement."""
        if self._left is None:
            self._left = Counter()
            for _, copied in self._open_jobs():
                self._left.update(copied.left)
        return self._left

    def _rate_of_job(self, number: int, copied: _Copied) -> float | None:
        stands = self._is_stopped(number) and not copied.moving
        return None if stands or number not in self._job_meters else self._job_meters[number].rate

    def _job_seconds_left(self, number: int, copied: _Copied) -> int | None:
        """Return the time that the rest takes at the job's rate, at least that of its slowest broker."""
        if not copied.left.total():
            return 0
        mean = self._mean_seconds_left(number, copied)
        if mean is None:
            return None
        known = [
            seconds_left(size, rate)
            for broker, size in copied.left.items()
            if size and (rate := self._busy_rate(broker)) is not None
        ]
        return _longest([mean, *known])

    def _mean_seconds_left(self, number: int, copied: _Copied) -> int | None:
        """Return the time that the rest takes at the job's rate; None when the rest cannot start."""
        if self._is_stopped(number) or copied.waiting.total():
            return None
        if number not in self._mean:
            seconds = seconds_left(copied.left.total(), self._rate_of_job(number, copied))
            self._mean[number] = self._scheduled(seconds) if copied.queued.total() else seconds
        return self._mean[number]

    def _scheduled(self, seconds: int | None) -> int | None:
        """Return the time from now on in which the periods of the schedule have so many seconds."""
        if seconds is None or self._state.schedule is None:
            return seconds
        # The present throttle is a part of the measured rate; without one, later throttles are not known to be lower.
        rate = self._state.opening.throttle or 1
        left = seconds_until_done(self._state.schedule, self._now_ms(), seconds * rate, rate)
        return None if left is None else ceil(left)

    def _broker_rate_and_seconds_left(self, broker: int, left: int) -> tuple[float | None, int | None]:
        """Return the broker's rate, and the time left: that of its own data, or of the jobs whose steps wait for a turn."""
        jobs = {n: copied for n, copied in self._open_jobs() if copied.left[broker]}
        rate = self._broker_meters[broker].rate if broker in self._broker_meters else None
        if all(self._is_stopped(number) and not copied.moving for number, copied in jobs.items()):
            rate = None
        if not left:
            return rate, 0
        own = self._busy_rate(broker)
        times = [] if own is None else [seconds_left(left, own)]
        for number, copied in jobs.items():
            if copied.queued[broker] or own is None or self._is_stopped(number):
                times.append(self._mean_seconds_left(number, copied))
        return rate, _longest(times)

    def _busy_rate(self, broker: int) -> float | None:
        return self._busy_meters[broker].rate if broker in self._busy_meters else None

    def _open_jobs(self) -> Iterator[tuple[int, _Copied]]:
        """Yield what was measured of the open jobs. A job that has ended since then has nothing left."""
        if self._last is not None:
            for number in self._last.open_jobs & self._last.jobs.keys() & self._state.open.keys():
                yield number, self._last.jobs[number]

    def _is_stopped(self, number: int) -> bool:
        """Whether the job starts no steps."""
        backlog, job = self._state.backlog, self._state.jobs.get(number)
        return (
            self._state.paused
            or backlog.halted
            or not self._state.opening.is_open
            or backlog.usage.held == 0
            or (job is not None and job.paused)
        )

    def _sum_of_open_jobs(self) -> _Copied:
        total = _Copied()
        for _, copied in self._open_jobs():
            total.moved.update(copied.moved)
            total.left.update(copied.left)
        return total

    def _add_to_rates(self, measured: float | None, now: _Measurement) -> None:
        """Add the interval since the last measurement of the brokers' replicas, at the time `measured`, if there is a new one.

        In between, the bytes of steps in flight stand still: that is no rate of 0.
        """
        if measured is None or measured <= self._metered_at:
            return
        before, seconds = self._metered, measured - self._metered_at
        self._metered, self._metered_at = now, measured
        if before is not None:
            self._add_interval(seconds, before, now)

    def _add_interval(self, seconds: float, before: _Measurement, now: _Measurement) -> None:
        """Add the interval between two measurements to the meters of the jobs and the brokers."""
        moved = {
            number: _increase(before.jobs[number].moved, copied.moved)
            for number, copied in now.jobs.items()
            if number in before.jobs
        }
        self._job_meters = {
            number: self._job_meters.get(number, Meter()) for number in now.open_jobs if number in now.jobs
        }
        for number, meter in self._job_meters.items():
            if number in moved:
                meter.add(seconds, moved[number].total(), before.jobs[number].moving, now.jobs[number].moving)
        to_brokers = sum(moved.values(), Counter[int]())
        self.throughput.add(seconds, _copied(before, now, to_brokers), throttle_rate(self._state))
        self._broker_meters = _metered(
            self._broker_meters, seconds, to_brokers, _busy_brokers(before), _busy_brokers(now)
        )
        receiving = _receiving_brokers(before) & _receiving_brokers(now)
        self._busy_meters = {
            broker: meter for broker, meter in self._busy_meters.items() if broker in self._broker_meters
        }
        for broker in receiving:
            self._busy_meters.setdefault(broker, Meter()).add(seconds, to_brokers[broker], True, True)

    # ---- measuring ------------------------------------------------------------------------------------------

    def _rows(self, jobs: Mapping[int, _Copied]) -> Iterator[None]:
        """Add up the bytes of the jobs. Yields after each row."""
        for number, copied in jobs.items():
            yield from self._add_ended(number, copied)
        reassignments = self._state.reassignments
        for key, reassignment in zip(list(reassignments), list(reassignments.values()), strict=True):
            partition = self._state.partition(*key)
            if partition is not None and reassignment.job in jobs:
                copied = jobs[reassignment.job]
                copied.moving = copied.moving or key in self._state.in_flight
                self._add_ongoing(key, reassignment, partition, copied)
                if key in self._state.in_flight:
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
        rows, moved, sent = self._ended.get(number, _Ended(0, Counter(), Counter()))
        for row in list(islice(finished.values(), rows, None)):
            if row.ending is Ending.DONE:
                key, added = _key_of(row), _added(row.target, row.original)
                _add(moved, added, self._size(key))
                _add(sent, [self._source(key, broker, row.original) for broker in added], self._size(key))
            rows += 1
            yield
        self._ended[number] = _Ended(rows, moved, sent)
        copied.moved.update(moved)
        copied.sent.update(sent)

    def _add_ongoing(
        self, key: TopicPartition, reassignment: Reassignment, partition: Partition, copied: _Copied
    ) -> None:
        size = self._size(key)
        waits = key in self._state.waiting
        for broker in reassignment.target:
            if broker in partition.adding:
                arrived = self._sizes.arrived(key, broker)
                received = min(size, arrived or 0)
                source = self._source(key, broker, reassignment.original)
                if (not size or arrived is None) and self._stays_unknown(key, broker):
                    copied.unknown_in.add(broker)
                    copied.unknown_out.add(source)
                copied.moved[broker] += received
                copied.sent[source] += received
                copied.left[broker] += size - received
                copied.receiving.add(broker)
            elif broker not in partition.replicas:
                copied.left[broker] += size
                copied.queued[broker] += size
                if waits:
                    copied.waiting[broker] += size
            elif broker not in reassignment.original:
                copied.moved[broker] += size
                copied.sent[self._source(key, broker, reassignment.original)] += size

    def _stays_unknown(self, key: TopicPartition, broker: int) -> bool:
        """Whether bytes that the broker receives cannot be assigned to a sample.

        The bytes of a replica whose size becomes known soon are those of the same sample, unless they may be from before the
        first measurement. A broker that is down receives nothing.
        """
        if broker not in self._state.live:
            return False
        now = self._clock.now()
        since = self._unknown_since.get((key, broker), now if self._last is not None else -inf)
        self._new_unknown_since[key, broker] = since
        return now - since >= SAMPLE_SECONDS

    def _source(self, key: TopicPartition, broker: int, original: Replicas) -> int:
        """Return the leader from which the broker copied the partition: it does not change with later leaders."""
        source = self._sources.get((key, broker))
        if source is None:
            partition = self._state.partition(*key)
            leader = NO_LEADER if partition is None else partition.leader
            source = leader if leader not in (NO_LEADER, broker) else original[0]
        self._new_sources[key, broker] = source
        return source

    def _keep_totals(self, jobs: Mapping[int, _Copied]) -> None:
        """Set what rollbacks have copied to what they no longer have to copy.

        The target of a rollback is the reassignment's `original`, so `_add_ongoing` counts no restored replica as copied.
        """
        before = {} if self._last is None else self._last.jobs
        for number, copied in jobs.items():
            moved, left = copied.moved, copied.left
            job, earlier = self._state.jobs.get(number), before.get(number)
            if job is not None and job.kind is JobKind.ROLLBACK and earlier is not None:
                for broker in earlier.moved.keys() | earlier.left.keys():
                    total = earlier.moved[broker] + earlier.left[broker]
                    moved[broker] = max(moved[broker], total - left[broker])

    def _size(self, key: TopicPartition) -> int:
        return self._sizes.size(key) or 0


def _increase(before: Bytes, now: Bytes) -> Bytes:
    """Return the bytes that were copied in between. Data that a cancel dropped does not count as negative."""
    return Counter({broker: size - before[broker] for broker, size in now.items() if size > before[broker]})


def _copied(before: _Measurement, now: _Measurement, received: Bytes) -> Copied:
    """Return what brokers received and sent between two measurements. What was not known before would be a jump."""
    pairs = [(before.jobs[number], copied) for number, copied in now.jobs.items() if number in before.jobs]
    return Copied(
        received,
        sum((_increase(old.sent, new.sent) for old, new in pairs), Counter[int]()),
        {broker for pair in pairs for copied in pair for broker in copied.unknown_in},
        {broker for pair in pairs for copied in pair for broker in copied.unknown_out},
    )


def _metered(
    meters: Mapping[int, Meter], seconds: float, moved: Bytes, before: set[int], now: set[int]
) -> dict[int, Meter]:
    """Add an interval to the meters of the brokers. Those that receive nothing any more are left out."""
    metered = {broker: meters.get(broker, Meter()) for broker in meters.keys() | before | now}
    for broker, meter in metered.items():
        meter.add(seconds, moved[broker], broker in before, broker in now)
    return {broker: meter for broker, meter in metered.items() if meter or broker in now}


def _longest(times: Sequence[int | None]) -> int | None:
    """Return the longest time; None if one of them is not known, or there is none."""
    known = [each for each in times if each is not None]
    return max(known) if known and len(known) == len(times) else None


def _receiving_brokers(measurement: _Measurement) -> set[int]:
    return {broker for copied in measurement.jobs.values() for broker in copied.receiving}


def _busy_brokers(measurement: _Measurement) -> set[int]:
    """Return the brokers that are to receive data of a job with a step in flight."""
    return {broker for copied in measurement.jobs.values() if copied.moving for broker in copied.receivers}


def _added(target: Replicas, replicas: Replicas) -> Replicas:
    return tuple(broker for broker in target if broker not in replicas)


def _add(counted: Bytes, brokers: Iterable[int], size: int) -> None:
    for broker in brokers:
        counted[broker] += size


def _key_of(row: Finished) -> TopicPartition:
    return TopicPartition(row.topic, row.partition)
