"""The value of Kafka's throttle (KIP-73) that lets a steady number of bytes pass in each second.

A broker stops a throttled copy while the mean of the last ten seconds exceeds the value (Kafka: ReplicationQuotaManager,
with the default of `replication.quota.window.num`). So a new value permits at once what is meant for ten seconds, then
nothing until these seconds have passed, and the same again: the copies come in bursts. A value that rises step by step, in
seconds of which each has used what it may, has no bursts.
"""

from collections import deque
from math import floor, log10

WINDOW_SECONDS = 10
SAME_FLOW = 1.15
"""The value stays while what it permits in the next second differs by less than this factor from what is wanted."""


class Quota:
    """The throttle of one broker."""

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

    def begin_anew(self) -> None:
        """Begin with a low value again. What passed lately then counts against it, so that copies pause at first."""
        self._passed.clear()

    def remove(self) -> None:
        """Permit everything."""
        self.value = None
        self._passed.clear()


def rounded(rate: float) -> int:
    """Return the rate with three digits, so that it changes seldom."""
    if rate <= 1:
        return 1
    unit = int(10 ** max(0, floor(log10(rate)) - 2))
    return max(1, round(rate / unit) * unit)
