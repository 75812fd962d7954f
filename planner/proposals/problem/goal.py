"""Input of a proposal: the brokers, the partitions and what the new plan must achieve."""

from collections.abc import Callable, Collection, Mapping, Sequence
from fractions import Fraction
from itertools import chain
from math import ceil, floor
from typing import TYPE_CHECKING, Literal, NamedTuple

from common.wording import counted, missing, some
from controller.model.replicas import Replicas
from planner.model.snapshot import TOPIC_PARTITION, Broker, Snapshot
from planner.proposals.problem.factors import TopicFactor, wanted_factors
from planner.proposals.problem.nodes import ONE, Disk, Node, own_rack

if TYPE_CHECKING:
    from planner.proposals.problem.arrays import Flags, Ints
    from planner.proposals.problem.table import Columns, Table

Measure = Literal["replicas", "bytes", "both"]
"""What `add` and `balance` even out."""
LoadName = Literal["replicas", "bytes", "in", "out", "leaders-in", "cpu"]
"""What brokers carry: replicas and their bytes, what producers write to the replicas, what the broker sends
as a leader, what producers write to the leaders, and a weighted sum of these that stands for CPU time."""
REPLICA_LOADS: tuple[LoadName, ...] = ("replicas", "bytes", "in")
"""Loads that follow from where replicas are."""
LEADER_LOADS: tuple[LoadName, ...] = ("out", "leaders-in", "cpu")
"""Loads that follow from who leads."""
RATE_LOADS: frozenset[LoadName] = frozenset({"in", *LEADER_LOADS})
"""Loads that need measured rates."""
Moment = Literal["now", "busy", "mean"]
"""Whether rates are those of the last minutes, of the busy hour of the cluster, or means over the hours of
the day."""
Minimized = Literal["moves", "bytes"]
Spread = Literal["cluster", "topic"]
"""Whether replicas move for an even cluster only, or also for even topics."""


class ProposalError(Exception):
    """No plan can meet the goal; `reasons` has one line for each obstacle."""

    def __init__(self, reasons: Sequence[str]) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = list(reasons)


class MissingSolverError(Exception):
    """The extra `propose`, with OR-tools and numpy, is not installed."""

    def __init__(self) -> None:
        super().__init__(missing("propose", "OR-tools", "propose"))


class ProblemRow(NamedTuple):
    """A partition that may change.

    `factor` is the wanted replication factor, `bytes` the size of a copy.
    """

    topic: str
    partition: int
    replicas: Replicas
    factor: int
    bytes: int = 0


class Goal(NamedTuple):
    """What a plan must achieve."""

    drain: frozenset[int] = frozenset()
    """Brokers that must not hold replicas."""
    demote: frozenset[int] = frozenset()
    """Brokers that must not lead where another replica can; they keep their replicas."""
    add: frozenset[int] = frozenset()
    """New brokers, which must be in the cluster; `even_counts` fills them."""
    relieve: frozenset[int] = frozenset()
    """Brokers whose disks are to be at most `relieve_to` full, or whose `loads` are to be in their ranges.
    Nothing but their replicas moves."""
    relieve_over: Fraction | None = None
    """The same for all brokers whose disks are fuller than this."""
    relieve_to: Fraction = Fraction(3, 4)
    relieve_loads: bool = False
    """Relieve brokers of their `loads`, and do not look at their disks."""
    allow_partial: bool = False
    """Accept a plan after which relieved brokers are still too full."""
    factor: int | None = None
    """Replication factor of the chosen topics; None keeps that of each partition."""
    factors: tuple[TopicFactor, ...] = ()
    """Replication factors of some of the chosen topics, instead of `factor`."""
    repair: bool = False
    """Replace the replicas that are lost. Nothing else moves."""
    even_counts: bool = False
    """Even out the number of replicas of each broker."""
    tolerance: Fraction = Fraction(0)
    """Allowed deviation from the even count, as a fraction of it."""
    repair_racks: bool = False
    """Move replicas that break the rack rule."""
    even_leaders: bool = False
    """Even out the number of preferred leaders."""
    rack_aware: bool = True
    receive_nothing: frozenset[int] = frozenset()
    """Brokers that keep their replicas and get no new ones."""
    weights: Mapping[int, Fraction] = {}
    """Share of a broker relative to the others; 1 if absent."""
    max_moves: int | None = None
    """Most replicas to move. Counts become as even as that allows; None is unlimited."""
    by: Measure = "replicas"
    """What to even out if `even_counts` is set."""
    byte_tolerance: Fraction | None = None
    """Allowed deviation from the even share of bytes, as a fraction of it; None is 5 %, or `tolerance` if
    that is larger."""
    loads: tuple[LoadName, ...] = ()
    """Loads to even out instead of `by`, if `even_counts` is set."""
    tolerance_of: Mapping[LoadName, Fraction] = {}
    """Allowed deviation from the fair share of a load, where it is not `tolerance`."""
    at: Moment = "busy"
    """Which rates count."""
    max_bytes: int | None = None
    """Most bytes to copy; None is unlimited."""
    headroom: Fraction = Fraction(1, 10)
    """Share of a disk that stays free; only for brokers whose disk size is known."""
    minimize: Minimized = "moves"
    """What a plan has least of."""
    spread: Spread = "cluster"
    """With `topic`, replicas also move so that each topic is spread evenly."""
    strict_racks: bool = False
    """Refuse a plan that leaves replicas against the rack rule."""

    @property
    def changes_order_only(self) -> bool:
        """Whether no replica needs to move."""
        sizes = self.factor is not None or bool(self.factors)
        moves = self.drain or sizes or self.even_counts or self.repair_racks
        return not moves and not self.relieves and not self.repair

    @property
    def relieves(self) -> bool:
        """Whether brokers are to be relieved."""
        return bool(self.relieve) or self.relieve_over is not None

    @property
    def relieves_disks(self) -> bool:
        """Whether disks are to be at most `relieve_to` full. Loads of the goal are only kept then."""
        return self.relieves and not self.relieve_loads

    @property
    def relieved_of_loads(self) -> frozenset[int]:
        """Brokers whose `loads` are to be in their ranges."""
        return self.relieve if self.relieve_loads else frozenset()


