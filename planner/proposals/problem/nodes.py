"""The brokers of a problem, and how many replicas of a partition each rack may hold."""

from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import NamedTuple

ONE = Fraction(1)


class Disk(NamedTuple):
    """The disks of a broker together, in bytes."""

    total: int
    used: int
    held: int
    """By replicas; the rest are other files."""


class Node(NamedTuple):
    """A broker. `usable`: may keep replicas. `receives`: may get new ones."""

    id: int
    rack: str
    usable: bool
    receives: bool
    weight: Fraction = ONE
    room: int | None = None
    """Bytes that it can receive before its disks are full up to the headroom; None if their size is not
    known."""
    live: bool = True
    disk: Disk | None = None
    """None if it does not report the size of its disks."""


def own_rack(broker: int) -> str:
    """Return the rack of a broker without one: each such broker is a rack of its own."""
    return f"broker {broker}"


class RackBounds(NamedTuple):
    """Least and most replicas of a partition in each rack."""

    least: Mapping[str, int]
    most: Mapping[str, int]


def rack_bounds(factor: int, brokers_of: Mapping[str, int]) -> RackBounds:
    """Spread `factor` replicas over racks as evenly as their numbers of usable brokers allow.

    Kafka's KRaft placer (StripedReplicaPlacer) spreads in the same way: with enough brokers the racks differ
    by at most one. A factor above the number of brokers counts as that number.
    """
    factor = min(factor, sum(brokers_of.values()))
    level = 0
    while sum(min(count, level) for count in brokers_of.values()) < factor:
        level += 1
    most = {rack: min(count, level) for rack, count in brokers_of.items()}
    if sum(most.values()) == factor:
        return RackBounds(most, most)
    return RackBounds({rack: min(count, level - 1) for rack, count in brokers_of.items()}, most)


def excess(held: Mapping[str, int], bounds: RackBounds) -> int:
    """Replicas of a partition that must move before it obeys the rack rule.

    `held` counts its replicas in each rack.
    """
    over = sum(max(0, count - bounds.most.get(rack, 0)) for rack, count in held.items())
    short = sum(max(0, count - held.get(rack, 0)) for rack, count in bounds.least.items())
    return max(over, short)


class RackRule:
    """The rack rule of a cluster, for any replication factor."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        nodes = list(nodes)
        self.rack_of = {node.id: node.rack for node in nodes}
        self._brokers_of = Counter(node.rack for node in nodes if node.usable)
        self._bounds: dict[int, RackBounds] = {}

    def bounds(self, factor: int) -> RackBounds:
        """Return the bounds of a partition with this replication factor."""
        if factor not in self._bounds:
            self._bounds[factor] = rack_bounds(factor, self._brokers_of)
        return self._bounds[factor]

    def held(self, replicas: Iterable[int]) -> Counter[str]:
        """Count replicas by rack. A broker that is not in the cluster has a rack of its own."""
        return Counter(self.rack_of.get(broker, own_rack(broker)) for broker in replicas)

    def excess(self, replicas: tuple[int, ...]) -> int:
        """Return how many replicas of a list must move before it obeys the rule."""
        return excess(self.held(replicas), self.bounds(len(replicas)))

    def total_excess(self, lists: Iterable[tuple[int, ...]]) -> int:
        """Return the sum of the excess of all lists. Equal lists are examined once."""
        return sum(count * self.excess(replicas) for replicas, count in Counter(lists).items())
