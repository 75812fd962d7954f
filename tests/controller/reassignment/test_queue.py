from collections.abc import Mapping, Sequence

from common.error_codes import ErrorCode
from controller.messages.events import DeleteTopics
from controller.messages.job_events import AlterRow, AlterTopic, Pause, Queue, RollBackJob
from controller.model.cluster import Ending
from controller.model.errors import Outcome
from controller.reassignment.orders import waiting_entries
from tests.builders import InMemoryController, key, outcomes, partition


def two(**limits: int) -> InMemoryController:
    return (
        InMemoryController()
        .with_partitions(partition("foo-0", [1, 2, 3]), partition("foo-1", [1, 2, 3]))
        .with_limits(**limits)
    )


def queue(
    controller: InMemoryController, rows: Mapping[str, Sequence[int]], append: bool = False
) -> dict[str, Outcome]:
    topics = [
        AlterTopic(key(name).topic, [AlterRow(key(name).partition, tuple(r))]) for name, r in rows.items()
    ]
    return outcomes(controller.do(Queue(topics, append)).reply)


def queued(controller: InMemoryController) -> list[str]:
    return sorted(str(name) for name in waiting_entries(controller.state))


def test_a_queued_plan_waits_for_running_jobs() -> None:
    controller = two(partitions=1)
    controller.alter({"foo-0": [4, 5, 6]})
    assert queue(controller, {"foo-1": [4, 5, 6]})["foo-1"].ok
    assert (controller.in_flight(), queued(controller)) == (["foo-0"], ["foo-1"])
    controller.catch_up()
    assert (controller.in_flight(), queued(controller)) == (["foo-1"], [])


def test_a_later_plan_precedes_queued_entries() -> None:
    controller = two(partitions=1).with_partitions(partition("foo-2", [1, 2, 3]))
    controller.alter({"foo-0": [4, 5, 6]})
    queue(controller, {"foo-1": [4, 5, 6]})
    controller.alter({"foo-2": [4, 5, 6]})
    controller.catch_up()
    assert controller.in_flight() == ["foo-2"]


def test_a_moving_partition_is_rolled_back_before_its_queued_entry_starts() -> None:
    controller = two()
    controller.alter({"foo-0": [4, 5, 6]})
    queue(controller, {"foo-0": [1, 2, 5]})
    assert sorted(controller.dropped("foo-0")) == [4, 5, 6]
    assert controller[("foo-0")].adding == (5,)
    assert controller.settle().replicas("foo-0") == (1, 2, 5)


def test_a_rollback_starts_before_queued_entries() -> None:
    controller = two(per_partition=1)
    controller.alter({"foo-0": [4, 5, 6]})
    for _ in range(2):
        controller.catch_up()
    queue(controller, {"foo-0": [6, 2, 3]})
    assert queued(controller) == ["foo-0"]
    assert controller.settle().replicas("foo-0") == (6, 2, 3)
    assert controller.state.orders.jobs[2].ended_ms


def test_another_queued_plan_is_refused_while_entries_wait() -> None:
    controller = two(partitions=1)
    controller.alter({"foo-0": [4, 5, 6]})
    queue(controller, {"foo-1": [4, 5, 6]})
    assert queue(controller, {"foo-1": [4, 5, 2]})["foo-1"].error is ErrorCode.REASSIGNMENT_IN_PROGRESS
    assert queue(controller, {"foo-1": [4, 5, 2]}, append=True)["foo-1"].ok


def test_an_invalid_row_does_not_affect_others() -> None:
    controller = two()
    answers = queue(controller, {"foo-0": [9], "foo-1": [4, 5, 6], "nope-0": [1]})
    assert [outcome.error for outcome in answers.values()] == [39, 0, 3]


def test_a_refused_rollback_queues_nothing() -> None:
    controller = two()
    controller.alter({"foo-0": [4, 5, 6]})
    controller.isr("foo-0", [1, 4])
    controller.stop(1)
    assert queue(controller, {"foo-0": [1, 2, 5]})["foo-0"].error is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert (queued(controller), controller.state.orders.open) == ([], {1: 1})


def test_the_queue_survives_a_restart() -> None:
    controller = two(per_partition=1, partitions=1)
    controller.alter({"foo-0": [4, 5, 6]})
    controller.catch_up()
    controller.catch_up()
    queue(controller, {"foo-0": [6, 2, 3], "foo-1": [4, 5, 6]})
    again = controller.restart().settle()
    assert (again.replicas("foo-0"), again.replicas("foo-1")) == ((6, 2, 3), (4, 5, 6))


def test_a_deleted_topic_leaves_the_queue() -> None:
    controller = two(partitions=1)
    controller.alter({"foo-0": [4, 5, 6]})
    queue(controller, {"foo-1": [4, 5, 6]})
    controller.do(DeleteTopics(["foo"]))
    controller.settle()
    assert (queued(controller), controller.state.cluster.topics) == ([], {})


def test_a_cancel_withdraws_the_queued_target() -> None:
    controller = two(per_partition=1)
    controller.alter({"foo-0": [4, 5, 6]})
    controller.catch_up()
    queue(controller, {"foo-0": [6, 2, 3]})
    assert controller.alter({"foo-0": None})["foo-0"].ok
    assert controller.settle().replicas("foo-0") == (1, 2, 3)
    assert controller.state.orders.jobs[2].ended_ms