class LeftOut(NamedTuple):
    """A partition that the plan does not change, and why."""

    topic: str
    partition: int
    reason: str


class CountRange(NamedTuple):
    """Least and most replicas (or bytes) of a broker, out-of-scope partitions included."""

    least: int
    most: int


class Problem(NamedTuple):
    """A cluster and a goal, as the solver reads them."""

    nodes: tuple[Node, ...]
    """In order of id."""
    table: "Table"
    """The partitions; `free` tells which may change. The others count for evenness."""
    goal: Goal
    left_out: tuple[LeftOut, ...] = ()
    """Partitions that the goal names, but that cannot be changed now."""

    @property
    def usable(self) -> tuple[Node, ...]:
        """Brokers that may hold replicas."""
        return tuple(node for node in self.nodes if node.usable)

    def after(self, sets: "Ints") -> "Problem":
        """Return the problem with these replicas of the partitions that may change, padded with -1."""
        return self._replace(table=self.table.after(sets))

    def row(self, number: int) -> ProblemRow:
        """Return a row of the table."""
        table = self.table
        return ProblemRow(
            *table.name(number), table.list_of(number), int(table.factor[number]), int(table.bytes[number])
        )

    @property
    def rows(self) -> tuple[ProblemRow, ...]:
        """Partitions that may change."""
        return tuple(self.row(number) for number in range(self.table.size) if self.table.free[number])

    @property
    def fixed(self) -> tuple[ProblemRow, ...]:
        """All other partitions."""
        return tuple(self.row(number) for number in range(self.table.size) if not self.table.free[number])


def problem_of(
    snapshot: Snapshot,
    goal: Goal,
    topics: Callable[[str], bool] = lambda _: True,
    moving: Collection[TOPIC_PARTITION] = (),
) -> Problem:
    """Build the problem of a snapshot in memory.

    `moving` partitions are left out. Raises like `problem_from`.
    """
    try:
        from planner.proposals.problem.table import columns_of, rows_of_topics
    except ModuleNotFoundError as error:
        raise MissingSolverError from error
    columns = columns_of(snapshot, moving)
    return problem_from(snapshot.brokers, columns, goal, rows_of_topics(columns, topics))


def problem_from(cluster: Mapping[int, Broker], columns: "Columns", goal: Goal, chosen: "Flags") -> Problem:
    """Build the problem of a cluster. `chosen` tells which rows may change.

    Partitions that are moving already, or of which no replica in sync is online, are left out. Raises
    ProposalError if the goal contradicts the cluster, and MissingSolverError if numpy is not installed.
    """
    try:
        from planner.proposals.problem.layout import layout_of, leaving_offline
        from planner.proposals.problem.table import OFFLINE, lost, table_of
    except ModuleNotFoundError as error:
        raise MissingSolverError from error
    _check_brokers(cluster, goal)
    factors, reasons = wanted_factors(columns, goal.factor, goal.factors, chosen)
    if reasons:
        raise ProposalError(reasons)
    table, left_out = table_of(cluster, columns, factors, chosen)
    held = dict(zip(table.brokers.tolist(), table.sizes(table.factor >= 0).tolist(), strict=True))
    nodes = tuple(_node(cluster[broker], goal, held[broker]) for broker in sorted(cluster))
    if (table.state == OFFLINE).any() and not goal.changes_order_only:
        leaving = (
            lost(table, goal.receive_nothing)
            if goal.repair
            else leaving_offline(layout_of(nodes, table), table)
        )
        table = table._replace(leaves=leaving)
    problem = Problem(
        nodes, table, goal, tuple(LeftOut(*table.name(row), reason) for row, reason in left_out)
    )
    return _with_places(problem)


