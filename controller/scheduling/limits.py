"""How much may move at once (KIP-435), and how much does.

The limits are cluster-wide dynamic configs; the names of the KIP's drafts are accepted as aliases.
"""

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from controller.model.cluster import NO_LEADER, Partition, Replicas
from controller.model.names import without
from controller.scheduling.plan_limits import PlanLimits
from controller.scheduling.steps import UNLIMITED

PREFIX = "reassignment.max.concurrent."

ALIASES = {
    "reassignment.parallel.replica.count": PREFIX + "replica.movements.per.partition",
    "reassignment.max.parallel.replica.count": PREFIX + "replica.movements.per.partition",
    "reassignment.parallel.partition.count": PREFIX + "partition.movements",
    "reassignment.parallel.leader.movements": PREFIX + "leader.movements",
}
"""KIP-435's names for the same limits."""


NO_LIMITS = PlanLimits()

CONFIGS = {
    PREFIX + "replica.movements.per.partition": "per_partition",
    PREFIX + "partition.movements": "partitions",
    PREFIX + "leader.movements": "leaders",
    PREFIX + "replica.movements": "replicas",
    PREFIX + "replica.movements.per.broker": "per_broker",
}
"""Config name -> field of `PlanLimits`."""


BYTES_CONFIG = PREFIX + "bytes"
UNLIMITED_BYTES = 2**63 - 1


def limits_of(configs: Mapping[str, str]) -> PlanLimits:
    """The limits that these cluster-wide configs set."""
    return PlanLimits(**{field: int(configs[name]) for name, field in CONFIGS.items() if name in configs})


class LimitKind(StrEnum):
    """What there is a limit on."""

    PARTITIONS = "partition movements"
    LEADERS = "leader movements"
    REPLICAS = "replica movements"
    INCOMING = "replicas moving to broker"
    OUTGOING = "replicas moving from broker"
    BYTES = "bytes on their way"
    HEALTH = "steps while the cluster is not well"


class Place(NamedTuple):
    """One counted thing; `broker` is -1 for what is counted cluster-wide."""

    kind: LimitKind
    broker: int = -1

    def __str__(self) -> str:
        return self.kind.value if self.broker < 0 else f"{self.kind.value} {self.broker}"


_PARTITIONS, _LEADERS, _REPLICAS = (
    Place(LimitKind.PARTITIONS),
    Place(LimitKind.LEADERS),
    Place(LimitKind.REPLICAS),
)
_BYTES, _HEALTH = Place(LimitKind.BYTES), Place(LimitKind.HEALTH)
_CLUSTERWIDE = (_PARTITIONS, _LEADERS, _REPLICAS, _BYTES, _HEALTH)


class Cost(NamedTuple):
    """The places that one step takes while it is in flight."""

    incoming: Replicas
    source: int
    leads: bool
    size: int = 0
    """Bytes of each replica that comes in, rounded up so that steps of about the same size are equal; 0: not counted."""
    repairs: bool = True
    """It may start whatever the cluster's health."""


LEADS = Cost((), NO_LEADER, leads=True)
"""A leader movement alone."""


@lru_cache(maxsize=65_536)
def places(cost: Cost) -> tuple[tuple[Place, int], ...]:
    """Each place and how many of it. A reorder or a pure drop takes none but the leaders'."""
    taken = [(_LEADERS, 1)] if cost.leads else []
    if cost.incoming:
        taken += [(_PARTITIONS, 1), (_REPLICAS, len(cost.incoming))]
        taken += [(Place(LimitKind.INCOMING, broker), 1) for broker in cost.incoming]
        if cost.source != NO_LEADER:
            taken.append((Place(LimitKind.OUTGOING, cost.source), len(cost.incoming)))
        if cost.size:
            taken.append((_BYTES, cost.size * len(cost.incoming)))
        if not cost.repairs:
            taken.append((_HEALTH, 1))
    return tuple(taken)


