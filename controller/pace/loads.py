"""What moves at a broker, and what of it lasts: a replica that arrives within a second needs no throttle."""

from typing import NamedTuple


class Moves(NamedTuple):
    """Replicas that move in one direction."""

    in_flight: int = 0
    ended: int = 0
    """How many have ended since the start of the process."""


NONE = Moves()


class Load(NamedTuple):
    """What moves at a broker."""

    incoming: Moves = NONE
    outgoing: Moves = NONE
    throttled_by_others: bool = False
    """Somebody else has set a throttle there. It stays in force, so that one of pace would have no effect."""

    @property
    def in_flight(self) -> int:
        """Replicas that move to the broker, or from it, whichever is more."""
        return max(self.incoming.in_flight, self.outgoing.in_flight)

    def moved(self, before: "Load") -> int:
        """Return how many replicas have moved since the reading `before`, with those that have arrived."""
        return max(
            now.in_flight + now.ended - then.ended for now, then in zip(self[:2], before[:2], strict=True)
        )

    def lasting(self, before: "Load") -> int:
        """Return how many replicas have moved since the reading `before`, to the broker or from it, whichever is more.

        What has ended since then counts as begun before. So it may be too few while replicas of several sizes move.
        """
        return max(
            max(0, min(now.in_flight, then.in_flight - (now.ended - then.ended)))
            for now, then in zip(self[:2], before[:2], strict=True)
        )
