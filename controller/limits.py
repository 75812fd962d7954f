"""How much may move at once (KIP-435), and how much does.

The limits are cluster-wide dynamic configs; the names of the KIP's drafts are accepted as aliases.
"""

from collections import Counter
from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from controller.model import NO_LEADER, Partition, Replicas
from planner.limits import Limits

PREFIX = "reassignment.max.concurrent."

ALIASES = {
    "reassignment.parallel.replica.count": PREFIX + "replica.movements.per.partition",
    "reassignment.max.parallel.replica.count": PREFIX + "replica.movements.per.partition",
    "reassignment.parallel.partition.count": PREFIX + "partition.movements",
    "reassignment.parallel.leader.movements": PREFIX + "leader.movements",
}
"""KIP-435's names for the same limits."""


NO_LIMITS = Limits()

CONFIGS = {
    PREFIX + "replica.movements.per.partition": "per_partition",
    PREFIX + "partition.movements": "partitions",
    PREFIX + "leader.movements": "leaders",
    PREFIX + "replica.movements": "replicas",
    PREFIX + "replica.movements.per.broker": "per_broker",
}
"""Config name -> field of `Limits`."""


def limits_of(configs: Mapping[str, str]) -> Limits:
    """The limits that these cluster-wide configs set."""
    return Limits(**{field: int(configs[name]) for name, field in CONFIGS.items() if name in configs})


class Kind(Enum):
    """What there is a limit on."""

    PARTITIONS = "partition movements"
    LEADERS = "leader movements"
    REPLICAS = "replica movements"
    INCOMING = "replicas moving to broker"
    OUTGOING = "replicas moving from broker"


class Place(NamedTuple):
    """One counted thing; `broker` is -1 for what is counted cluster-wide."""

    kind: Kind
    broker: int = -1

    def __str__(self) -> str:
        return self.kind.value if self.broker < 0 else f"{self.kind.value} {self.broker}"


_PARTITIONS, _LEADERS, _REPLICAS = Place(Kind.PARTITIONS), Place(Kind.LEADERS), Place(Kind.REPLICAS)


class Cost(NamedTuple):
    """The places that one step takes while it is in flight."""

    incoming: Replicas
    source: int
    leads: bool


@lru_cache(maxsize=65_536)
def places(cost: Cost) -> tuple[tuple[Place, int], ...]:
    """Each place and how many of it. A reorder or a pure drop takes none but the leaders'."""
    taken = [(_LEADERS, 1)] if cost.leads else []
    if cost.incoming:
        taken += [(_PARTITIONS, 1), (_REPLICAS, len(cost.incoming))]
        taken += [(Place(Kind.INCOMING, broker), 1) for broker in cost.incoming]
        if cost.source != NO_LEADER:
            taken.append((Place(Kind.OUTGOING, cost.source), len(cost.incoming)))
    return tuple(taken)


def cost_of(partition: Partition, following: Replicas, target: Replicas) -> Cost:
    """What the step from the current list to `following` takes; it moves leadership if the leader cannot stay."""
    current = partition.current
    incoming = tuple(r for r in following if r not in current)
    return Cost(incoming, partition.leader, moves_leader(partition, following, target))


def moves_leader(partition: Partition, following: Replicas, target: Replicas) -> bool:
    """The leader goes, or the target's preferred leader comes in to take over."""
    return partition.leader not in following or (
        following[0] == target[0] and target[0] not in partition.current
    )


class Usage:
    """The places taken by steps in flight."""

    def __init__(self) -> None:
        self.limits = Limits()
        self._taken: Counter[Place] = Counter()

    def exhausted(self, cost: Cost) -> Place | None:
        """A place that has no room for the cost, or None. What exceeds a limit alone may run alone."""
        if self.limits == NO_LIMITS:
            return None
        for place, amount in places(cost):
            taken = self._taken[place]
            if taken and taken + amount > self.limit(place):
                return place
        return None

    def has_room(self, place: Place) -> bool:
        """At least one more of it may be taken."""
        return self._taken[place] < self.limit(place)

    def limit(self, place: Place) -> int:
        """The limit that counts for the place."""
        limits = self.limits
        match place.kind:
            case Kind.PARTITIONS:
                return limits.partitions
            case Kind.LEADERS:
                return limits.leaders
            case Kind.REPLICAS:
                return limits.replicas
            case Kind.INCOMING | Kind.OUTGOING:
                return limits.per_broker

    def take(self, cost: Cost) -> None:
        """A step with this cost begins."""
        for place, amount in places(cost):
            self._taken[place] += amount

    def release(self, cost: Cost) -> list[Place]:
        """The step has ended; the places that it gives back."""
        freed = []
        for place, amount in places(cost):
            self._taken[place] -= amount
            if not self._taken[place]:
                del self._taken[place]
            freed.append(place)
        return freed

    def brokers(self) -> set[int]:
        """The brokers that steps in flight move replicas to or from."""
        return {place.broker for place in self._taken if place.broker >= 0}

    def taken(self, place: Place) -> int:
        """How many of it steps in flight take."""
        return self._taken[place]