def _node(broker: Broker, goal: Goal, held: int) -> Node:
    rack = broker.rack if goal.rack_aware and broker.rack is not None else own_rack(broker.id)
    usable = broker.id not in goal.drain and not _is_lost(broker, goal)
    room = _room(broker, goal, held)
    open_ = broker.live and not _is_closed(broker, goal) and (room is None or room > 0)
    receives = usable and open_ and broker.id not in goal.receive_nothing
    weight, disk = goal.weights.get(broker.id, ONE), _disk(broker, held)
    return Node(broker.id, rack, usable, receives, weight, room, broker.live, disk)


def _is_lost(broker: Broker, goal: Goal) -> bool:
    """Whether all replicas of the broker are to be replaced. One that is to keep them is waited for."""
    return goal.repair and not broker.live and broker.id not in goal.receive_nothing


def _is_closed(broker: Broker, goal: Goal) -> bool:
    """Whether the broker is to get nothing. To add it ends its exclusion, and the cordon that comes of it."""
    return (broker.excluded or broker.is_cordoned) and broker.id not in goal.add


def _disk(broker: Broker, held: int) -> Disk | None:
    """Return how full the disks are: as the broker says, else by its replicas, which have `held` bytes."""
    dirs = list((broker.dirs or {}).values())
    sized = [(each.total, each.usable) for each in dirs if each.total is not None and each.usable is not None]
    if dirs and len(sized) == len(dirs):
        return Disk(sum(total for total, _ in sized), sum(total - usable for total, usable in sized), held)
    return Disk(broker.disk_bytes, held, held) if broker.disk_bytes else None


def _room(broker: Broker, goal: Goal, held: int) -> int | None:
    """Return the bytes that a broker can receive, `held` being those of its replicas; None if not known.

    The free space of its directories tells more than that: other files are on these volumes too.
    """
    dirs = list((broker.dirs or {}).values())
    if not broker.is_cordoned:
        dirs = [each for each in dirs if not each.cordoned]
    sized = [(each.total, each.usable) for each in dirs if each.total is not None and each.usable is not None]
    if dirs and len(sized) == len(dirs):
        return sum(max(0, usable - ceil(total * goal.headroom)) for total, usable in sized)
    disk = broker.disk_bytes
    return None if disk is None else max(0, floor(disk * (1 - goal.headroom)) - held)


def _check_brokers(cluster: Mapping[int, Broker], goal: Goal) -> None:
    reasons = [
        f"broker {broker} is not in the cluster"
        for broker in sorted(
            {*goal.drain, *goal.demote, *goal.relieve, *goal.add, *goal.receive_nothing, *goal.weights}
            - cluster.keys()
        )
    ]
    reasons += [
        f"broker {broker} is cordoned (cordoned.log.dirs): end that first, with `reassignd placement --allow"
        f" {broker}` or kafka-configs.sh"
        for broker in sorted(goal.add & cluster.keys())
        if cluster[broker].is_cordoned and not cluster[broker].excluded
    ]
    without = sorted(broker.id for broker in cluster.values() if broker.rack is None)
    if goal.rack_aware and 0 < len(without) < len(cluster):
        reasons.append(
            f"brokers {some(without)} have no rack but others do; set broker.rack or use --disable-rack-aware"
        )
    if reasons:
        raise ProposalError(reasons)


def _with_places(problem: Problem) -> Problem:
    """Return the problem without partitions that a repair finds no place for. Raises ProposalError otherwise.

    Every partition needs as many brokers as replicas: those that keep one, and those that may get one.
    """
    import numpy as np

    table = problem.table
    usable = {node.id for node in problem.usable}
    receivers = {node.id for node in problem.usable if node.receives}
    keepers = np.isin(table.brokers, sorted(usable - receivers))
    stays = (table.replicas >= 0) & ~table.leaves
    keep = (keepers[table.replicas] & stays).sum(axis=1)
    # A replica that leaves does not come back to its broker.
    returning = table.leaves & np.isin(table.brokers, sorted(receivers))[table.replicas]
    lacking = table.free & (keep + len(receivers) - returning.sum(axis=1) < table.factor)
    found: dict[str, list[LeftOut]] = {}
    for number in np.flatnonzero(lacking).tolist():
        kept, gone = (
            table.brokers[table.replicas[number][which[number]]].tolist() for which in (stays, returning)
        )
        allowed = (receivers - set(gone)) | (usable & set(kept))
        names = ", ".join(map(str, sorted(allowed))) or "none"
        cause = f"{table.factor[number]} replicas, but the brokers that can hold %s are: {names}"
        found.setdefault(cause, []).append(LeftOut(*table.name(number), f"no place for {cause % 'them'}"))
    if problem.goal.repair:
        left_out = (*problem.left_out, *chain.from_iterable(found.values()))
        return problem._replace(table=table._replace(free=table.free & ~lacking), left_out=left_out)
    if found:
        raise ProposalError([_of_all(cause, rows) for cause, rows in found.items()])
    return problem


def _of_all(cause: str, partitions: Sequence[LeftOut]) -> str:
    """Return one reason for all partitions with the same cause."""
    first = f"{partitions[0].topic}-{partitions[0].partition}"
    if len(partitions) == 1:
        return f"{first} needs {cause % 'it'}"
    more = counted(len(partitions) - 1, "more partition")
    return f"{first} and {more} need {cause % 'them'}"
