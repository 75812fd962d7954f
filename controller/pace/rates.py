"""The throttle of one broker from its effort, in bytes per second.

A throttle is set only while more replicas move for more than a second than the effort allows: windows and
turns cannot slow replicas that are in flight.
"""

from collections import deque
from math import floor, log10

from controller.pace.readings import Copied

DEFAULT_UNIT = 50e6
LEAST_UNIT, MOST_UNIT = 1e6, 200e6
"""Bounds of what one replica is taken to copy unthrottled. Measured sizes may be wrong."""
MARGIN = 1.2
"""A throttle is this multiple of what the moving partitions need to catch up with their producers."""
USED_SHARE = 0.6
BRIEF_CALLS = 2
"""After so many seconds with replicas that did not last, those that follow are small, and need no
throttle."""


class Rate:
    """The throttle of one broker."""

    def __init__(self) -> None:
        self.at_floor = False
        """Producers write so much to the moving partitions that the rate cannot be as low as the effort."""
        self.used = True
        """The broker copies about as much as the rate allows, or it is not known; otherwise something else
        slows it."""
        self._quota = Quota()
        self._flow = 0.0
        """What may pass in a second."""
        self._unit = DEFAULT_UNIT
        self._exceeded = self._distrusted = False
        self._brief = 0
        """Calls since the last one with a replica that lasted, in which others moved."""

    @property
    def value(self) -> int | None:
        """The value of the throttle's configs.

        It rises step by step, so that the copies come without bursts.
        """
        return self._quota.value

    def learn(self, copied: Copied, *, free: bool = True) -> None:
        """Note what the broker copies.

        Unless it is `free`, a replica may be faster than that, but not slower.

        A broker is free while no broker is throttled: the throttle of one end of a copy slows the other end
        too.
        """
        rate, replicas = copied
        self.used = self.value is None or rate <= 0 or rate > USED_SHARE * self._flow
        if replicas and rate > 0:
            measured = min(max(rate / replicas, LEAST_UNIT), MOST_UNIT)
            faster = measured > self._unit and not self._distrusted
            if faster or (free and self.value is None):
                self._unit += 0.3 * (measured - self._unit)

    def distrust(self) -> None:
        """The least rate is still too high: the measured sizes may be wrong."""
        self._unit = max(LEAST_UNIT, self._unit / 4)
        self._distrusted = True

    def act_now(self) -> None:
        """Throttle what is in flight without waiting, because its producers are in trouble."""
        self._exceeded = True
        self._quota.reset()

    def follow(self, effort: float, in_flight: int, needed: float, *, lasting: int) -> None:
        """Set the throttle for this effort; `needed` is what the moving partitions need at least.

        `lasting` are those of the replicas in flight that have moved since the last call; there may be more.
        """
        self._brief = 0 if lasting else self._brief + (in_flight > 0)
        if lasting > effort:
            self._exceeded = True
        elif lasting or effort >= 1 or self._brief >= BRIEF_CALLS:
            # Until then a throttle remains, so that the next large replica starts with it.
            self._exceeded = False
        if not self._exceeded:
            self._quota.remove()
            self.at_floor = False
            return
        wanted, least = self._unit * effort, MARGIN * needed
        self.at_floor = least > wanted
        self._flow = max(wanted, least)
        self._quota.permit(self._flow, moving=in_flight > 0)


WINDOW_SECONDS = 10
SAME_FLOW = 1.15
"""The value stays while what it permits in the next second differs by less than this factor from what is
wanted."""


class Quota:
    """The value of Kafka's throttle (KIP-73) that lets a steady number of bytes pass in each second.

    A broker stops a throttled copy while the mean of the last ten seconds exceeds the value (Kafka:
    ReplicationQuotaManager, with the default of `replication.quota.window.num`). So a new value permits
    at once what is meant for ten seconds, then nothing until these have passed: the copies come in
    bursts. A value that rises step by step, in seconds of which each has used what it may, has no bursts.
    """

    def __init__(self) -> None:
        self.value: int | None = None
        """In bytes per second; None for no throttle."""
        self._passed: deque[float] = deque(maxlen=WINDOW_SECONDS - 1)
        """What passed in each of the last seconds, if the copies used what they might."""

    def permit(self, flow: float, *, moving: bool) -> None:
        """Let about `flow` bytes pass in the next second. `moving`: something is there that uses them."""
        passed = sum(self._passed)
        permitted = -1.0 if self.value is None else WINDOW_SECONDS * self.value - passed
        if not flow / SAME_FLOW < permitted < flow * SAME_FLOW:
            self.value = rounded((passed + flow) / WINDOW_SECONDS)
            permitted = WINDOW_SECONDS * self.value - passed
        self._passed.append(max(0.0, permitted) if moving else 0.0)

    def reset(self) -> None:
        """Begin with a low value again.

        What passed lately then counts against it, so that copies pause at first.
        """
        self._passed.clear()

    def remove(self) -> None:
        """Permit everything."""
        self.value = None
        self._passed.clear()


def rounded(rate: float) -> int:
    """Return the rate with three digits, so that it rarely changes."""
    if rate <= 1:
        return 1
    unit = int(10 ** max(0, floor(log10(rate)) - 2))
    return max(1, round(rate / unit) * unit)
