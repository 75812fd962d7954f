"""Exact numbers of a job's partitions by state, by reason and by ending.

`JobCounts.tally` visits every ongoing reassignment, in slices. All requests share its counts for a time that
grows with the number of reassignments, so that it costs half a percent of the time however many clients ask.
Those that move or wait are few, as a rule: they are counted apart from the others, which are used longer.
"""

import asyncio
from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from operator import attrgetter

from common.clock import Clock, RealClock, wall_clock
from common.tasks import in_slices
from controller.model.cluster import Job, TopicPartition
from controller.model.disks import MoveStage
from controller.scheduling.buckets import Bucket
from controller.state.state import State
from controller.views.disk_moves import queued_reason as queued_move_reason
from controller.views.disk_moves import why_not_moving
from controller.views.jobs import ENDINGS, PartState, endings_of, queued_reason, returned, why_pending

SECONDS_PER_ROW = 200e-6
"""How long a count is used, for each reassignment in it. Visiting one takes half a microsecond, and up to two
where it moves or waits."""

SMALL = 1_000
"""A count of this many reassignments is used once: it takes a millisecond."""

MAX_SECONDS = 20.0
"""The longest time that a count is used."""

ROWS_PER_SLICE = 4_000
"""Reassignments that are counted in about a millisecond."""

_job_of = attrgetter("job")


def _use_of(rows: int) -> float:
    """Return for how many seconds a count of so many rows is used."""
    return 0.0 if rows <= SMALL else min(rows * SECONDS_PER_ROW, MAX_SECONDS)


@dataclass(slots=True)
class Tally:
    """Numbers of partitions by job at one time."""

    moving: Counter[int] = field(default_factory=Counter)
    stalled: Counter[int] = field(default_factory=Counter)
    """Those of `moving` whose step makes no progress."""
    waiting: Counter[int] = field(default_factory=Counter)
    reasons: dict[int, Counter[str]] = field(default_factory=dict)
    """Why partitions do not move, or make no progress."""

    def add(self, job: int, reason: str, count: int = 1) -> None:
        """Count partitions with this reason."""
        if job not in self.reasons:
            self.reasons[job] = Counter()
        self.reasons[job][reason] += count

    def all_reasons(self) -> Counter[str]:
        """Return the reasons of all jobs."""
        return sum(self.reasons.values(), Counter[str]())


