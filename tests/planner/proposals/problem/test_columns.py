from planner.proposals.problem.columns import columns_of
from planner.snapshot import Snapshot
from tests.planner.proposals.builders import cluster, failing


def test_rows_are_in_order_of_topic_and_partition() -> None:
    snapshot = cluster("--", (1,), (2, 1))
    backwards = Snapshot(snapshot.brokers, dict(reversed(snapshot.partitions.items())))
    columns = columns_of(backwards, ())
    assert [columns.name(row) for row in range(2)] == [("foo", 0), ("foo", 1)]
    assert (columns.ids.tolist(), columns.lengths.tolist()) == ([1, 2, 1], [1, 2])


def test_replicas_that_are_not_in_the_isr_are_marked() -> None:
    columns = columns_of(failing(cluster("---", (1, 2), (2, 3, 1)), behind={1: {3}}), ())
    assert columns.in_isr.tolist() == [True, True, True, False, True]


def test_partitions_that_are_being_reassigned_are_marked() -> None:
    assert columns_of(cluster("--", (1,), (2,)), {("foo", 1)}).moving.tolist() == [False, True]


def test_a_cluster_can_be_empty() -> None:
    assert [len(column) for column in columns_of(cluster("--"), ())] == [0] * 9
