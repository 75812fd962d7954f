"""Progress of jobs in bytes: how much is copied, how fast, and how long the rest will take.

Bytes are measured in the background, in slices, at intervals that grow with the number of reassignments so
that measuring takes a few percent of the time. Requests get the last measurement.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from math import ceil, inf
from typing import NamedTuple

from common.clock import Clock, RealClock, wall_clock
from common.tasks import Turns, in_slices
from controller.execution.throttle import throttle_rate
from controller.model.disks import MoveStage
from controller.model.jobs import JobKind
from controller.model.replicas import TopicPartition
from controller.schedule.openings import seconds_until_done
from controller.state.state import State
from server.counters import TransferTotals
from server.progress.disk_progress import DiskJob, DiskProgress
from server.progress.job_history import JobHistory
from server.progress.measurement import Bytes, Flow, JobBytes, JobProgress, Measurement, increase
from server.progress.rates import Meter, Sizes, ThroughputHistory, Transfer, rounded, seconds_left

INTERVAL_SECONDS = 1.0
"""Shortest time between two measurements."""

INTERVAL_SECONDS_PER_ROW = 100e-6
"""Time between two measurements for each row of the last one. Measuring a row takes a few microseconds."""

INTERVAL_SECONDS_PER_STEP = 900e-6
"""Additional time for each step in flight, which takes some twenty microseconds."""


def pause_after(rows: int, steps: int) -> float:
    """Return the seconds between two measurements of this many rows, with this many steps in flight."""
    return max(INTERVAL_SECONDS, rows * INTERVAL_SECONDS_PER_ROW + steps * INTERVAL_SECONDS_PER_STEP)


class CopyRate(NamedTuple):
    """Bytes copied and to copy in total, the present rate in bytes per second, and the time left.

    `rate` is None while nothing is copied, and until it was measured for `WINDOW_SECONDS`. `seconds_left` is
    None without a rate, and when a part of the rest cannot start or go on: during a pause, while it waits, or
    while its broker is down.
    """

    moved: int
    total: int
    rate: int | None = None
    seconds_left: int | None = None


class Progress:
    """Measures the progress of jobs while `run` runs."""

    def __init__(
        self,
        state: State,
        sizes: Sizes,
        clock: Clock | None = None,
        now_ms: Callable[[], int] = wall_clock,
        totals: TransferTotals | None = None,
        turns: Turns | None = None,
    ) -> None:
        self._state, self._sizes, self._now_ms, self._turns = state, sizes, now_ms, turns
        self._clock = RealClock() if clock is None else clock
        self._measurement = Measurement(state, sizes, self._clock.now)
        self._jobs: dict[int, JobProgress] = {}
        """The jobs of the last measurement: those that are open, or have ended a short time ago."""
        self._open: frozenset[int] = frozenset()
        """The jobs that were open then."""
        self._brokers = IncomingRates()
        self._metered_at = -inf
        """The time at which the replicas of the brokers had the bytes that the rates contain."""
        self._open_when_metered: frozenset[int] = frozenset()
        self.measured_ms: int | None = None
        """When its sizes were measured, in milliseconds since 1970; None before that."""
        self.throughput = ThroughputHistory(now_ms, totals)
        self.history = JobHistory(state, now_ms)
        self._disks = DiskProgress(state)

    async def run(self) -> None:
        """Measure until cancelled. A measurement costs nothing while no job is open."""
        while True:
            rows = await self.measure()
            await self._clock.sleep(pause_after(rows, len(self._state.in_flight)))

    async def measure(self) -> int:
        """Measure once; return the number of rows that were read."""
        self.history.look()
        open_jobs, seconds = frozenset(self._state.orders.open), self._sizes.measured()
        # What a job copied before it ended counts for the rates of the brokers.
        recent = open_jobs | self._open | self._open_when_metered
        jobs = {
            number: self._jobs.get(number) or JobProgress()
            for number in recent
            if number in self._state.orders.jobs
        }
        rows = 0
        async for _ in in_slices(self._measurement.rows(jobs), self._turns):
            rows += 1
        async for _ in in_slices(self._disks.rows(self._clock.now()), self._turns):
            rows += 1
        for number, counted in self._measurement.end().items():
            job = self._state.orders.jobs.get(number)
            jobs[number].measured(counted, is_rollback=job is not None and job.kind is JobKind.ROLLBACK)
        self._jobs, self._open = jobs, open_jobs
        self._add_to_rates(seconds)
        return rows

    @property
    def stalled(self) -> Mapping[TopicPartition, str]:
        """The steps in flight that make no progress, with the reason."""
        return self._measurement.stalled.reasons

    def of_job(self, number: int) -> CopyRate | None:
        """Return the job's progress; None when it is not known, or when there is nothing to copy."""
        if (moves := self._disks.of_job(number)) is not None:
            return self._of_moves(number, moves)
        job = self._jobs.get(number)
        if job is None:
            return None
        moved, left = job.bytes.moved.total(), job.bytes.left.total()
        if not moved + left:
            return None
        return CopyRate(
            moved, moved + left, rounded(self._rate(number, job)), self._seconds_left(number, job)
        )

    def _of_moves(self, number: int, moves: DiskJob) -> CopyRate:
        """Return the progress of a job of moves between log directories."""
        seconds = None if self._is_stopped(number) else moves.seconds_left
        if MoveStage.WAITING in self._state.disks.stages.get(number, ()):
            seconds = self._scheduled(seconds)
        moved, left, *_ = moves.bytes
        return CopyRate(moved, moved + left, rounded(moves.rate), seconds)

    def to_brokers(self) -> dict[int, CopyRate]:
        """Return the progress of all open jobs by the broker that receives the data."""
        rates, moved, left = {}, Bytes(), self.left_by_broker()
        for _, job in self._open_jobs():
            moved.update(job.bytes.moved)
        for broker in sorted(left):
            if total := moved[broker] + left[broker]:
                rate, seconds = self._broker_rate_and_seconds_left(broker, left[broker])
                rates[broker] = CopyRate(moved[broker], total, rounded(rate), seconds)
        return rates

    def left_by_broker(self) -> Mapping[int, int]:
        """Return the bytes that open jobs have to copy to each broker, as of the last measurement."""
        left = Bytes()
        for _, job in self._open_jobs():
            left.update(job.bytes.left)
        return left

    def flows(self, job: int | None = None) -> Counter[Flow]:
        """Return the bytes that open jobs, or this one, have to copy, by the broker that sends them.

        The numbers are those of the last measurement. A pair with nothing left is not among them.
        """
        flows = Counter[Flow]()
        for number, each in self._open_jobs():
            if job in (None, number):
                flows.update(each.bytes.flows)
        return +flows

    def _open_jobs(self) -> Iterator[tuple[int, JobProgress]]:
        """Yield what was measured of the open jobs. A job that has ended since then has nothing left."""
        for number in self._open & self._jobs.keys() & self._state.orders.open.keys():
            yield number, self._jobs[number]

    def _is_stopped(self, number: int) -> bool:
        """Whether the job starts no steps."""
        backlog, job = self._state.backlog, self._state.orders.jobs.get(number)
        return (
            self._state.orders.paused
            or backlog.halted
            or not self._state.settings.opening.is_open
            or backlog.usage.held == 0
            or (job is not None and job.paused)
        )

    def _rate(self, number: int, job: JobProgress) -> float | None:
        stands = self._is_stopped(number) and not job.bytes.moving
        return None if stands or job.meter is None else job.meter.rate

    def _seconds_left(self, number: int, job: JobProgress) -> int | None:
        """Return the time that the rest takes at the job's rate, at least that of its slowest broker."""
        left = job.bytes.left
        if not left.total():
            return 0
        mean = self._mean_seconds_left(number, job)
        if mean is None or not self._state.cluster.live.issuperset(+left):
            return None
        own = [(size, self._brokers.rate_while_copying(broker)) for broker, size in left.items() if size]
        return _longest([mean, *(seconds_left(size, rate) for size, rate in own if rate is not None)])

    def _mean_seconds_left(self, number: int, job: JobProgress) -> int | None:
        """Return the time that the rest takes at the job's rate; None when the rest cannot start."""
        if self._is_stopped(number) or job.bytes.waiting.total():
            return None

        def compute() -> int | None:
            seconds = seconds_left(job.bytes.left.total(), self._rate(number, job))
            return self._scheduled(seconds) if job.bytes.queued.total() else seconds

        return job.mean(compute)

    def _scheduled(self, seconds: int | None) -> int | None:
        """Return the time from now on in which the periods of the schedule have so many seconds."""
        if seconds is None or self._state.settings.schedule is None:
            return seconds
        # The present throttle is a part of the measured rate; without one, later throttles are not known to
        # be lower.
        rate = self._state.settings.opening.throttle or 1
        left = seconds_until_done(self._state.settings.schedule, self._now_ms(), seconds * rate, rate)
        return None if left is None else ceil(left)

    def _broker_rate_and_seconds_left(self, broker: int, left: int) -> tuple[float | None, int | None]:
        """Return the broker's rate and the time left.

        That is the time of its own data, and of the jobs whose steps to it wait for a turn.
        """
        jobs = {number: job for number, job in self._open_jobs() if job.bytes.left[broker]}
        stands = all(self._is_stopped(number) and not job.bytes.moving for number, job in jobs.items())
        rate = None if stands else self._brokers.rate(broker)
        if not left:
            return rate, 0
        if broker not in self._state.cluster.live:
            return rate, None
        own = self._brokers.rate_while_copying(broker)
        times = [] if own is None else [seconds_left(left, own)]
        for number, job in jobs.items():
            if job.bytes.queued[broker] or own is None or self._is_stopped(number):
                times.append(self._mean_seconds_left(number, job))
        return rate, _longest(times)

    def _add_to_rates(self, measured: float | None) -> None:
        """Add the interval since replicas were measured last; `measured` is the time of that measurement.

        Until the next one, the bytes of steps in flight stand still: that is no rate of 0.
        """
        if measured is None or measured <= self._metered_at:
            return
        if self._metered_at != -inf:
            self._add_interval(measured - self._metered_at)
        self._metered_at, self._open_when_metered = measured, self._open
        self.measured_ms = self._now_ms() - round(1000 * (self._clock.now() - measured))
        for job in self._jobs.values():
            job.metered = job.bytes

    def _add_interval(self, seconds: float) -> None:
        """Add the interval between two measurements to the meters of the jobs and the brokers."""
        pairs = [(job.metered, job.bytes) for job in self._jobs.values() if job.metered is not None]
        for number, job in self._jobs.items():
            job.add_interval(seconds, is_open=number in self._open)
        throttle = throttle_rate(self._state)
        copied = {number: job.copied_since() for number, job in self._jobs.items()}
        copied |= self._disks.take_copied()
        self.history.add(seconds, copied, throttle)
        received = sum((increase(before.moved, now.moved) for before, now in pairs), Bytes())
        self.throughput.add(seconds, _copied(pairs, received), throttle)
        befores, nows = [before for before, _ in pairs], [job.bytes for job in self._jobs.values()]
        self._brokers.add(seconds, received, befores, nows)


