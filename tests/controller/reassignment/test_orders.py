from collections.abc import Sequence

import pytest

from common.error_codes import ErrorCode
from controller.machine import decide
from controller.messages.events import AlterReassignments
from controller.messages.job_events import AlterReply, AlterRow, AlterTopic, Pause, TopicOutcomes
from controller.model.errors import DONE, Outcome
from controller.reassignment.orders import ROWS_PER_SLICE
from controller.state.state import Decision
from tests.builders import InMemoryController, partition


@pytest.fixture
def controller() -> InMemoryController:
    return InMemoryController().with_partitions(
        partition("foo-0", (1, 2, 3)), partition("foo-1", (2, 3, 1)), partition("bar-0", (3, 1, 2))
    )


def alter(
    controller: InMemoryController, topics: Sequence[AlterTopic] | None, deadline_ms: int | None = None
) -> AlterReply:
    reply: AlterReply = controller.do(AlterReassignments(topics, deadline_ms)).reply
    return reply


def test_rows_are_answered_in_the_order_of_the_request_and_empty_topics_are_echoed(
    controller: InMemoryController,
) -> None:
    reply = alter(
        controller,
        [
            AlterTopic("foo", [AlterRow(1, (4,)), AlterRow(0, (5,))]),
            AlterTopic("bar", []),
        ],
    )
    assert reply[:2] == (Outcome(), [TopicOutcomes("foo", [(1, DONE), (0, DONE)]), TopicOutcomes("bar", [])])


def test_an_invalid_row_does_not_affect_others(controller: InMemoryController) -> None:
    found = controller.alter({"foo-0": (1, 1), "foo-1": (4, 5, 6), "foo-7": (1,), "ghost-0": (1,)})
    assert found["foo-0"].error is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert found["foo-1"] is DONE
    assert found["foo-7"] == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "Unable to find partition foo:7.")
    assert found["ghost-0"] == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "Unable to find a topic named ghost.")
    assert controller["foo-1"].moving


def test_a_negative_partition_is_unknown(controller: InMemoryController) -> None:
    assert controller.alter({"foo-0": (4,)})["foo-0"] is DONE
    reply = alter(controller, [AlterTopic("foo", [AlterRow(-1, None)])])
    assert reply.topics[0].rows[0][1].error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_repeated_row_is_answered_twice_and_the_last_one_wins(controller: InMemoryController) -> None:
    rows = [AlterRow(0, (1, 4)), AlterRow(0, (1, 5))]
    assert alter(controller, [AlterTopic("foo", rows)]).topics == [
        TopicOutcomes("foo", [(0, DONE), (0, DONE)])
    ]
    wanted = controller.reassignment_of("foo-0")
    assert wanted is not None
    assert (wanted.original, wanted.target) == ((1, 2, 3), (1, 5))


@pytest.mark.parametrize("passed_ms", [0, 1])
def test_a_request_that_is_decided_after_its_time_is_refused(
    controller: InMemoryController, passed_ms: int
) -> None:
    topics = [AlterTopic("foo", [AlterRow(0, (4,)), AlterRow(9, None)])]
    reply = alter(controller, topics, controller.now_ms - passed_ms)
    late = Outcome(ErrorCode.REQUEST_TIMED_OUT)
    assert reply[:2] == (late, [TopicOutcomes("foo", [(0, late), (9, late)])])
    assert controller.changes == []
    assert alter(controller, topics, controller.now_ms + 1).topics[0].rows[0] == (0, DONE)


def test_an_empty_request_has_an_empty_message(controller: InMemoryController) -> None:
    assert alter(controller, [])[:2] == (Outcome(message=""), [])


def test_null_replicas_cancel_one_partition(controller: InMemoryController) -> None:
    controller.alter({"foo-0": (4, 5), "foo-1": (4, 5)})
    assert controller.alter({"foo-0": None}) == {"foo-0": DONE}
    assert (controller["foo-0"].moving, controller["foo-1"].moving) == (False, True)


def test_null_partitions_cancel_all_reassignments_of_the_topic(controller: InMemoryController) -> None:
    controller.alter({"foo-1": (4, 5), "bar-0": (4, 5)})
    assert alter(controller, [AlterTopic("foo", None)]).topics == [TopicOutcomes("foo", [(1, DONE)])]
    assert list(controller.state.orders.reassigning) == ["bar"]


