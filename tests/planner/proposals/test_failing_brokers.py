"""Proposals for clusters in which brokers are offline or replicas are not in sync."""

from fractions import Fraction
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from planner.model.snapshot import Snapshot
from planner.proposals.problem.goal import Goal, Problem, ProblemRow, ProposalError, problem_of
from planner.proposals.solver import solve
from planner.proposing import propose
from tests.examples import examples
from tests.planner.proposals.builders import cluster, failing


class Failing(NamedTuple):
    """A goal for a cluster with offline brokers, and with replicas that are not in sync."""

    snapshot: Snapshot
    problem: Problem

    def in_sync(self, row: ProblemRow, replicas: tuple[int, ...]) -> int:
        """Count the replicas that are in sync after the plan: those that are now, and new ones."""
        isr = self.snapshot.partitions[row[:2]].isr
        return sum(each in isr or each not in row.replicas for each in replicas)

    def live(self, row: ProblemRow, replicas: tuple[int, ...]) -> int:
        return sum(self.snapshot.brokers[each].live for each in replicas)


def proposed(snapshot: Snapshot, goal: Goal) -> list[tuple[int, ...]]:
    """Return the list of each partition after the plan."""
    problem = problem_of(snapshot, goal)
    changes = propose(problem).changes
    return [changes.get(row, row.replicas) for row in problem.rows]


@st.composite
def failing_problems(draw: st.DrawFn) -> Failing:
    count = draw(st.integers(4, 8))
    racks = draw(st.sampled_from(["-", "ab", "abc"]))
    letters = "".join(racks[each % len(racks)] for each in range(count))
    ids = st.lists(st.integers(1, count), min_size=1, max_size=4, unique=True)
    lists = draw(st.lists(ids, min_size=1, max_size=12))
    offline = draw(st.frozensets(st.integers(1, count), min_size=1, max_size=2))
    behind = draw(st.dictionaries(st.integers(0, 11), st.frozensets(st.integers(1, count), max_size=2)))
    snapshot = failing(cluster(letters, *lists), offline, behind)
    goal = Goal(
        drain=draw(st.frozensets(st.integers(1, count), max_size=1)),
        factor=draw(st.sampled_from([None, 1, 2, 3])),
        even_counts=draw(st.booleans()),
        repair_racks=draw(st.booleans()),
        even_leaders=draw(st.booleans()),
        by=draw(st.sampled_from(["replicas", "bytes", "both"])),
        spread=draw(st.sampled_from(["cluster", "topic"])),
        tolerance=draw(st.sampled_from([Fraction(0), Fraction(1, 10)])),
    )
    try:
        return Failing(snapshot, problem_of(snapshot, goal))
    except ProposalError:
        return draw(failing_problems())


@given(failing_problems(), st.sampled_from([solve.EXACT_ARCS, -1]))
@settings(max_examples=examples(150), deadline=None)
def test_no_partition_loses_a_live_replica_that_its_factor_leaves_it(each: Failing, exact_arcs: int) -> None:
    before, solve.EXACT_ARCS = solve.EXACT_ARCS, exact_arcs
    try:
        changes = propose(each.problem).changes
    finally:
        solve.EXACT_ARCS = before
    for row, replicas in changes.items():
        assert each.live(row, replicas) >= min(each.live(row, row.replicas), len(replicas))


@given(failing_problems())
@settings(max_examples=examples(150), deadline=None)
def test_a_replica_not_in_sync_becomes_leader_only_without_one_that_is(each: Failing) -> None:
    for row, replicas in propose(each.problem).changes.items():
        leads = each.in_sync(row, replicas[:1])
        assert leads or replicas[0] == row.replicas[0] or not each.in_sync(row, replicas)


@given(failing_problems())
@settings(max_examples=examples(150), deadline=None)
def test_the_loss_of_replicas_in_sync_is_counted(each: Failing) -> None:
    proposal = propose(each.problem)
    losing = [
        row
        for row, replicas in proposal.changes.items()
        if each.in_sync(row, replicas) < each.in_sync(row, row.replicas)
    ]
    assert proposal.in_sync_loss.partitions == len(losing)
    assert not proposal.in_sync_loss.keeping_others or losing


def test_a_lower_factor_drops_what_is_offline_then_what_is_behind() -> None:
    lists = [(1, 2, 3), (2, 3, 1), (3, 1, 2)]
    for state in (
        failing(cluster("----", *lists), {3}),
        failing(cluster("----", *lists), behind={each: {3} for each in range(3)}),
    ):
        assert all(set(each) == {1, 2} for each in proposed(state, Goal(factor=2)))
        assert not any(set(each) - {1, 2} for each in proposed(state, Goal(factor=1)))


def test_offline_replicas_are_dropped_before_the_rack_rule_is_obeyed_and_replicas_behind_after_it() -> None:
    lists = cluster("aab", (1, 2, 3))
    assert proposed(failing(lists, {3}), Goal(factor=2)) == [(1, 2)]
    assert set(proposed(failing(lists, behind={0: {3}}), Goal(factor=2))[0]) in ({1, 3}, {2, 3})


def test_a_drained_replica_is_replaced_rather_than_an_offline_one_kept_for_the_factor() -> None:
    state = failing(cluster("----", (1, 2, 3)), {3})
    assert proposed(state, Goal(drain=frozenset({1}), factor=2)) == [(2, 4)]
    assert proposed(state, Goal(drain=frozenset({1}))) == [(2, 3, 4)]


def test_a_rack_repair_and_even_counts_move_what_is_not_in_sync() -> None:
    for state in (failing(cluster("aab", (1, 2)), {1}), failing(cluster("aab", (1, 2)), behind={0: {1}})):
        assert proposed(state, Goal(repair_racks=True)) == [(2, 3)]
    lagging = failing(cluster("---", *[(1, 2)] * 4), behind={2: {1}, 3: {2}})
    moved = proposed(lagging, Goal(even_counts=True))
    assert [set(each) for each in moved] == [{1, 2}, {1, 2}, {2, 3}, {1, 3}]


def test_a_partition_whose_replicas_in_sync_are_offline_is_left_out() -> None:
    state = failing(cluster("----", (1, 2), (2, 3)), {1}, {0: {2}})
    state.partitions["foo", 0] = state.partitions["foo", 0]._replace(isr=(1,), leader=-1)
    problem = problem_of(state, Goal(drain=frozenset({2})))
    assert problem.left_out == (("foo", 0, "no replica in sync is online (offline: 1)"),)
    assert [row.partition for row in problem.rows] == [1]


def test_without_an_isr_the_replicas_of_live_brokers_are_in_sync() -> None:
    state = failing(cluster("---", (1, 2, 3)), {2})
    state.partitions["foo", 0] = state.partitions["foo", 0]._replace(isr=())
    assert proposed(state, Goal(factor=2)) == [(1, 3)]


def test_offline_brokers_give_replicas_first_but_only_if_some_have_to_move() -> None:
    lists = (1, 2), (2, 3), (3, 1)
    assert proposed(failing(cluster("---", *lists), {2}), Goal(even_counts=True, even_leaders=True)) == [
        *lists
    ]
    moved = proposed(failing(cluster("----", *lists), {2}), Goal(even_counts=True))
    assert sum(2 in each for each in moved) == 1
    assert sum(4 in each for each in moved) == 1


def test_a_broker_that_the_snapshot_does_not_list_is_shown_as_offline() -> None:
    shown = propose(problem_of(cluster("---", (1, 9)), Goal(factor=1))).brokers[-1]
    assert (shown.broker, shown.live, shown.before.replicas, shown.after.replicas) == (9, False, 1, 0)
