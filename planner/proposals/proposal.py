"""A proposed plan and what it does to each broker."""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from controller.scheduling.steps import Replicas
from planner.proposals.class_flow import place
from planner.proposals.counts import CountRange, count_ranges
from planner.proposals.goal import LeftOut, Problem, ProposalError, Row, own_rack
from planner.proposals.leaders import even_out
from planner.proposals.rack_rule import RackRule
from planner.proposals.rows import deal, ordered

Lists = Mapping[Row, Replicas]
"""New replica list of each row of a problem."""

Ranges = Mapping[int, CountRange]


class Load(NamedTuple):
    """What a broker holds."""

    replicas: int
    leaders: int
    bytes: int


class BrokerChange(NamedTuple):
    """A broker before and after the plan, with the replicas that it gains and loses."""

    broker: int
    rack: str | None
    before: Load
    after: Load
    gains: int
    losses: int
    wanted: CountRange | None
    """Range of replicas for even counts; None if the goal does not ask for them."""


class Proposal(NamedTuple):
    """A plan. The solver proves that no plan for the same goal moves fewer replicas."""

    changes: Lists
    """New lists of the partitions that change, in order of topic and partition."""
    moves: int
    bytes: int
    leader_changes: int
    rack_excess_before: int
    rack_excess_after: int
    brokers: tuple[BrokerChange, ...]
    left_out: tuple[LeftOut, ...]
    widened: int
    """Replicas by which a limit on moves or bytes widened the ranges of counts; 0 without an effect."""
    moves_bound: int = 0
    """No plan for the same goal moves fewer replicas than this."""
    bytes_bound: int = 0
    """No plan for the same goal copies fewer bytes than this."""
    notes: tuple[str, ...] = ()
    """One line each: warnings, and what was given up for what."""

    @property
    def fewest_moves_proven(self) -> bool:
        """Whether no plan for the same goal moves fewer replicas."""
        return self.moves == self.moves_bound

    @property
    def uneven(self) -> tuple[BrokerChange, ...]:
        """Brokers that stay outside of their range, because the rack rule or the budget leave no other place."""
        return tuple(
            each
            for each in self.brokers
            if each.wanted is not None and not each.wanted.least <= each.after.replicas <= each.wanted.most
        )


def propose(problem: Problem) -> Proposal:
    """Find a plan with the fewest moves. Raises ProposalError, MissingSolverError."""
    rule = RackRule(problem.nodes)
    goal = problem.goal
    ranges = count_ranges(problem, rule) if goal.even_counts else {}
    lists, widened = _within_budget(problem, rule, ranges)
    if goal.even_leaders:
        receivers = frozenset(node.id for node in problem.nodes if node.receives)
        lists = even_out(lists, _fixed_leaders(problem), receivers)
    # Before the plan, drained brokers still count as places.
    present = RackRule(node._replace(usable=True) for node in problem.nodes)
    changes = {row: lists[row] for row in problem.rows if lists[row] != row.replicas}
    new = {row: len(set(replicas) - set(row.replicas)) for row, replicas in changes.items()}
    return Proposal(
        changes,
        sum(new.values()),
        sum(row.bytes * count for row, count in new.items()),
        sum(replicas[0] != row.replicas[0] for row, replicas in changes.items()),
        present.total_excess(row.replicas for row in problem.rows),
        rule.total_excess(lists.values()),
        _brokers(problem, changes, ranges),
        problem.left_out,
        widened,
        sum(new.values()),
    )


def _within_budget(problem: Problem, rule: RackRule, ranges: Ranges) -> tuple[Lists, int]:
    """Return the lists, and by how much the ranges were widened until the moves fit the budget.

    What drained brokers, racks and replication factors require is not optional. Even counts are: the ranges are widened by the
    least number for which the budget suffices.
    """
    lists, budget = _solved(problem, rule, ranges), problem.goal.max_moves
    if budget is None or _moves(lists) <= budget:
        return lists, 0
    required = _solved(problem, rule, {})
    if _moves(required) > budget:
        raise ProposalError(
            [f"the goal needs {_moves(required):,} moves without any balancing, but {budget:,} are allowed"]
        )
    low, high = 0, 1
    while _moves(lists := _widened(problem, rule, ranges, high)) > budget:
        low, high = high, 2 * high
    best = lists
    while high - low > 1:
        middle = (low + high) // 2
        lists = _widened(problem, rule, ranges, middle)
        if _moves(lists) <= budget:
            high, best = middle, lists
        else:
            low = middle
    return best, high


def _widened(problem: Problem, rule: RackRule, ranges: Ranges, by: int) -> Lists:
    return _solved(problem, rule, {broker: wanted.widened(by) for broker, wanted in ranges.items()})


def _solved(problem: Problem, rule: RackRule, ranges: Ranges) -> Lists:
    if problem.goal.changes_order_only:
        return {row: row.replicas for row in problem.rows}
    sets = list(deal(place(problem, rule, ranges), rule.rack_of))
    return ordered(sets, _fixed_leaders(problem))


def _moves(lists: Lists) -> int:
    return sum(len(set(replicas) - set(row.replicas)) for row, replicas in lists.items())


def _fixed_leaders(problem: Problem) -> Counter[int]:
    return Counter(row.replicas[0] for row in problem.fixed)


def _brokers(problem: Problem, changes: Lists, ranges: Ranges) -> tuple[BrokerChange, ...]:
    before = {row: row.replicas for row in (*problem.rows, *problem.fixed)}
    after = {**before, **changes}
    old, new = _loads(before), _loads(after)
    gains, losses = Counter[int](), Counter[int]()
    for row, replicas in changes.items():
        gains.update(set(replicas) - set(row.replicas))
        losses.update(set(row.replicas) - set(replicas))
    nothing = Load(0, 0, 0)
    return tuple(
        BrokerChange(
            node.id,
            None if node.rack == own_rack(node.id) else node.rack,
            old.get(node.id, nothing),
            new.get(node.id, nothing),
            gains[node.id],
            losses[node.id],
            ranges.get(node.id),
        )
        for node in problem.nodes
    )


def _loads(lists: Lists) -> dict[int, Load]:
    replicas, leaders, sizes = Counter[int](), Counter[int](), Counter[int]()
    for row, brokers in lists.items():
        leaders[brokers[0]] += 1
        for broker in brokers:
            replicas[broker] += 1
            sizes[broker] += row.bytes
    return {broker: Load(replicas[broker], leaders[broker], sizes[broker]) for broker in replicas}
