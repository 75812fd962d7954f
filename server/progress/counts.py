"""Exact numbers of a job's partitions by state, by reason and by ending.

`JobCounts.tally` visits every ongoing reassignment, in slices. All requests share a tally for a time that
grows with the number of reassignments, so that it costs one or two percent of the time however many clients
ask.
"""

import asyncio
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import attrgetter

from common.clock import Clock, RealClock
from common.tasks import in_slices
from controller.model.cluster import Job, TopicPartition
from controller.scheduling.buckets import Bucket
from controller.state.state import State
from controller.views.jobs import ENDINGS, PartState, queued_reason, returned, why_pending

SECONDS_PER_ROW = 100e-6
"""How long a tally is used, for each reassignment in it. Visiting one takes a microsecond or two."""

SMALL = 1_000
"""A tally of this many reassignments is used once: it takes a millisecond or two."""

MAX_SECONDS = 10.0
"""The longest time that a tally is used."""

ROWS_PER_SLICE = 4_000
"""Reassignments that are counted in about a millisecond."""

_job_of = attrgetter("job")


@dataclass(slots=True)
class Tally:
    """Numbers of partitions by job at one time."""

    moving: Counter[int] = field(default_factory=Counter)
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
        self._basis: Hashable = None
        self._valid_until = float("-inf")
        self._counting = asyncio.Lock()
        self._returned: dict[int, tuple[int, int]] = {}
        """By rollback: the number of finished partitions that were read, and how many of them are back."""

    async def tally(self, stalled: Mapping[TopicPartition, str]) -> Tally:
        """Return the numbers of all open jobs. `stalled` has the steps in flight that make no progress."""
        async with self._counting:
            basis = self._new_basis()
            rows = len(self._state.orders.reassignments) + len(self._state.orders.pending)
            if rows <= SMALL or basis != self._basis or self._clock.now() >= self._valid_until:
                tally = await self._count(stalled)
                self._tally, self._basis = tally, basis
                self._valid_until = self._clock.now() + min(rows * SECONDS_PER_ROW, MAX_SECONDS)
            return self._tally

    async def endings(self, job: Job) -> dict[str, int]:
        """Return the number of the job's partitions by ending, in the order of `ENDINGS`."""
        counted = Counter[str]()
        for ending, count in self._state.orders.endings.get(job.id, {}).items():
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
        tally, queued = Tally(), Counter[tuple[int, Bucket | None]]()
        state = self._state
        keys, jobs = list(state.orders.reassignments), list(map(_job_of, state.orders.reassignments.values()))
        for start in range(0, len(keys), ROWS_PER_SLICE):
            end = start + ROWS_PER_SLICE
            self._add(list(zip(keys[start:end], jobs[start:end], strict=True)), tally, queued, stalled)
            await asyncio.sleep(0)
        for (job, bucket), count in queued.items():
            tally.add(job, queued_reason(state, job, bucket), count)
            if not state.settings.opening.is_open:
                tally.waiting[job] += count
        async for pending in in_slices(list(state.orders.pending.values())):
            tally.add(pending.job, why_pending(state, pending))
        return tally

    def _add(
        self,
        rows: Sequence[tuple[TopicPartition, int]],
        tally: Tally,
        queued: Counter[tuple[int, Bucket | None]],
        stalled: Mapping[TopicPartition, str],
    ) -> None:
        """Add reassignments to the tally, and those that wait for a turn to `queued`, by job and bucket.

        A comprehension for each state takes a quarter of the time of one loop with branches.
        """
        reassignments, in_flight, waiting = (
            self._state.orders.reassignments,
            self._state.in_flight,
            self._state.orders.waiting,
        )
        bucket_of = self._state.backlog.bucket_of
        moving = [row for row in rows if row[0] in in_flight]
        tally.moving.update([job for _, job in moving])
        for key, job in moving if stalled else ():
            if key in stalled:
                tally.add(job, stalled[key])
        for key, job in [row for row in rows if row[0] in waiting and row[0] not in in_flight]:
            tally.waiting[job] += 1
            tally.add(job, waiting[key])
        queued.update(
            [
                (job, bucket_of(key))
                for key, job in rows
                # A key that is no longer in `reassignments` ended after the list was made.
                if key not in in_flight and key not in waiting and key in reassignments
            ]
        )

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
