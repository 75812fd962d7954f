"""The throttle of one broker from its effort, in bytes per second.

A throttle is set only while more moves for some time than the effort allows: windows and turns cannot slow replicas that
are in flight.
"""

from math import floor, log10

from controller.pace.readings import Copied

DEFAULT_UNIT = 50e6
LEAST_UNIT, MOST_UNIT = 1e6, 200e6
"""Bounds of what one replica is taken to copy unthrottled. Measured sizes may be wrong."""
MARGIN = 1.2
"""A throttle is this multiple of what the moving partitions need to catch up with their producers."""
USED_SHARE = 0.6
PATIENCE = 10
"""Seconds with more replicas in flight than the effort allows until they are throttled. Those that arrive by then are
slowed by pauses between them (`turns`). Kafka's throttle slows them less: it permits at once what is meant for ten seconds."""
LITTLE_PATIENCE = 2
"""The same while the latency without the move is measured."""
SAME_RATE = 1.15
"""A new rate that differs by less than this factor is not set."""


class Rate:
    """The throttle of one broker."""

    def __init__(self) -> None:
        self.value: int | None = None
        self.at_floor = False
        """Producers write so much to the moving partitions that the rate cannot be as low as the effort."""
        self.used = True
        """The broker copies about as much as the rate allows, or it is not known; otherwise something else slows it."""
        self._unit = DEFAULT_UNIT
        self._exceeded = 0

    def learn(self, copied: Copied, *, free: bool = True) -> None:
        """Note what the broker copies. Unless it is `free` that shows only whether the throttle is used.

        A broker is free while no broker is throttled: the throttle of one end of a copy slows the other end too.
        """
        rate, replicas = copied
        self.used = self.value is None or rate <= 0 or rate > USED_SHARE * self.value
        if free and self.value is None and replicas and rate > 0:
            measured = min(max(rate / replicas, LEAST_UNIT), MOST_UNIT)
            self._unit += 0.3 * (measured - self._unit)

    def distrust(self) -> None:
        """The least rate is still too high: the measured sizes may be wrong."""
        self._unit = max(LEAST_UNIT, self._unit / 4)

    def act_now(self) -> None:
        """Throttle what is in flight without waiting, because its producers are in trouble."""
        self._exceeded = PATIENCE

    def follow(self, effort: float, in_flight: int, needed: float, patience: int = PATIENCE) -> None:
        """Set the rate for this effort; `needed` is what the moving partitions need at least."""
        if in_flight > effort:
            self._exceeded += 1
        elif in_flight or effort >= 1 or self.value is None:
            # Without a step in flight a throttle remains, so that the next one starts with it.
            self._exceeded = 0
        if self._exceeded < patience:
            self.value, self.at_floor = None, False
            return
        wanted, least = self._unit * effort, MARGIN * needed
        self.at_floor = least > wanted
        rate = rounded(max(wanted, least))
        before = self.value
        if before is None or rate > before * SAME_RATE or rate < before / SAME_RATE:
            self.value = rate


def rounded(rate: float) -> int:
    """Return the rate with two digits, so that it changes seldom."""
    if rate <= 1:
        return 1
    unit = int(10 ** max(0, floor(log10(rate)) - 1))
    return max(1, round(rate / unit) * unit)