class JobCounts:
    """Counts the partitions of jobs."""

    def __init__(self, state: State, clock: Clock | None = None) -> None:
        self._state, self._clock = state, RealClock() if clock is None else clock
        self._tally = Tally()
        self._queued = Counter[tuple[int, Bucket | None]]()
        """Reassignments that wait for their turn, by job and bucket: most of them, and they change little."""
        self._basis: Hashable = None
        self._valid_until = self._queued_until = float("-inf")
        self._counting = asyncio.Lock()
        self._returned: dict[int, tuple[int, int]] = {}
        """By rollback: the number of finished partitions that were read, and how many of them are back."""

    async def tally(self, stalled: Mapping[TopicPartition, str]) -> Tally:
        """Return the numbers of all open jobs. `stalled` has the steps in flight that make no progress."""
        async with self._counting:
            orders, basis, now = self._state.orders, self._new_basis(), self._clock.now()
            if basis != self._basis:
                self._valid_until = self._queued_until = float("-inf")
            self._basis = basis
            if now >= self._queued_until:
                self._queued = await self._count_queued()
                self._queued_until = now + _use_of(len(orders.reassignments))
            if now >= self._valid_until:
                self._tally = await self._count(stalled)
                rows = len(self._state.in_flight) + len(orders.waiting) + len(orders.pending)
                rows += len(self._state.disks.open)
                self._valid_until = now + _use_of(rows)
            return self._tally

    async def endings(self, job: Job) -> dict[str, int]:
        """Return the number of the job's partitions by ending, in the order of `ENDINGS`."""
        counted = Counter[str]()
        for ending, count in endings_of(self._state, job.id).items():
            counted[PartState[ending.name].value] = count
        if job.undoes:
            back = min(await self._count_returned(job), counted[PartState.ROLLED_BACK.value])
            counted[PartState.DONE.value] += back
            counted[PartState.ROLLED_BACK.value] -= back
        return {ending.value: counted[ending.value] for ending in ENDINGS if counted[ending.value]}

    def _new_basis(self) -> Hashable:
        """Return what changes many reasons at once: a tally with another basis is not used."""
        state, backlog = self._state, self._state.backlog
        jobs = tuple(
            (number, job.paused)
            for number in state.orders.open
            if (job := state.orders.jobs.get(number)) is not None
        )
        return (
            state.orders.paused,
            backlog.halted,
            state.settings.opening,
            backlog.usage.held,
            backlog.usage.limits,
            jobs,
            state.orders.last_job,
        )

    async def _count(self, stalled: Mapping[TopicPartition, str]) -> Tally:
        tally = Tally()
        await self._count_moving(tally, stalled)
        await self._count_waiting(tally)
        for (job, bucket), count in self._queued.items():
            tally.add(job, queued_reason(self._state, job, bucket), count)
            if not self._state.settings.opening.is_open:
                tally.waiting[job] += count
        async for pending in in_slices(list(self._state.orders.pending.values())):
            tally.add(pending.job, why_pending(self._state, pending))
        await self._count_moves(tally)
        return tally

    async def _count_moves(self, tally: Tally) -> None:
        """Count the moves between log directories."""
        state, now_ms, queued = self._state, wall_clock(), Counter[tuple[int, int]]()
        async for move in in_slices(list(state.disks.open.values())):
            if move.stage is MoveStage.WAITING and move.replica not in state.disks.reasons:
                queued[move.job, move.broker] += 1
                continue
            reason = why_not_moving(state, move, now_ms)
            if move.stage.is_flying:
                tally.moving[move.job] += 1
                tally.stalled[move.job] += bool(reason)
            else:
                tally.waiting[move.job] += 1
            if reason:
                tally.add(move.job, reason)
        for (job, broker), count in queued.items():
            tally.add(job, queued_move_reason(state, job, broker), count)
            if not state.settings.opening.is_open:
                tally.waiting[job] += count

    async def _count_moving(self, tally: Tally, stalled: Mapping[TopicPartition, str]) -> None:
        """Count the reassignments with a step in flight."""
        reassignments = self._state.orders.reassignments
        async for key in in_slices(self._state.in_flight):
            reassignment = reassignments.get(key)
            if reassignment is not None:
                tally.moving[reassignment.job] += 1
                if key in stalled:
                    tally.stalled[reassignment.job] += 1
                    tally.add(reassignment.job, stalled[key])

    async def _count_waiting(self, tally: Tally) -> None:
        """Count the reassignments whose next step cannot start."""
        reassignments, in_flight = self._state.orders.reassignments, self._state.in_flight
        async for key, reason in in_slices(list(self._state.orders.waiting.items())):
            reassignment = reassignments.get(key)
            if reassignment is not None and key not in in_flight:
                tally.waiting[reassignment.job] += 1
                tally.add(reassignment.job, reason)

    async def _count_queued(self) -> Counter[tuple[int, Bucket | None]]:
        """Count the other reassignments by job and bucket: without a branch for each, for they are many.

        One that starts or ends meanwhile is still counted.
        """
        queued, reassignments = Counter[tuple[int, Bucket | None]](), self._state.orders.reassignments
        started = {*self._state.in_flight, *self._state.orders.waiting}
        all_keys, all_jobs = list(reassignments), list(map(_job_of, reassignments.values()))
        for start in range(0, len(all_keys), ROWS_PER_SLICE):
            keys, jobs = all_keys[start : start + ROWS_PER_SLICE], all_jobs[start : start + ROWS_PER_SLICE]
            places = list(zip(jobs, self._state.backlog.buckets_of(keys), strict=True))
            if not started.isdisjoint(keys):
                places = [place for key, place in zip(keys, places, strict=True) if key not in started]
            queued.update(places)
            await asyncio.sleep(0)
        return queued

    async def _count_returned(self, job: Job) -> int:
        """Count the partitions that the rollback has taken back. Each finished partition is read once."""
        finished = self._state.orders.finished.get(job.id, {})
        seen, count = self._returned.get(job.id, (0, 0))
        if seen < len(finished):
            rows = list(islice(finished.values(), seen, None))
            async for row in in_slices(rows):
                count += returned(self._state, job, (row,))
            seen += len(rows)
            self._returned = {
                id_: each for id_, each in self._returned.items() if id_ in self._state.orders.jobs
            }
            self._returned[job.id] = seen, count
        return count
