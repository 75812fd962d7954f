"""How many partitions of an execution get another leader: all of them, and those whose part has ended.

A job can have a million partitions, and clients poll. So each is read once: all when the job is seen first,
and those that end when they have ended.
"""

from itertools import islice
from typing import NamedTuple

from common.tasks import in_slices
from controller.model.cluster import Finished, Job, Reassignment
from controller.state.state import State


class LeaderMovements(NamedTuple):
    """Numbers of partitions of a job that get another leader."""

    total: int
    finished: int


class Leaderships:
    """Counts for the jobs that are open."""

    def __init__(self) -> None:
        self._totals: dict[int, int] = {}
        """By job: how many count, whether they had ended when it was seen first or not."""
        self._finished: dict[int, tuple[int, int]] = {}
        """By job: the number of ended partitions that were read, and how many of them count."""

    async def of(self, state: State, job: Job) -> LeaderMovements:
        """Return the numbers of a job."""
        total = self._totals.get(job.id)
        # Both are taken at one moment: what ends while the others are counted must not be in neither.
        orders = list(state.orders.reassignments.values()) if total is None else []
        finished = await self._count_finished(state, job)
        if total is None:
            total = finished
            async for order in in_slices(orders):
                total += order.job == job.id and _counts(job, order)
            self._forget_ended(state)
            self._totals[job.id] = total
        return LeaderMovements(max(finished, total), finished)

    async def _count_finished(self, state: State, job: Job) -> int:
        ended = state.orders.finished.get(job.id, {})
        seen, count = self._finished.get(job.id, (0, 0))
        rows = list(islice(ended.values(), seen, None))
        async for row in in_slices(rows):
            count += _counts(job, row)
        self._finished[job.id] = seen + len(rows), count
        return count

    def _forget_ended(self, state: State) -> None:
        for known in (self._totals, self._finished):
            for ended in known.keys() - state.orders.open.keys():
                del known[ended]


def _counts(job: Job, part: Reassignment | Finished) -> bool:
    """Return whether the preferred leader changes, or is elected."""
    return part.original[:1] != part.target[:1] or (job.elects and part.original == part.target)
