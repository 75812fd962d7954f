"""The throttle of one broker from its effort, in bytes per second.

A throttle is set only while more moves for some time than the effort allows: windows and turns cannot slow replicas that
are in flight.
"""

from controller.pace.quota import Quota
from controller.pace.readings import Copied

DEFAULT_UNIT = 50e6
LEAST_UNIT, MOST_UNIT = 1e6, 200e6
"""Bounds of what one replica is taken to copy unthrottled. Measured sizes may be wrong."""
MARGIN = 1.2
"""A throttle is this multiple of what the moving partitions need to catch up with their producers."""
USED_SHARE = 0.6
EXCEEDED_TICKS = 2
"""Seconds with more replicas in flight than the effort allows until they are throttled. Small ones have arrived by then."""


class Rate:
    """The throttle of one broker."""

    def __init__(self) -> None:
        self.at_floor = False
        """Producers write so much to the moving partitions that the rate cannot be as low as the effort."""
        self.used = True
        """The broker copies about as much as the rate allows, or it is not known; otherwise something else slows it."""
        self._quota = Quota()
        self._flow = 0.0
        """What may pass in a second."""
        self._unit = DEFAULT_UNIT
        self._exceeded = 0

    @property
    def value(self) -> int | None:
        """The value of the throttle's configs. It rises step by step, so that the copies come without bursts."""
        return self._quota.value

    def learn(self, copied: Copied, *, free: bool = True) -> None:
        """Note what the broker copies. Unless it is `free` that shows only whether the throttle is used.

        A broker is free while no broker is throttled: the throttle of one end of a copy slows the other end too.
        """
        rate, replicas = copied
        self.used = self.value is None or rate <= 0 or rate > USED_SHARE * self._flow
        if free and self.value is None and replicas and rate > 0:
            measured = min(max(rate / replicas, LEAST_UNIT), MOST_UNIT)
            self._unit += 0.3 * (measured - self._unit)

    def distrust(self) -> None:
        """The least rate is still too high: the measured sizes may be wrong."""
        self._unit = max(LEAST_UNIT, self._unit / 4)

    def act_now(self) -> None:
        """Throttle what is in flight without waiting, because its producers are in trouble."""
        self._exceeded = EXCEEDED_TICKS
        self._quota.begin_anew()

    def follow(self, effort: float, in_flight: int, needed: float) -> None:
        """Set the throttle for this effort; `needed` is what the moving partitions need at least."""
        if in_flight > effort:
            self._exceeded += 1
        elif in_flight or effort >= 1 or self.value is None:
            # Without a step in flight a throttle remains, so that the next one starts with it.
            self._exceeded = 0
        if self._exceeded < (EXCEEDED_TICKS if self.value is None else 1):
            self._quota.remove()
            self.at_floor = False
            return
        wanted, least = self._unit * effort, MARGIN * needed
        self.at_floor = least > wanted
        self._flow = max(wanted, least)
        self._quota.permit(self._flow, moving=in_flight > 0)
