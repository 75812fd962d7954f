"""How much one broker may move: additive increase and multiplicative decrease, with a memory of the last limit.

The *effort* is the number of replicas that move to the broker, and from it, at once. Below 1 the copying of one replica
is throttled. After a back-off the effort returns quickly to 80 % of where the broker was slow, and stays there. It goes
further in probes, whose pauses double as long as they find the same limit. So a constant load causes ever fewer
changes of direction.
"""

from enum import StrEnum

FLOOR = 1 / 16
"""The least effort."""
START = 1.0
MOST = 4096.0
"""An effort above all limits in use."""
CALM = 0.8
"""Below this share of the target the effort grows. Between it and the target nothing changes."""
VERY_CALM = 0.5
"""Below this share of the target the effort does not wait for the next probe."""
VERY_SLOW = 2.0
SLOW_TICKS = 2
"""Consecutive slow seconds after which the effort is reduced, if the target is missed by less than VERY_SLOW."""
SETTLE_SECONDS = 3.0
"""How long a change needs until latencies show it."""
START_SECONDS, GROW_SECONDS = 2.0, 2.0
HARD_PAUSE_SECONDS = 5.0
FIRST_PROBE_SECONDS, LAST_PROBE_SECONDS = 8.0, 240.0
SAME_LIMIT = 1.5
"""Two limits that differ by less than this factor are the same."""


class Activity(StrEnum):
    """What the effort does. The values are shown to users."""

    LEARNING = "learning"
    STARTING = "starting"
    GROWING = "growing"
    HOLDING = "holding"
    BACKING_OFF = "backing off"


class Effort:
    """The effort of one broker. Times are monotonic, in seconds."""

    def __init__(self) -> None:
        self.level = START
        self.activity = Activity.STARTING
        self.reversals = 0
        """How often the effort has changed its direction."""
        self._limit: float | None = None
        """The effort at which the broker was slow last."""
        self._slow_ticks = 0
        self._grow_at = self._back_off_at = self._probe_at = float("-inf")
        self._probe_pause = FIRST_PROBE_SECONDS
        self._rising = True

    def reconsider(self) -> None:
        """Forget where the broker was slow: the load of the cluster has changed."""
        self._limit, self._probe_pause = None, FIRST_PROBE_SECONDS

    def stop(self, now: float, in_flight: int) -> None:
        """Back off to the floor at once: a replica left the ISR, or requests are not answered."""
        self._note_limit(in_flight)
        self._move(FLOOR)
        self.activity = Activity.BACKING_OFF
        self._grow_at = now + HARD_PAUSE_SECONDS
        self._back_off_at = now + SETTLE_SECONDS

    def follow(self, now: float, ratio: float, in_flight: int, *, limited: bool = True) -> bool:
        """Adjust the effort to the latency, as a multiple of the target. Return whether it was changed.

        It does not grow unless it is what limits the broker.
        """
        if ratio > 1:
            self._slow_ticks += 1
            return self._back_off(now, ratio, in_flight)
        self._slow_ticks = 0
        rests = now < self._probe_at and ratio > VERY_CALM
        if ratio > CALM or not limited or now < self._grow_at or rests:
            self.activity = Activity.HOLDING
            return False
        return self._grow(now)

    def _back_off(self, now: float, ratio: float, in_flight: int) -> bool:
        if not in_flight or now < self._back_off_at or self.level <= FLOOR:
            return False
        if ratio <= VERY_SLOW and self._slow_ticks < SLOW_TICKS:
            return False
        before = self.level
        self._note_limit(in_flight)
        self._move(max(FLOOR, min(before, in_flight) * (0.5 if ratio > VERY_SLOW else 0.7)))
        self.activity = Activity.BACKING_OFF
        self._back_off_at = self._grow_at = now + SETTLE_SECONDS
        return self.level != before

    def _note_limit(self, in_flight: int) -> None:
        """Remember where the broker was slow; if it is the same place again, the next probe is later."""
        found = min(self.level, max(in_flight, 1)) if self.level >= 1 else self.level
        if self._limit is not None:
            if found < self._limit / SAME_LIMIT:
                # Still on the way down, from a load of the brokers or of an effort far above the limit.
                self._limit, self._probe_pause = max(found, self._limit / 2), FIRST_PROBE_SECONDS
                return
            self._probe_pause = min(2 * self._probe_pause, LAST_PROBE_SECONDS)
        self._limit = found

    def _grow(self, now: float) -> bool:
        limit, before = self._limit, self.level
        if limit is None:
            self.activity = Activity.STARTING
            self._move(min(2 * before, MOST))
            self._grow_at = now + START_SECONDS
        elif before < CALM * limit:
            self.activity = Activity.GROWING
            self._move(min(CALM * limit, before * 1.5))
            self._grow_at = now + GROW_SECONDS
            if self.level >= CALM * limit:
                self._probe_at = now + self._probe_pause
        else:
            self.activity = Activity.GROWING
            self._move(before * 1.25 if before < 4 else before * 1.1)
            self._grow_at = now + SETTLE_SECONDS
            if self.level > SAME_LIMIT * limit:
                # What was slow there is gone.
                self._limit, self._probe_pause = None, FIRST_PROBE_SECONDS
        return self.level != before

    def _move(self, level: float) -> None:
        rising = level > self.level
        if level != self.level and rising != self._rising:
            self.reversals += 1
            self._rising = rising
        self.level = level
