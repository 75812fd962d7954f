"""The brokers of a problem."""

from fractions import Fraction
from typing import NamedTuple

ONE = Fraction(1)


class Node(NamedTuple):
    """A broker. `usable`: may keep replicas. `receives`: may get new ones."""

    id: int
    rack: str
    usable: bool
    receives: bool
    weight: Fraction = ONE
    room: int | None = None
    """Bytes that it can receive before its disks are full up to the headroom; None if their size is not known."""
    live: bool = True


def own_rack(broker: int) -> str:
    """Return the rack of a broker without one: each such broker is a rack of its own."""
    return f"broker {broker}"
