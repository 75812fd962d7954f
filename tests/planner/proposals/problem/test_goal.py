import pytest

from planner.model.snapshot import Snapshot
from planner.proposals.problem.goal import Goal, ProposalError, problem_of
from planner.proposals.problem.nodes import ONE, Node, own_rack
from tests.planner.proposals.builders import cluster


def refused(snapshot: Snapshot, goal: Goal) -> str:
    with pytest.raises(ProposalError) as error:
        problem_of(snapshot, goal)
    return str(error.value)


def test_partitions_of_other_topics_are_fixed() -> None:
    problem = problem_of(cluster("---", (1, 2), (2, 3)), Goal(even_counts=True), lambda topic: topic == "bar")
    assert (problem.rows, len(problem.fixed)) == ((), 2)


def test_a_moving_partition_is_left_out() -> None:
    problem = problem_of(cluster("---", (1, 2), (2, 3)), Goal(), moving={("foo", 1)})
    assert [row.partition for row in problem.rows] == [0]
    assert problem.left_out == (("foo", 1, "being reassigned"),)


def test_a_partition_without_a_live_replica_is_left_out() -> None:
    snapshot = cluster("---", (1,), (2, 3))
    snapshot.brokers[1] = snapshot.brokers[1]._replace(live=False)
    assert problem_of(snapshot, Goal()).left_out == (("foo", 0, "all replicas are offline (1)"),)


def test_an_unknown_broker_is_refused() -> None:
    assert refused(cluster("--", (1, 2)), Goal(drain=frozenset({7}))) == "broker 7 is not in the cluster"


def test_racks_on_some_brokers_only_are_refused() -> None:
    assert refused(cluster("ab-", (1, 2)), Goal()) == (
        "brokers 3 have no rack but others do; set broker.rack or use --disable-rack-aware"
    )


def test_too_few_brokers_are_refused_by_partition() -> None:
    reason = "foo-0 needs 2 replicas, but the brokers that can hold it are: 2"
    assert refused(cluster("--", (1, 2)), Goal(drain=frozenset({1}))) == reason


def test_partitions_with_the_same_cause_have_one_reason() -> None:
    reason = "foo-0 and 2 more partitions need 2 replicas, but the brokers that can hold them are: 2"
    assert refused(cluster("--", (1, 2), (2, 1), (1, 2)), Goal(drain=frozenset({1}))) == reason


def test_only_an_order_changes_if_leaders_alone_are_evened_out() -> None:
    assert Goal(even_leaders=True).changes_order_only
    assert not Goal(even_leaders=True, even_counts=True).changes_order_only


def test_each_broker_without_a_rack_is_a_rack_of_its_own() -> None:
    assert own_rack(1) != own_rack(2)


def test_a_broker_is_live_and_of_weight_1_if_nothing_else_is_known() -> None:
    node = Node(1, own_rack(1), True, True)
    assert (node.weight, node.room, node.live) == (ONE, None, True)
