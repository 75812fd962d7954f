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
