"""The limits of concurrent movements (KIP-435), and their usage by the steps in flight.

The limits are cluster-wide dynamic configs. `LIMITS` has a row for each: messages, the JSON API, the page and
the commands name a limit by it. The names in the KIP's drafts are accepted as aliases. A job may have limits
of its own, those of KIP-435; its steps must keep both.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from common.plan_errors import PlanError
from controller.model.cluster import NO_LEADER, Replicas
from controller.model.configs import MAX_VALUE_BYTES
from controller.model.limits import NO_LIMITS, UNLIMITED, PlanLimits


class LimitKind(StrEnum):
    """Kinds of limits. The values are parts of messages."""

    PARTITIONS = "partition movements"
    LEADERS = "leader movements"
    REPLICAS = "replica movements"
    INCOMING = "replicas moving to broker"
    OUTGOING = "replicas moving from broker"
    BYTES = "bytes on their way"
    LIST = "bytes in the throttle list of topic"
    HEALTH = "steps while the cluster is unhealthy"


class Limit(NamedTuple):
    """A limit that operators set: how it is named, and what counts against it."""

    name: str
    """Its short name: the letter of KIP-435, if it has one."""
    field: str
    """The field of `PlanLimits`."""
    config: str
    kinds: tuple[LimitKind, ...]
    """The kinds of capacities whose limit it is; none for a limit of each step, which nothing uses up."""
    meaning: str

    def of(self, limits: PlanLimits) -> int:
        """Return the value of this limit."""
        value: int = getattr(limits, self.field)
        return value

    def shown(self, limits: PlanLimits) -> int | None:
        """Return the value of this limit; None for no limit."""
        value = self.of(limits)
        return None if value == self.of(NO_LIMITS) else value


PREFIX = "reassignment.max.concurrent."

LETTERED = (
    Limit(
        "R",
        "per_partition",
        PREFIX + "replica.movements.per.partition",
        (),
        "replicas of one partition in one step",
    ),
    Limit(
        "P",
        "partitions",
        PREFIX + "partition.movements",
        (LimitKind.PARTITIONS,),
        "partitions that move at once",
    ),
    Limit("L", "leaders", PREFIX + "leader.movements", (LimitKind.LEADERS,), "leader movements at once"),
    Limit("C", "replicas", PREFIX + "replica.movements", (LimitKind.REPLICAS,), "replicas that move at once"),
    Limit(
        "B",
        "per_broker",
        PREFIX + "replica.movements.per.broker",
        (LimitKind.INCOMING, LimitKind.OUTGOING),
        "replicas that move to, or from, one broker at once",
    ),
)
"""The limits of KIP-435, which the planner takes into account."""

LIMITS = (
    *LETTERED,
    Limit(
        "bytes",
        "bytes",
        PREFIX + "bytes",
        (LimitKind.BYTES,),
        "bytes of the replicas that move at once, by measured sizes",
    ),
)
"""All limits, in the order in which they are shown."""

ALIASES = {
    "reassignment.parallel.replica.count": PREFIX + "replica.movements.per.partition",
    "reassignment.max.parallel.replica.count": PREFIX + "replica.movements.per.partition",
    "reassignment.parallel.partition.count": PREFIX + "partition.movements",
    "reassignment.parallel.leader.movements": PREFIX + "leader.movements",
}
"""Names in KIP-435's drafts -> config name."""


def limits_of(configs: Mapping[str, str]) -> PlanLimits:
    """Return the limits that are set in the cluster-wide configs."""
    return PlanLimits(
        **{limit.field: int(configs[limit.config]) for limit in LIMITS if limit.config in configs}
    )


def by_letter(limits: PlanLimits) -> dict[str, int]:
    """Return `{"r": …, "p": …, "l": …, "c": …, "b": …}`."""
    return {limit.name.lower(): limit.of(limits) for limit in LETTERED}


@lru_cache(maxsize=256)
def parse_limits(text: str) -> PlanLimits:
    """Parse limits such as `r=1,P=20`. Raises PlanError that names the invalid part."""
    fields = {limit.name.lower(): limit.field for limit in LETTERED}
    values = {}
    for part in filter(None, text.split(",")):
        letter, _, value = part.strip().partition("=")
        field = fields.get(letter.lower())
        if field is None:
            raise PlanError(f"'{part}' is none of {', '.join(f'{known}=' for known in fields)}")
        if field in values:
            raise PlanError(f"'{part}': {letter} is given twice")
        if not value.isdecimal() or not 1 <= int(value) <= UNLIMITED:
            raise PlanError(f"'{part}': expected an integer in [1, {UNLIMITED}]")
        values[field] = int(value)
    return PlanLimits(**values)


def limits_text(limits: PlanLimits) -> str:
    """Return the limits of KIP-435 that are set, as `parse_limits` reads them, such as `R=1,P=20`."""
    shown = ((limit.name, limit.shown(limits)) for limit in LETTERED)
    return ",".join(f"{name}={value}" for name, value in shown if value is not None)


