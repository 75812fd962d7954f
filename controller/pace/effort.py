"""How much one broker may move: what a model of a queue permits, with a memory of the last limit.

The *effort* is the number of replicas that move to the broker, and from it, at once. Below 1 it is the share
of the time in which one may move (`turns`), or that of its speed (`rates`). After a back-off the effort
returns quickly to 80 % of where the broker was slow, and stays there. It goes further in probes: slowly at
first, then ever faster while latencies are almost idle. Their pauses double as long as they find the same
limit. So a constant load causes ever fewer changes of direction.
"""

from enum import StrEnum

FLOOR = 1 / 16
"""The least effort."""
START = 0.25
MOST = 4096.0
"""An effort above all limits in use."""
MARGIN = 0.75
"""The effort aims at this share of what the target permits."""
MOST_GROWTH, LEAST_GROWTH = 1.5, 1.25
LEAST_CUT, MOST_CUT = 0.6, 0.3
LEAST_RATIO = 1e-6
UNKNOWN_IDLE, HIGHEST_IDLE = 0.5, 0.9
"""As shares of the target: what an unknown idle latency is taken for, and how high a known one counts at
most."""
PROBE_GROWTH = 1.1
"""The first step of a probe. While latencies are almost idle, each further one grows by twice as much."""
CALM_LIMIT = 0.8
"""After a back-off the effort returns to this share of where the broker was slow."""
VERY_SLOW = 1.5
SLOW_TICKS = 2
"""Consecutive slow seconds after which the effort is reduced, if the target is missed by less than
VERY_SLOW."""
DOUBTED = 0.6
"""A broker that is slow for the first time, at this effort or less, may be so by chance."""
SETTLE_SECONDS = 3.0
"""How long a change needs until latencies show it."""
GROW_SECONDS = 1.0
HARD_PAUSE_SECONDS = 5.0
FIRST_PROBE_SECONDS, CALM_PROBE_SECONDS, LAST_PROBE_SECONDS = 8.0, 60.0, 240.0
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
        self._slowness = 1.0
        self._grow_at = self._back_off_at = self._returned_at = float("-inf")
        self._probe_pause = FIRST_PROBE_SECONDS
        self._probe_growth = PROBE_GROWTH
        self._was_slow = False
        self._rising = True

    def reconsider(self) -> None:
        """Forget where the broker was slow: the load of the cluster has changed."""
        self._limit, self._probe_pause = None, FIRST_PROBE_SECONDS

    def stop(self, now: float, in_flight: int) -> None:
        """Back off to the floor at once: a replica left the ISR, or requests are not answered."""
        self._was_slow = True
        self._note_limit(in_flight)
        self._move(FLOOR)
        self.activity = Activity.BACKING_OFF
        self._grow_at = now + HARD_PAUSE_SECONDS
        self._back_off_at = now + SETTLE_SECONDS

    def follow(
        self,
        now: float,
        ratio: float,
        in_flight: int,
        *,
        idle: float = UNKNOWN_IDLE,
        limited: bool = True,
        slowness: float = 1.0,
    ) -> bool:
        """Adjust the effort to the latency, as a multiple of the target. Return whether it was reduced.

        `idle` is the latency without a move, as a multiple of the target. The effort does not grow unless it
        is what limits the broker. Where latencies need `slowness` times as long as usual to show a change,
        changes are as rare.
        """
        self._slowness = slowness
        factor = permitted(ratio, idle)
        if ratio > 1:
            self._slow_ticks += 1
            return self._back_off(now, ratio, factor, in_flight)
        self._slow_ticks = 0
        # Where latencies are almost idle, the limit may be gone. Or it is a steep one: then do not try it too
        # often.
        wait = self._probe_pause if factor < MOST_GROWTH else min(self._probe_pause, CALM_PROBE_SECONDS)
        rests = now < self._returned_at + wait
        if not limited:
            self._grow_at = max(self._grow_at, now + GROW_SECONDS * self._slowness)
        if factor < LEAST_GROWTH or now < self._grow_at or rests:
            self.activity = Activity.HOLDING
        else:
            self._grow(now, min(factor, MOST_GROWTH))
        return False

    def _back_off(self, now: float, ratio: float, factor: float, in_flight: int) -> bool:
        if not in_flight or now < self._back_off_at or self.level <= FLOOR:
            return False
        if ratio <= VERY_SLOW and self._slow_ticks < SLOW_TICKS:
            return False
        before = self.level
        self._note_limit(in_flight)
        cut = min(max(factor, MOST_CUT), LEAST_CUT)
        self._move(max(FLOOR, min(before, in_flight) * cut))
        self.activity = Activity.BACKING_OFF
        self._back_off_at = self._grow_at = now + SETTLE_SECONDS * self._slowness
        return self.level != before

    def _note_limit(self, in_flight: int) -> None:
        """Remember where the broker was slow; if it is the same place again, the next probe is later."""
        found = min(self.level, max(in_flight, 1)) if self.level >= 1 else self.level
        self._probe_growth = PROBE_GROWTH
        first, self._was_slow = not self._was_slow, True
        if first and found <= DOUBTED:
            return
        if self._limit is not None:
            if found < self._limit / SAME_LIMIT:
                # Still on the way down, from a load of the brokers or of an effort far above the limit.
                self._limit, self._probe_pause = max(found, self._limit / 2), FIRST_PROBE_SECONDS
                return
            self._probe_pause = min(2 * self._probe_pause, LAST_PROBE_SECONDS)
        self._limit = found

    def _grow(self, now: float, factor: float) -> None:
        limit, before = self._limit, self.level
        self._grow_at = now + GROW_SECONDS * self._slowness
        if limit is None:
            self.activity = Activity.STARTING
            self._move(min(before * factor, MOST))
        elif before < CALM_LIMIT * limit:
            self.activity = Activity.GROWING
            self._move(min(CALM_LIMIT * limit, before * factor))
            if self.level >= CALM_LIMIT * limit:
                self._returned_at = now
        else:
            self.activity = Activity.GROWING
            self._move(before * min(factor, self._probe_growth))
            if factor >= MOST_GROWTH:
                self._probe_growth = 2 * self._probe_growth - 1
            self._grow_at = now + SETTLE_SECONDS * self._slowness
            if self.level > SAME_LIMIT * limit:
                # What was slow there is gone.
                self._limit, self._probe_pause = None, FIRST_PROBE_SECONDS

    def _move(self, level: float) -> None:
        rising = level > self.level
        if level != self.level and rising != self._rising:
            self.reversals += 1
            self._rising = rising
        self.level = level


def permitted(ratio: float, idle: float) -> float:
    """Return by which factor the target permits to change the effort, at this and the idle latency.

    In a queue the latency is `idle / (1 - used)`, where `used` is the share of the free capacity that the
    move takes.
    """
    used = 1 - min(idle, HIGHEST_IDLE) / max(ratio, LEAST_RATIO)
    aim = MARGIN * (1 - min(idle, HIGHEST_IDLE))
    return aim / used if used > aim / MOST_GROWTH else MOST_GROWTH


MOST_DEBT = 2.0
"""A replica that moves for longer than its turn costs this many further seconds at most."""


class Turns:
    """The turns of one broker: for an effort below 1, in which seconds a replica may start.

    Replicas that arrive within seconds have been copied before a throttle acts. With turns there are pauses
    between them. A broker has saved the seconds in which it might have moved a replica, at most its effort.
    """

    def __init__(self) -> None:
        self._saved = 0.0

    def follow(self, effort: float, *, moving: bool) -> bool:
        """Return whether a replica may start in the next second.

        `moving`: something moved at the end of the last one.
        """
        self._saved = max(-MOST_DEBT, min(effort, self._saved + effort - moving))
        return effort >= 1 or self._saved > 0
