from collections.abc import Mapping
from random import Random

import pytest

from planner.model.snapshot import Snapshot
from planner.proposals.problem.goal import problem_of
from planner.proposals.result import Proposal
from planner.proposing import propose, read_goal_options
from tests.planner.proposals.builders import cluster, failing, loaded


def led(snapshot: Snapshot, by: str = "leaders-in") -> Proposal:
    options = {"by": by, "tolerance": "10%"}
    return propose(problem_of(snapshot, read_goal_options(["balance"], options).goal))


HOT = loaded(cluster("--", (1, 2), (1, 2), (1, 2), (2, 1)), 60, 30, 10, 20)


def test_leaders_change_so_that_producers_are_spread_and_nothing_moves() -> None:
    proposal = led(HOT)
    assert (proposal.moves, proposal.leader_changes) == (0, 2)
    assert [each.after for each in proposal.loads[0].brokers] == [60, 60]


def test_what_a_broker_sends_is_evened_out() -> None:
    assert led(HOT, "out").loads[0].highest[1] <= 1.1


def test_a_replica_that_is_not_in_sync_does_not_take_over() -> None:
    behind = failing(HOT, behind={each: {2} for each in range(3)})
    proposal = led(behind)
    assert proposal.leader_changes == 0
    assert proposal.loads[0].brokers[0].reason is not None


def test_leaders_stay_where_no_broker_may_take_over() -> None:
    goal = read_goal_options(["balance"], {"by": "out", "exclude_brokers": "1,2"}).goal
    assert not propose(problem_of(HOT, goal)).changes


LED_BY_1 = loaded(cluster("--", (1, 2), (2, 1)), 60, 60)
LED_BY_1.partitions["foo", 1] = LED_BY_1.partitions["foo", 1]._replace(leader=1)


def test_a_preferred_leader_that_does_not_lead_is_elected() -> None:
    proposal = led(LED_BY_1)
    assert [(key.partition, after) for key, after in proposal.changes.items()] == [(1, (2, 1))]
    assert (proposal.elects, proposal.elections, proposal.leader_changes) == (True, 1, 0)
    assert [(each.before, each.after) for each in proposal.loads[0].brokers] == [(120, 60), (0, 60)]


def test_a_preferred_leader_that_is_not_in_sync_is_not_elected() -> None:
    proposal = led(failing(LED_BY_1, behind={1: {2}}))
    assert not proposal.changes
    assert [(each.before, each.after) for each in proposal.loads[0].brokers] == [(120, 120), (0, 0)]


def test_no_leader_is_elected_on_a_broker_that_gets_nothing() -> None:
    goal = read_goal_options(["balance"], {"by": "leaders-in", "exclude_brokers": "1,2"}).goal
    assert not propose(problem_of(LED_BY_1, goal)).changes


def test_leaders_that_change_are_elected() -> None:
    assert led(HOT).elects
    assert not led(HOT, "in").elects


def skewed(*hot: float) -> Snapshot:
    """Return a cluster of four brokers that has these hot partitions on two, and cold ones on all."""
    cold = [(1 + n % 4, 1 + (n + 1) % 4) for n in range(16)]
    sizes = dict(enumerate([3_000_000] * len(hot) + [150_000] * len(cold)))
    return loaded(cluster("----", *[(1, 2)] * len(hot), *cold, sizes=sizes), *hot, *[1_000] * len(cold))


BOTH: Mapping[str, object] = {"by": "in,leaders-in", "tolerance": "10%"}


def places(snapshot: Snapshot, **options: object) -> Proposal:
    return propose(problem_of(snapshot, read_goal_options(["balance"], {"at": "now", **options}).goal))


@pytest.mark.parametrize("seed", range(8))
def test_replicas_of_hot_partitions_are_placed_so_that_leaders_are_even(seed: int) -> None:
    hot = Random(seed).choices(range(18_000, 22_000), k=8)
    proposal = places(skewed(*hot), **BOTH)
    assert [row.reason for load in proposal.loads for row in load.brokers] == [None] * 8


def test_no_data_moves_for_leaders_that_stay_as_uneven() -> None:
    everywhere = [(1 + n, *({1, 2, 3, 4} - {1 + n})) for n in range(3)]
    pairs = [(1, 2), (1, 2), (1, 3), (1, 4), (2, 3), (3, 4)]
    sizes = dict(enumerate([3_000_000] * 3 + [150_000] * 6))
    snapshot = loaded(cluster("----", *everywhere, *pairs, sizes=sizes), *[20_000] * 3, *[3_000] * 6)
    assert places(snapshot, **BOTH).loads[1].highest[1] > 1.1
    assert places(snapshot, **BOTH).bytes == places(snapshot, by="in", tolerance="10%").bytes


def test_leaders_stay_uneven_where_the_budget_of_moves_ends() -> None:
    snapshot = skewed(*Random(0).choices(range(18_000, 22_000), k=8))
    least = places(snapshot, by="in", tolerance="10%").moves
    assert places(snapshot, **BOTH, max_moves=least).moves <= least