class Capacity(NamedTuple):
    """A limited resource; `broker` is -1 for one that is not a broker's."""

    kind: LimitKind
    broker: int = -1
    topic: str = ""
    job: int = 0
    """The job whose own limit it is; 0 for a limit of the cluster."""

    def __str__(self) -> str:
        whose = self.topic or ("" if self.broker < 0 else str(self.broker))
        text = f"{self.kind.value} {whose}".rstrip()
        return f"{text} of job {self.job}" if self.job else text


_PARTITIONS, _LEADERS, _REPLICAS = (
    Capacity(LimitKind.PARTITIONS),
    Capacity(LimitKind.LEADERS),
    Capacity(LimitKind.REPLICAS),
)
_BYTES, _HEALTH = Capacity(LimitKind.BYTES), Capacity(LimitKind.HEALTH)


class Cost(NamedTuple):
    """What a step uses of the limits while it is in flight."""

    incoming: Replicas
    source: int
    leads: bool
    size: int = 0
    """Bytes of each added replica, rounded up to a power of two so that similar steps are equal; 0: not
    counted."""
    repairs: bool = True
    """The step may start while the health guard holds."""
    topic: str = ""
    """Its topic, if a throttle list of the topic has no room for all of its partitions."""
    listed: int = 0
    """Bytes that the step needs in each of the topic's two lists at most."""
    job: int = 0
    """Its job, if that has limits of its own."""


LEADS = Cost((), NO_LEADER, leads=True)
"""The cost of a leader movement without data."""

JOB_KINDS = frozenset(kind for limit in LETTERED for kind in limit.kinds)
"""Kinds of the limits that a job may have of its own."""


Amounts = tuple[tuple[Capacity, int], ...]
"""Capacities and how much a step takes of each."""


@lru_cache(maxsize=65_536)
def capacities_of(cost: Cost) -> Amounts:
    """Return each capacity and the used amount. A reorder or a pure drop uses leader movements only.

    Those of the step's job follow those of the cluster.
    """
    taken = [(_LEADERS, 1)] if cost.leads else []
    if cost.incoming:
        taken += [(_PARTITIONS, 1), (_REPLICAS, len(cost.incoming))]
        taken += [(Capacity(LimitKind.INCOMING, broker), 1) for broker in cost.incoming]
        if cost.source != NO_LEADER:
            taken.append((Capacity(LimitKind.OUTGOING, cost.source), len(cost.incoming)))
        if cost.size:
            taken.append((_BYTES, cost.size * len(cost.incoming)))
        if not cost.repairs:
            taken.append((_HEALTH, 1))
        if cost.listed:
            taken.append((Capacity(LimitKind.LIST, topic=cost.topic), cost.listed))
    if cost.job:
        shared = [row for row in taken if row[0].kind in JOB_KINDS]
        taken += [(capacity._replace(job=cost.job), amount) for capacity, amount in shared]
    return tuple(taken)


shared_cost = lru_cache(maxsize=65_536)(Cost)
"""As `Cost`, but equal costs share one object, to save memory."""


class Windows(NamedTuple):
    """The limits of pace, which apply in addition to those of operators. 0 starts nothing."""

    brokers: Mapping[int, int]
    """By broker: how many replicas may move to it, and from it."""
    others: int
    """The same for brokers that are not in `brokers`."""
    cluster: int = UNLIMITED
    """How many partitions may move in the cluster."""

    def of(self, capacity: Capacity) -> int | None:
        """Return the limit of the capacity; None if pace does not limit what it counts."""
        if capacity.job:
            return None
        if capacity.broker >= 0:
            return self.brokers.get(capacity.broker, self.others)
        return self.cluster if capacity.kind is LimitKind.PARTITIONS else None