def test_null_partitions_with_nothing_to_cancel_are_one_row_numbered_minus_one(
    controller: InMemoryController,
) -> None:
    reply = alter(controller, [AlterTopic(name, None) for name in ("ghost", "foo")])
    unknown = Outcome(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "Unable to find a topic named ghost.")
    idle = Outcome(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
    assert reply.topics == [TopicOutcomes("ghost", [(-1, unknown)]), TopicOutcomes("foo", [(-1, idle)])]
    assert reply.outcome is DONE


def test_null_topics_cancel_everything_and_answer_one_row_each(controller: InMemoryController) -> None:
    controller.alter({"foo-1": (4, 5), "foo-0": (4, 5), "bar-0": (4, 5)})
    assert alter(controller, None).topics == [
        TopicOutcomes("bar", [(0, DONE)]),
        TopicOutcomes("foo", [(0, DONE), (1, DONE)]),
    ]
    assert controller.state.orders.reassignments == {}


def test_null_topics_without_reassignments_are_an_error_of_the_request(
    controller: InMemoryController,
) -> None:
    assert alter(controller, None)[:2] == (Outcome(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS), [])


def test_a_topic_that_is_being_deleted_accepts_cancels_only(
    controller: InMemoryController,
) -> None:
    controller.alter({"foo-0": (4, 5)})
    controller.put(controller.state.cluster.topics["foo"]._replace(deleting=True))
    assert controller.alter({"foo-1": (4, 5)})["foo-1"].error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert controller.alter({"foo-0": None})["foo-0"] is DONE


def test_a_request_can_forbid_a_change_of_the_replication_factor(controller: InMemoryController) -> None:
    refused = controller.alter({"foo-0": (4, 5)}, allow_replication_factor_change=False)["foo-0"]
    assert refused == (ErrorCode.INVALID_REPLICATION_FACTOR, "The replication factor is changed from 3 to 2")
    assert controller.alter({"foo-0": (4, 5, 6)}, allow_replication_factor_change=False)["foo-0"] is DONE


def test_an_invalid_list_is_refused_before_its_length_is_compared(controller: InMemoryController) -> None:
    outcome = controller.alter({"foo-0": (1, 1)}, allow_replication_factor_change=False)["foo-0"]
    assert outcome.error is ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_a_large_request_is_decided_in_slices() -> None:
    rows = 3 * ROWS_PER_SLICE + 1
    controller = InMemoryController().with_partitions(*(partition(f"foo-{n}", (1, 2)) for n in range(rows)))
    d = Decision(controller.state)
    event = AlterReassignments([AlterTopic("foo", [AlterRow(n, (3, 4)) for n in range(rows)])])
    taken = [len(controller.state.orders.reassignments) for _ in decide(d, event)]
    assert taken == [ROWS_PER_SLICE, 2 * ROWS_PER_SLICE, 3 * ROWS_PER_SLICE]
    assert len(d.reply.topics[0].rows) == len(controller.state.orders.reassignments) == rows


@pytest.mark.parametrize("rows", [None, []])
def test_topics_without_rows_are_decided_in_slices(rows: list[AlterRow] | None) -> None:
    topics = [AlterTopic(f"nope{number}", rows) for number in range(3 * ROWS_PER_SLICE)]
    assert len(list(decide(Decision(InMemoryController().state), AlterReassignments(topics)))) == 3


def test_a_second_cancel_of_a_whole_topic_visits_nothing(controller: InMemoryController) -> None:
    controller.alter({"foo-0": (4, 5, 6)})
    controller.catch_up()
    controller.alter({"foo-0": (1, 2, 3)})
    first, *others = alter(controller, [AlterTopic("foo", None)] * 3).topics
    nothing = (-1, Outcome(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS))
    assert ([number for number, _ in first.rows], [each.rows for each in others]) == ([0], [[nothing]] * 2)


def test_a_large_request_without_time_is_refused_in_slices() -> None:
    rows = [AlterRow(number, (4,)) for number in range(3 * ROWS_PER_SLICE)]
    event = AlterReassignments(
        [AlterTopic(f"foo{n}", rows[:ROWS_PER_SLICE]) for n in range(3)], deadline_ms=0
    )
    d = Decision(InMemoryController().state)
    assert len(list(decide(d, event))) == 3
    assert {outcome.error for _, rows in d.reply.topics for _, outcome in rows} == {
        ErrorCode.REQUEST_TIMED_OUT
    }


def test_the_reply_contains_the_job_or_0_if_nothing_was_ordered(controller: InMemoryController) -> None:
    moved = alter(controller, [AlterTopic("foo", [AlterRow(0, (4, 5, 6))])])
    again = alter(controller, [AlterTopic("foo", [AlterRow(0, (4, 5, 6))])])
    assert (moved.job, again.job) == (1, 0)


def test_a_request_may_give_its_job_a_priority_and_a_throttle(controller: InMemoryController) -> None:
    controller.alter({"foo-0": (4, 5, 6)}, priority=7, throttle=1_000)
    assert (controller.state.orders.jobs[1].priority, controller.state.orders.jobs[1].throttle) == (7, 1_000)


def test_a_job_may_be_submitted_paused(controller: InMemoryController) -> None:
    controller.alter({"foo-0": (4, 5, 6)}, paused=True)
    assert controller.settle().replicas("foo-0") == (1, 2, 3)
    controller.do(Pause(1, paused=False))
    assert controller.settle().replicas("foo-0") == (4, 5, 6)


def test_a_cancel_of_a_topic_visits_its_partitions_in_slices() -> None:
    count = 2 * ROWS_PER_SLICE
    controller = InMemoryController().with_partitions(*(partition(f"foo-{n}", [1]) for n in range(count)))
    controller.alter({f"foo-{count - 1}": [2]})
    slices = decide(Decision(controller.state), AlterReassignments([AlterTopic("foo", None)]))
    assert len(list(slices)) == 2


def test_rows_of_an_unknown_topic_share_one_short_message() -> None:
    name = "x" * 30_000
    event = AlterReassignments([AlterTopic(name, [AlterRow(n, (1,)) for n in range(2)])])
    ((_, first), (_, second)) = InMemoryController().do(event).reply.topics[0].rows
    assert first is second
    assert len(first.text) < 400
