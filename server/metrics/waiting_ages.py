"""How many partitions do not move for which kind of reason, and for how long the oldest one has waited.

Neither is stored: after a restart the times start over. They are updated in the background, in slices, at
intervals that grow with the number of reassignments.
"""

from collections import Counter
from collections.abc import Awaitable, Callable

from common.clock import Clock
from common.tasks import Turns, in_slices
from controller.model.replicas import TopicPartition
from controller.state.state import State
from controller.views.reason_kinds import REASON_KINDS, reason_kind
from server.progress.counts import Tally

INTERVAL_SECONDS = 5.0
"""Shortest time between two updates."""

INTERVAL_SECONDS_PER_ROW = 200e-6
"""Time between two updates for each ongoing reassignment. Counting one takes a few microseconds."""

Since = dict[TopicPartition, tuple[str, float]]


class WaitingAges:
    """Updates the numbers while `run` runs. `tally` counts the partitions of all open jobs by reason."""

    def __init__(
        self, state: State, tally: Callable[[], Awaitable[Tally]], clock: Clock, turns: Turns | None = None
    ) -> None:
        self._state, self._tally, self._clock, self._turns = state, tally, clock, turns or Turns()
        self._waiting: Since = {}
        """Partitions that wait for a reason of their own: its kind, and the time at which it was first
        seen."""
        self._shared: dict[tuple[int, str], float] = {}
        """By job and kind of the other reasons: since when the job has had partitions with it without a
        break."""
        self.counts: Counter[str] = Counter()
        """Partitions by kind of reason."""

    async def run(self) -> None:
        """Update until cancelled."""
        while True:
            await self._turns.next(INTERVAL_SECONDS)
            rows = await self.update()
            await self._clock.sleep(max(INTERVAL_SECONDS, rows * INTERVAL_SECONDS_PER_ROW))

    async def update(self) -> int:
        """Update once; return the number of ongoing reassignments."""
        waiting: Since = {}
        async for key, reason in in_slices(list(self._state.orders.waiting.items()), self._turns):
            kind = reason_kind(reason)
            before = self._waiting.get(key)
            waiting[key] = before if before and before[0] == kind else (kind, self._clock.now())
        self._waiting = waiting
        tally, now = await self._tally(), self._clock.now()
        counts, shared = Counter[str](), dict[tuple[int, str], float]()
        for job, reasons in tally.reasons.items():
            for reason, count in reasons.items():
                kind = reason_kind(reason)
                counts[kind] += count
                shared[job, kind] = self._shared.get((job, kind), now)
        self.counts, self._shared = counts, shared
        return len(self._state.orders.reassignments)

    def oldest(self) -> dict[str, float]:
        """Return for how many seconds the oldest partition of each kind has waited; 0 without one."""
        now = self._clock.now()
        since = dict.fromkeys(REASON_KINDS, now)
        exact = set()
        for kind, seen in self._waiting.values():
            exact.add(kind)
            since[kind] = min(since[kind], seen)
        for (_, kind), seen in self._shared.items():
            if kind not in exact:
                since[kind] = min(since[kind], seen)
        return {kind: now - seen for kind, seen in since.items()}
