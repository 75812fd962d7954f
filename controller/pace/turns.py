"""Turns: for an effort below 1, in which seconds a replica may start at a broker.

Replicas that arrive within seconds have been copied before a throttle acts. With turns there are pauses between them instead.
"""

MOST_DEBT = 2.0
"""A replica that moves for longer than its turn costs this many further seconds at most."""


class Turns:
    """The turns of one broker. It has saved the seconds in which it might have moved a replica, at most its effort."""

    def __init__(self) -> None:
        self._saved = 0.0

    def follow(self, effort: float, *, moving: bool) -> bool:
        """Return whether a replica may start in the next second. `moving`: something moved at the end of the last one."""
        self._saved = max(-MOST_DEBT, min(effort, self._saved + effort - moving))
        return effort >= 1 or self._saved > 0