class Usage:
    """The limits, and what the steps in flight use of them."""

    limits: PlanLimits
    step: int
    """Maximum number of replicas that a planned step adds."""
    held: int | None
    """How many steps other than repairs may be in flight while the cluster is not healthy; None while it is
    healthy."""
    unlimited: bool
    """Whether operators have set no limit, of the cluster or of a job. Pace may have."""

    def __init__(self, limits: PlanLimits = NO_LIMITS) -> None:
        self.jobs: dict[int, PlanLimits] = {}
        """The limits of jobs that have their own."""
        self.throttled = False
        """Whether the steps in flight need entries in the throttle lists of their topics."""
        self.windows: Windows | None = None
        """None while pace is off."""
        self.set_limits(limits, None)
        self.freed: dict[Capacity, None] = {}
        """Capacities of which something may be free again, in order: a set would make the choice of the next
        step depend on the hash seed. The backlog removes those that it has looked at."""
        self.ended: defaultdict[Capacity, int] = defaultdict(int)
        """By capacity, the used amounts of all steps that have ended since the start of the process."""
        self._taken: dict[Capacity, int] = {}
        self._directions = 0
        """Capacities of brokers of which something is used."""
        self._bytes_to: Counter[int] = Counter()

    def set_limits(self, limits: PlanLimits, held: int | None) -> None:
        """Set the limits and the values derived from them."""
        self.limits, self.held = limits, held
        self.step = limits.step
        self._follow_limits()

    def limit_job(self, job: int, limits: PlanLimits) -> None:
        """Set the limits of the job, in addition to those of the cluster; NO_LIMITS for none."""
        self.jobs = {number: of for number, of in self.jobs.items() if number != job}
        if limits != NO_LIMITS:
            self.jobs[job] = limits
        self._follow_limits()

    def _follow_limits(self) -> None:
        self.unlimited = self.limits == NO_LIMITS and self.held is None and not self.jobs
        # By the job of the capacity, which is 0 for the limits of the cluster.
        self._limits = {
            (job, kind): limit.of(limits)
            for job, limits in ((0, self.limits), *self.jobs.items())
            for limit in LIMITS
            for kind in limit.kinds
        }
        self._limits[0, LimitKind.HEALTH] = UNLIMITED if self.held is None else self.held
        self._limits[0, LimitKind.LIST] = MAX_VALUE_BYTES

    def counted_job(self, job: int) -> int:
        """Return the job if it has limits of its own, else 0, as `Cost.job` has it."""
        return job if job in self.jobs else 0

    def leads_of(self, job: int) -> Cost:
        """Return the cost of a leader movement of the job without data."""
        return LEADS._replace(job=job) if job in self.jobs else LEADS

    def step_of(self, job: int) -> int:
        """Return the maximum number of replicas that a planned step of the job adds."""
        limits = self.jobs.get(job)
        return self.step if limits is None else min(self.step, limits.step)

    def exhausted(self, amounts: Amounts) -> Capacity | None:
        """Return the first capacity whose limit the amounts would exceed, or None.

        A step that exceeds a limit by itself may run alone, unless the health guard or pace holds it.
        """
        if self.unlimited and self.windows is None and not self.throttled:
            return None
        for capacity, amount in amounts:
            if capacity.kind is LimitKind.LIST and not self.throttled:
                continue
            taken = self._taken.get(capacity, 0)
            most = self._limit(capacity) if self.windows is None else self.limit(capacity)
            if taken + amount > most and (taken or capacity is _HEALTH or not most):
                return capacity
        return None

    def limit(self, capacity: Capacity) -> int:
        """Return the limit of the capacity."""
        most = self._limit(capacity)
        paced = None if self.windows is None else self.windows.of(capacity)
        return most if paced is None else min(most, paced)

    def _limit(self, capacity: Capacity) -> int:
        """Return the limit that operators have set; a step may count for a job that has none any more."""
        return self._limits.get((capacity.job, capacity.kind), UNLIMITED)

    def is_paced(self, capacity: Capacity) -> bool:
        """Return whether the limit of the capacity is that of pace."""
        return self.limit(capacity) < self._limit(capacity)

    def count(self, cost: Cost, steps: int, *, ended: bool = False) -> None:
        """Add the cost of this number of steps.

        The number is negative for steps that have `ended`, or cost less now.
        """
        for capacity, amount in capacities_of(cost):
            before = self._taken.get(capacity, 0)
            taken = before + steps * amount
            if capacity.broker >= 0 and not capacity.job:
                self._directions += bool(taken) - bool(before)
            if taken:
                self._taken[capacity] = taken
            else:
                del self._taken[capacity]
            if steps < 0:
                self.freed[capacity] = None
            if ended:
                self.ended[capacity] -= steps * amount
        for broker in cost.incoming if cost.size else ():
            self._bytes_to[broker] += steps * cost.size

    def busiest(self, cost: Cost) -> int:
        """Return the highest number of replicas in flight at any broker of the step."""
        taken = [self._taken.get(capacity, 0) for capacity, _ in capacities_of(cost) if capacity.broker >= 0]
        return max(taken, default=0)

    def average(self) -> float:
        """Return the average number of replicas in flight per broker and direction; at least 1."""
        return 2 * self.taken(_REPLICAS) / self._directions if self._directions else 1.0

    def brokers(self) -> set[int]:
        """Return the brokers that send or receive replicas."""
        return {capacity.broker for capacity in self._taken if capacity.broker >= 0}

    def bytes_to(self, broker: int) -> int:
        """Return the bytes that steps in flight copy to the broker, by rounded sizes."""
        return self._bytes_to[broker]

    def taken(self, capacity: Capacity) -> int:
        """Return the used amount of the capacity."""
        return self._taken.get(capacity, 0)

    def by_limit(self, job: int = 0) -> dict[str, int | None]:
        """Return the use of each limit by name, B at the busiest broker; None if nothing uses it up.

        With a job, it is the use of its own limits; that of `bytes`, which no job has, is 0.
        """
        most: dict[LimitKind, int] = {}
        for capacity, taken in self._taken.items():
            if capacity.job == job:
                most[capacity.kind] = max(taken, most.get(capacity.kind, 0))
        return {
            limit.name: max((most.get(kind, 0) for kind in limit.kinds), default=None) for limit in LIMITS
        }
