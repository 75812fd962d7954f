"""The least number of moves as a minimum-cost flow.

Partitions with the same leader, the same set of replicas and the same replication factor form a class. A unit of flow is a
replica: source → class → rack of the class → broker → sink. The rack rule bounds the second arcs, even counts the last ones,
and a replica on a new broker costs on the third ones. The costs of the criteria are graded, so that the cheapest flow is the
lexicographic optimum: rack rule, deviation of counts, moves, racks filled on the way, highest counts, leaders that move.

Grading: two flows differ by simple cycles of the residual network. A simple cycle passes each broker once, so it changes a
criterion that is counted on arcs to brokers, or between classes and racks, by at most two for each broker, and the sink's
arcs by two. A unit of a criterion therefore costs more than all lower criteria together can change on one cycle.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from common.grouping import grouped
from planner.proposals.counts import CountRange
from planner.proposals.goal import Problem, ProposalError, Row, replica_counts
from planner.proposals.network import Network
from planner.proposals.rack_rule import RackRule

UNBOUNDED = 2**40


class Class(NamedTuple):
    """Partitions that are alike for the flow."""

    leader: int
    replicas: frozenset[int]
    factor: int
    rows: tuple[Row, ...]


class Costs(NamedTuple):
    """Cost of one unit of each criterion, the most important last."""

    leader: int
    level: int
    """For each step of the square of a broker's count."""
    lack: int
    move: int
    deviation: int
    rack: int


class Placement(NamedTuple):
    """How many partitions of a class get a replica on each broker."""

    partitions: Class
    replicas: Mapping[int, int]


def classes_of(rows: Sequence[Row]) -> list[Class]:
    """Group rows by leader, set of replicas and wanted factor, in order of their first row."""
    groups = grouped(((row.replicas[0], frozenset(row.replicas), row.factor), row) for row in rows)
    return [Class(*key, tuple(group)) for key, group in groups.items()]


def place(problem: Problem, rule: RackRule, ranges: Mapping[int, CountRange]) -> list[Placement]:
    """Solve the flow. `ranges` are the wanted counts, out-of-scope partitions included; empty if counts do not matter."""
    return _ClassFlow(problem, rule, ranges).solve()


class _ClassFlow:
    """Builds the network of a problem and reads the placements from its flow."""

    def __init__(self, problem: Problem, rule: RackRule, ranges: Mapping[int, CountRange]) -> None:
        self._problem, self._rule, self._ranges = problem, rule, ranges
        self._classes = classes_of(problem.rows)
        self._fixed = replica_counts(problem.fixed)
        self._by_rack = grouped((node.rack, node) for node in problem.usable)
        self._racks = sorted(self._by_rack)
        self._lowest, self._highest = self._span()
        self._costs = self._graded()
        self._network = Network()
        self._source, self._sink = self._network.node(), self._network.node()
        self._brokers = {node.id: self._network.node() for node in problem.usable}

    def solve(self) -> list[Placement]:
        arcs = [self._add_class(group) for group in self._classes]
        for broker in self._brokers:
            self._add_sink(broker)
        total = sum(len(group.rows) * group.factor for group in self._classes)
        flow = self._network.cheapest_flow(self._source, self._sink, total)
        if flow is None:
            raise ProposalError(["the replicas do not fit on the brokers that may hold them"])
        return [
            Placement(group, {broker: count for broker, arc in mine.items() if (count := flow(arc))})
            for group, mine in zip(self._classes, arcs, strict=True)
        ]

    # ---- costs ------------------------------------------------------------------------------------------------

    def _span(self) -> tuple[int, int]:
        """Return the counts between which levels are told apart: the lowest one now, and one above all wanted counts."""
        kept = replica_counts(self._problem.rows)
        totals = [kept[node.id] + self._fixed[node.id] for node in self._problem.usable]
        incoming = sum(row.factor for row in self._problem.rows)
        even = (incoming + sum(self._fixed.values())) // max(1, len(totals)) + 1
        return min(totals, default=0), max(
            [*totals, even, *(wanted.most for wanted in self._ranges.values())]
        )

    def _graded(self) -> Costs:
        per_cycle = 2 * (len(self._problem.usable) + 1)
        leader = 1
        level = leader * per_cycle + 1
        lack = level * 2 * (self._highest - self._lowest + 2) + level
        move = lack * (per_cycle + 1)
        deviation = move * (per_cycle + 1)
        rack = deviation * 3
        return Costs(leader, level, lack, move, deviation, rack)

    # ---- arcs -------------------------------------------------------------------------------------------------

    def _add_class(self, group: Class) -> dict[int, int]:
        """Add the arcs of a class. Return the arc to each broker."""
        count = len(group.rows)
        start = self._network.node()
        self._network.arc(self._source, start, count * group.factor, 0)
        arcs = {}
        for rack in self._racks:
            nodes = [node for node in self._by_rack[rack] if node.receives or node.id in group.replicas]
            if nodes:
                middle = self._network.node()
                for capacity, cost in self._rack_steps(group, rack):
                    self._network.arc(start, middle, capacity * count, cost)
                for node in nodes:
                    cost = self._broker_cost(group, node.id)
                    arcs[node.id] = self._network.arc(middle, self._brokers[node.id], count, cost)
        return arcs

    def _rack_steps(self, group: Class, rack: str) -> Iterator[tuple[int, int]]:
        """Yield (replicas, cost) of a rack: rewarded up to the least, free up to the most, then penalized.

        Without a repair the bounds give way to what the partition holds already: nothing moves only for its rack. A replica that
        moves for another reason still prefers a rack that lacks one.
        """
        bounds = self._rule.bounds(group.factor)
        least, most = bounds.least.get(rack, 0), bounds.most.get(rack, 0)
        held = sum(node.id in group.replicas for node in self._by_rack[rack])
        firm, room = least, most
        if not self._problem.goal.repair_racks:
            firm, room = min(least, held), max(most, held)
        costs = self._costs
        yield firm, -costs.rack
        yield least - firm, -costs.lack
        yield min(room, most) - least, 0
        yield room - most, 0
        yield group.factor, costs.rack

    def _broker_cost(self, group: Class, broker: int) -> int:
        if broker not in group.replicas:
            return self._costs.move
        return -self._costs.leader if broker == group.leader else 0

    def _add_sink(self, broker: int) -> None:
        """Add arcs of growing cost, so that counts in the range are preferred, and lower counts to higher ones."""
        arriving, sink, costs = self._brokers[broker], self._sink, self._costs
        wanted = self._ranges.get(broker, CountRange(0, UNBOUNDED))
        first = self._fixed[broker]
        for count in range(first, self._highest + 1):
            penalty = costs.level * 2 * max(0, count - self._lowest)
            if count < wanted.least:
                penalty -= costs.deviation
            elif count >= wanted.most:
                penalty += costs.deviation
            self._network.arc(arriving, sink, 1, penalty)
        over = costs.deviation if self._highest >= wanted.most else 0
        top = costs.level * 2 * (self._highest - self._lowest + 1)
        self._network.arc(arriving, sink, UNBOUNDED, top + over)