def cost_of(
    partition: Partition, following: Replicas, *, leads: bool, size: int = 0, repairs: bool = True
) -> Cost:
    """What the step from the current list to `following` takes. `leads`: it moves leadership.

    `size` is the bytes of a replica, 0 when they are not known or do not count.
    """
    incoming = without(following, partition.current)
    rounded = 1 << (size - 1).bit_length() if size else 0
    return _cost(incoming, partition.leader, leads, rounded, repairs)


@lru_cache(maxsize=65_536)
def _cost(incoming: Replicas, source: int, leads: bool, size: int, repairs: bool) -> Cost:
    """One object for all steps that take the same."""
    return Cost(incoming, source, leads, size, repairs)


class Usage:
    """The places taken by steps in flight."""

    def __init__(self) -> None:
        self.limits = PlanLimits()
        self.bytes = UNLIMITED_BYTES
        self.held: int | None = None
        """While the cluster is not well, how many steps that repair nothing may be in flight; None while it is."""
        self._taken: dict[Place, int] = {}
        self._bytes_to: Counter[int] = Counter()

    @property
    def unlimited(self) -> bool:
        """Everything has room."""
        return self.limits == NO_LIMITS and self.bytes == UNLIMITED_BYTES and self.held is None

    def exhausted(self, cost: Cost) -> Place | None:
        """A place that has no room for the cost, or None. What exceeds a limit alone may run alone."""
        if self.unlimited:
            return None
        for place, amount in places(cost):
            if not self.fits(place, amount):
                return place
        return None

    def fits(self, place: Place, amount: int) -> bool:
        """So many more of it may be taken. What exceeds a limit alone may run alone."""
        taken = self._taken.get(place, 0)
        return (not taken and place is not _HEALTH) or taken + amount <= self.limit(place)

    def limit(self, place: Place) -> int:
        """The limit that counts for the place."""
        limits = self.limits
        match place.kind:
            case LimitKind.PARTITIONS:
                return limits.partitions
            case LimitKind.LEADERS:
                return limits.leaders
            case LimitKind.REPLICAS:
                return limits.replicas
            case LimitKind.INCOMING | LimitKind.OUTGOING:
                return limits.per_broker
            case LimitKind.BYTES:
                return self.bytes
            case LimitKind.HEALTH:
                return UNLIMITED if self.held is None else self.held

    def take(self, cost: Cost) -> None:
        """A step with this cost begins."""
        for place, amount in places(cost):
            self._taken[place] = self._taken.get(place, 0) + amount
        for broker in cost.incoming if cost.size else ():
            self._bytes_to[broker] += cost.size

    def release(self, cost: Cost) -> list[Place]:
        """The step has ended; the places that it gives back."""
        freed = []
        for place, amount in places(cost):
            left = self._taken[place] - amount
            if left:
                self._taken[place] = left
            else:
                del self._taken[place]
            freed.append(place)
        for broker in cost.incoming if cost.size else ():
            self._bytes_to[broker] -= cost.size
        return freed

    def busiest(self, cost: Cost) -> int:
        """The most replicas that one of the brokers of such a step receives, or its source sends, already."""
        taken = [self._taken.get(place, 0) for place, _ in places(cost) if place.broker >= 0]
        return max(taken, default=0)

    def average(self) -> float:
        """Replicas that a broker receives, or sends, on the average of those that do; at least 1."""
        ways = len(self._taken) - sum(place in self._taken for place in _CLUSTERWIDE)
        return 2 * self.taken(_REPLICAS) / ways if ways else 1.0

    def brokers(self) -> set[int]:
        """The brokers that steps in flight move replicas to or from."""
        return {place.broker for place in self._taken if place.broker >= 0}

    def bytes_to(self, broker: int) -> int:
        """Bytes that steps in flight bring to the broker, by the rounded size of their partitions."""
        return self._bytes_to[broker]

    def taken(self, place: Place) -> int:
        """How many of it steps in flight take."""
        return self._taken.get(place, 0)
