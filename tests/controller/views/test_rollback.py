"""What a rollback would do."""

from controller.messages.job_events import AlterRow, AlterTopic, Queue, RollBackJob
from controller.views.rollback import RollbackRow, rollback_rows
from tests.builders import InMemoryController, key, partition


def moved(**limits: int) -> InMemoryController:
    """Three partitions that job 1 moves from brokers 1 to 3 to brokers 4 to 6."""
    names = ("foo-0", "foo-1", "foo-2")
    made = InMemoryController().with_partitions(*(partition(name, [1, 2, 3]) for name in names))
    made.with_limits(**limits).alter({name: [4, 5, 6] for name in names})
    return made


def rows(made: InMemoryController, job: int = 1) -> dict[str, RollbackRow]:
    found = rollback_rows(made.state, made.state.jobs[job])
    return {str(row.key): row for row in found if row is not None}


def test_finished_and_ongoing_partitions_move_back() -> None:
    made = moved(partitions=1)
    made.catch_up()
    assert {row.replicas for row in rows(made).values()} == {(1, 2, 3)}
    assert set(rows(made)) == {"foo-0", "foo-1", "foo-2"}


def test_cancelled_partitions_stay_where_they_are() -> None:
    made = moved()
    made.alter({"foo-0": None})
    made.settle()
    assert rows(made)["foo-0"] == RollbackRow(key("foo-0"))


def test_partitions_of_a_later_job_are_skipped() -> None:
    made = moved()
    made.alter({"foo-0": [1, 5, 6]})
    assert rows(made)["foo-0"].reason == "taken over by job 2"


def test_queued_entries_are_withdrawn() -> None:
    made = moved(per_partition=1)
    made.catch_up()
    made.do(Queue([AlterTopic("foo", [AlterRow(0, (1, 2, 5))])]))
    assert rows(made, 2) == {"foo-0": RollbackRow(key("foo-0"), withdrawn=True)}


def test_the_preview_has_the_rows_of_the_rollback() -> None:
    made = moved(partitions=1)
    made.catch_up()
    made.alter({"foo-1": [1, 5, 6], "foo-2": None})
    expected = rows(made)
    reply = made.do(RollBackJob(1)).reply
    assert dict(reply.skipped) == {row.key: row.reason for row in expected.values() if row.reason}
    moving = {str(each) for each, wanted in made.state.reassignments.items() if wanted.job == reply.job}
    assert moving == {name for name, row in expected.items() if row.replicas}