def test_a_rollback_of_a_queued_job_withdraws_its_pending_entries() -> None:
    controller = two(per_partition=1)
    controller.alter({"foo-0": [4, 5, 6]})
    controller.catch_up()
    queue(controller, {"foo-0": [6, 2, 3]})
    controller.do(RollBackJob(2))
    assert controller.settle().replicas("foo-0") == (1, 2, 3)


def test_a_queued_plan_has_the_requested_priority_and_throttle() -> None:
    controller = two()
    rows = [AlterTopic("foo", [AlterRow(0, (4, 5, 6))])]
    reply = controller.do(Queue(rows, priority=3, throttle=1_000)).reply
    job = controller.state.orders.jobs[reply.job]
    assert (job.priority, job.throttle) == (3, 1_000)


def test_a_queued_plan_may_wait_until_its_job_is_resumed() -> None:
    controller = two()
    reply = controller.do(Queue([AlterTopic("foo", [AlterRow(0, (4, 5, 6))])], paused=True)).reply
    assert controller.settle().replicas("foo-0") == (1, 2, 3)
    controller.do(Pause(reply.job, paused=False))
    assert controller.settle().replicas("foo-0") == (4, 5, 6)


def test_an_appended_entry_replaces_an_earlier_one() -> None:
    controller = two(per_partition=1)
    controller.alter({"foo-0": [4, 5, 6]})
    for _ in range(2):
        controller.catch_up()
    queue(controller, {"foo-0": [6, 2, 3]})
    queue(controller, {"foo-0": [5, 2, 3]}, append=True)
    assert controller.state.orders.jobs[2].ended_ms
    assert controller.settle().replicas("foo-0") == (5, 2, 3)


def test_a_later_order_replaces_the_queued_target() -> None:
    controller = two(per_partition=1)
    controller.alter({"foo-0": [4, 5, 6]})
    controller.catch_up()
    queue(controller, {"foo-0": [6, 2, 3]})
    controller.alter({"foo-0": [5, 2, 3]})
    row = controller.state.orders.finished[2][key("foo-0")]
    assert (row.ending, row.taken_by, row.target) == (Ending.TAKEN, 3, (6, 2, 3))
    assert controller.settle().replicas("foo-0") == (5, 2, 3)


def test_an_order_to_the_original_replaces_the_queued_target() -> None:
    controller = two(per_partition=1)
    controller.alter({"foo-0": [4, 5, 6]})
    controller.catch_up()
    queue(controller, {"foo-0": [6, 2, 3]})
    controller.alter({"foo-0": [1, 2, 3]})
    assert controller.state.orders.finished[2][key("foo-0")].taken_by == 3
    assert controller.settle().replicas("foo-0") == (1, 2, 3)


def test_a_refused_order_keeps_the_queued_target() -> None:
    controller = two(per_partition=1)
    controller.alter({"foo-0": [4, 5, 6]})
    controller.catch_up()
    queue(controller, {"foo-0": [6, 2, 3]})
    assert controller.alter({"foo-0": [9]})["foo-0"].error is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert queued(controller) == ["foo-0"]


def test_a_rollback_keeps_the_queued_target_of_a_later_job() -> None:
    controller = two(per_partition=1)
    controller.alter({"foo-0": [4, 5, 6]})
    controller.catch_up()
    queue(controller, {"foo-0": [6, 2, 3]})
    assert controller.do(RollBackJob(1)).reply.skipped == [(key("foo-0"), "taken over by job 2")]
    assert controller.settle().replicas("foo-0") == (6, 2, 3)


def test_a_queued_entry_ends_with_its_topic() -> None:
    controller = two(per_partition=1)
    controller.alter({"foo-0": [4, 5, 6]})
    controller.catch_up()
    queue(controller, {"foo-0": [6, 2, 3]})
    controller.do(DeleteTopics(["foo"]))
    controller.settle()
    assert controller.state.orders.finished[2][key("foo-0")].ending is Ending.TOPIC_DELETED


def test_a_queued_target_that_is_the_original_is_done_when_the_partition_is_back() -> None:
    controller = two()
    controller.alter({"foo-0": [4, 5, 6], "foo-1": [4, 5, 6]})
    queue(controller, {"foo-0": [1, 2, 3], "foo-1": [4, 5, 6]})
    assert controller.state.orders.finished[2][key("foo-0")].ending is Ending.DONE
    assert (controller.state.orders.jobs[2].total, controller.state.orders.jobs[2].ended_ms) == (2, 0)


def test_a_queued_target_equal_to_the_original_is_done_after_a_rollback_in_steps() -> None:
    controller = two(per_partition=1)
    controller.alter({"foo-0": [4, 5, 6]})
    for _ in range(2):
        controller.catch_up()
    queue(controller, {"foo-0": [1, 2, 3]})
    controller.settle()
    assert controller.state.orders.finished[2][key("foo-0")].ending is Ending.DONE
    assert controller.state.orders.jobs[2].ended_ms


def test_a_rollback_of_a_queued_job_names_no_other_job() -> None:
    controller = two(per_partition=1)
    controller.alter({"foo-0": [4, 5, 6]})
    for _ in range(2):
        controller.catch_up()
    queue(controller, {"foo-0": [6, 2, 3]})
    assert controller.do(RollBackJob(2)).reply.skipped == []
    assert controller.settle().replicas("foo-0") == (1, 2, 3)
