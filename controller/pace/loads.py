"""What moves at a broker, and what of it lasts: a replica that arrives within a second needs no throttle."""

from typing import NamedTuple


class Moves(NamedTuple):
    """Replicas that move in one direction."""

    in_flight: int = 0
    ended: int = 0
    """How many have ended since the start of the process."""

    def lasting(self, before: "Moves") -> int:
        """Return how many of those in flight have moved since the reading `before`; there may be more.

        What has ended since then counts as begun before.
        """
        return max(0, min(self.in_flight, before.in_flight - (self.ended - before.ended)))


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
        """Return how many replicas have moved since the reading `before`, with those that have ended."""
        return max(
            now.in_flight + now.ended - then.ended for now, then in zip(self[:2], before[:2], strict=True)
        )

    def lasting(self, before: "Load") -> int:
        """Return how many replicas have moved since the reading `before`, to the broker or from it, whichever is more."""
        return max(self.incoming.lasting(before.incoming), self.outgoing.lasting(before.outgoing))
