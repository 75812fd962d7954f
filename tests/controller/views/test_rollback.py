"""What a rollback would do."""

from controller.messages.job_events import AlterRow, AlterTopic, Queue, RollBackJob
from controller.views.rollback import RollbackRow, rollback_rows
from tests.builders import InMemoryController, key, partition


def moved(**limits: int) -> InMemoryController:
    """Three partitions that job 1 moves from brokers 1 to 3 to brokers 4 to 6."""
    names = ("foo-0", "foo-1", "foo-2")
    cluster = InMemoryController().with_partitions(*(partition(name, [1, 2, 3]) for name in names))
    cluster.with_limits(**limits).alter({name: [4, 5, 6] for name in names})
    return cluster


def rows(cluster: InMemoryController, job: int = 1) -> dict[str, RollbackRow]:
    found = rollback_rows(cluster.state, cluster.state.orders.jobs[job])
    return {str(row.key): row for row in found if row is not None}


def test_finished_and_ongoing_partitions_move_back() -> None:
    cluster = moved(partitions=1)
    cluster.catch_up()
    assert {row.replicas for row in rows(cluster).values()} == {(1, 2, 3)}
    assert set(rows(cluster)) == {"foo-0", "foo-1", "foo-2"}


def test_partitions_without_a_step_have_not_moved() -> None:
    cluster = moved(partitions=1)
    cluster.catch_up()
    assert {name: row.unmoved for name, row in rows(cluster).items()} == {
        "foo-0": False,
        "foo-1": False,
        "foo-2": True,
    }


def test_cancelled_partitions_stay_where_they_are() -> None:
    cluster = moved()
    cluster.alter({"foo-0": None})
    cluster.settle()
    assert rows(cluster)["foo-0"] == RollbackRow(key("foo-0"))


def test_partitions_of_a_later_job_are_skipped() -> None:
    cluster = moved()
    cluster.alter({"foo-0": [1, 5, 6]})
    assert rows(cluster)["foo-0"].reason == "taken over by job 2"


def test_queued_entries_are_withdrawn() -> None:
    cluster = moved(per_partition=1)
    cluster.catch_up()
    cluster.do(Queue([AlterTopic("foo", [AlterRow(0, (1, 2, 5))])]))
    assert rows(cluster, 2) == {"foo-0": RollbackRow(key("foo-0"), withdrawn=True)}


def test_a_list_with_a_broker_that_is_not_live_waits_where_its_steps_end() -> None:
    cluster = moved().settle()
    cluster.stop(1)
    row = rows(cluster)["foo-0"]
    assert (row.waits_for, 1 in row.reached) == ("offline: broker 1", False)


def test_a_list_with_a_broker_that_is_gone_is_skipped() -> None:
    cluster = moved().settle()
    cluster.unregister(1)
    assert rows(cluster)["foo-0"].reason.endswith("broker 1, but no such broker is registered.")


def test_the_preview_has_the_rows_of_the_rollback() -> None:
    cluster = moved(partitions=1)
    cluster.catch_up()
    cluster.alter({"foo-1": [1, 5, 6], "foo-2": None})
    expected = rows(cluster)
    reply = cluster.do(RollBackJob(1)).reply
    assert dict(reply.skipped) == {row.key: row.reason for row in expected.values() if row.reason}
    moving = {
        str(each) for each, wanted in cluster.state.orders.reassignments.items() if wanted.job == reply.job
    }
    assert moving == {name for name, row in expected.items() if row.replicas}
