from planner.model.snapshot import Snapshot
from planner.proposals.problem.table import columns_of
from tests.planner.proposals.builders import cluster, failing, table_of


def test_partitions_are_in_order() -> None:
    snapshot = cluster("--", (1,), (2,))
    backwards = Snapshot(snapshot.brokers, dict(reversed(snapshot.partitions.items())))
    table, _ = table_of(backwards, None, lambda _: True, ())
    assert [table.name(row) for row in range(table.size)] == [("foo", 0), ("foo", 1)]


def test_a_broker_that_is_not_in_the_cluster_has_a_position() -> None:
    table, _ = table_of(cluster("--", (2, 9), (1,)), None, lambda _: True, ())
    assert table.brokers.tolist() == [1, 2, 9]
    assert [table.list_of(row) for row in range(2)] == [(2, 9), (1,)]


def test_counts_and_bytes_are_summed_by_broker() -> None:
    table, _ = table_of(cluster("--", (1, 2), (1,), sizes={0: 5, 1: 7}), None, lambda _: True, ())
    assert table.counts(table.free).tolist() == [2, 1]
    assert table.sizes(table.free).tolist() == [12, 5]


def test_a_factor_is_wanted_of_chosen_topics_only() -> None:
    snapshot = cluster("--", (1, 2), (1,))
    assert table_of(snapshot, 2, lambda _: True, ())[0].factor.tolist() == [2, 2]
    table, left_out = table_of(snapshot, 2, lambda _: False, ())
    assert (table.factor.tolist(), left_out) == ([2, 1], [])
    assert not table.free.any()


def test_partitions_that_cannot_change_now_are_named() -> None:
    snapshot = cluster("--", (1,), (2,))
    snapshot.brokers[2] = snapshot.brokers[2]._replace(live=False)
    table, left_out = table_of(snapshot, None, lambda _: True, {("foo", 0)})
    assert left_out == [(0, "being reassigned"), (1, "all replicas are offline (2)")]
    assert not table.free.any()


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
    columns = columns_of(cluster("--"), ())
    assert columns.rates is None
    assert [len(column) for column in columns if column is not None] == [0] * 12