class IncomingRates:
    """The rates at which brokers receive the data of jobs."""

    def __init__(self) -> None:
        self._meters: dict[int, Meter] = {}
        self._copying: dict[int, Meter] = {}
        """Only of the time in which steps copy data to the broker."""

    def rate(self, broker: int) -> float | None:
        """Return the bytes per second; None if they are not known."""
        return self._meters[broker].rate if broker in self._meters else None

    def rate_while_copying(self, broker: int) -> float | None:
        """Return the bytes per second of the time in which steps copied data to the broker."""
        return self._copying[broker].rate if broker in self._copying else None

    def add(
        self, seconds: float, received: Bytes, before: Collection[JobBytes], now: Collection[JobBytes]
    ) -> None:
        """Add an interval. Brokers that receive nothing any more are left out."""
        busy_before, busy_now = _union(job.busy for job in before), _union(job.busy for job in now)
        meters = {
            broker: self._meters.get(broker, Meter())
            for broker in self._meters.keys() | busy_before | busy_now
        }
        for broker, meter in meters.items():
            meter.add(seconds, received[broker], broker in busy_before, broker in busy_now)
        self._meters = {broker: meter for broker, meter in meters.items() if meter or broker in busy_now}
        self._copying = {broker: meter for broker, meter in self._copying.items() if broker in self._meters}
        for broker in _union(job.receiving for job in before) & _union(job.receiving for job in now):
            self._copying.setdefault(broker, Meter()).add(seconds, received[broker], True, True)


def _union(sets: Iterable[set[int]]) -> set[int]:
    return set[int]().union(*sets)


def _copied(pairs: Sequence[tuple[JobBytes, JobBytes]], received: Bytes) -> Transfer:
    """Return what brokers received and sent between two measurements.

    What was not known before would be a jump.
    """
    return Transfer(
        received,
        sum((increase(before.sent, now.sent) for before, now in pairs), Bytes()),
        {broker for pair in pairs for job in pair for broker in job.unknown_in},
        {broker for pair in pairs for job in pair for broker in job.unknown_out},
    )


def _longest(times: Sequence[int | None]) -> int | None:
    """Return the longest time; None if one of them is not known, or there is none."""
    known = [each for each in times if each is not None]
    return max(known) if known and len(known) == len(times) else None
