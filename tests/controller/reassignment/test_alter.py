from collections.abc import Sequence

import pytest

from common.error_codes import ErrorCode
from controller.machine import decide
from controller.messages.events import AlterReassignments
from controller.messages.job_events import AlterReply, AlterRow, AlterTopic, TopicOutcomes
from controller.model.errors import DONE, Outcome
from controller.reassignment.alter import ROWS_PER_SLICE
from controller.state.decision import Decision
from tests.builders import World, partition


@pytest.fixture
def world() -> World:
    return World().having(
        partition("foo-0", (1, 2, 3)), partition("foo-1", (2, 3, 1)), partition("bar-0", (3, 1, 2))
    )


def alter(world: World, topics: Sequence[AlterTopic] | None, timeout_ms: int = 60_000) -> AlterReply:
    reply: AlterReply = world.do(AlterReassignments(topics, timeout_ms)).reply
    return reply


def test_rows_are_answered_in_the_order_of_the_request_and_empty_topics_are_echoed(world: World) -> None:
    reply = alter(
        world,
        [
            AlterTopic("foo", [AlterRow(1, (4,)), AlterRow(0, (5,))]),
            AlterTopic("bar", []),
        ],
    )
    assert reply[:2] == (Outcome(), [TopicOutcomes("foo", [(1, DONE), (0, DONE)]), TopicOutcomes("bar", [])])


def test_one_bad_row_spoils_no_other(world: World) -> None:
    found = world.alter({"foo-0": (1, 1), "foo-1": (4, 5, 6), "foo-7": (1,), "ghost-0": (1,)})
    assert found["foo-0"].error is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert found["foo-1"] is DONE
    assert found["foo-7"] == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "Unable to find partition foo:7.")
    assert found["ghost-0"] == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "Unable to find a topic named ghost.")
    assert world["foo-1"].moving


def test_a_negative_partition_is_unknown(world: World) -> None:
    assert world.alter({"foo-0": (4,)})["foo-0"] is DONE
    reply = alter(world, [AlterTopic("foo", [AlterRow(-1, None)])])
    assert reply.topics[0].rows[0][1].error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_repeated_row_is_answered_twice_and_the_last_one_wins(world: World) -> None:
    rows = [AlterRow(0, (1, 4)), AlterRow(0, (1, 5))]
    assert alter(world, [AlterTopic("foo", rows)]).topics == [TopicOutcomes("foo", [(0, DONE), (0, DONE)])]
    wanted = world.wanted("foo-0")
    assert wanted is not None
    assert (wanted.original, wanted.target) == ((1, 2, 3), (1, 5))


@pytest.mark.parametrize("timeout_ms", [0, -1])
def test_a_timeout_of_nothing_is_over_before_it_begins(world: World, timeout_ms: int) -> None:
    reply = alter(world, [AlterTopic("foo", [AlterRow(0, (4,)), AlterRow(9, None)])], timeout_ms)
    late = Outcome(ErrorCode.REQUEST_TIMED_OUT)
    assert reply[:2] == (late, [TopicOutcomes("foo", [(0, late), (9, late)])])
    assert world.changes == []


def test_an_empty_request_has_an_empty_message(world: World) -> None:
    assert alter(world, [])[:2] == (Outcome(message=""), [])


def test_null_replicas_cancel_one_partition(world: World) -> None:
    world.alter({"foo-0": (4, 5), "foo-1": (4, 5)})
    assert world.alter({"foo-0": None}) == {"foo-0": DONE}
    assert (world["foo-0"].moving, world["foo-1"].moving) == (False, True)


def test_null_partitions_cancel_all_that_moves_in_the_topic(world: World) -> None:
    world.alter({"foo-1": (4, 5), "bar-0": (4, 5)})
    assert alter(world, [AlterTopic("foo", None)]).topics == [TopicOutcomes("foo", [(1, DONE)])]
    assert list(world.state.reassigning) == ["bar"]


def test_null_partitions_of_a_topic_where_nothing_moves_cancel_nothing(world: World) -> None:
    assert alter(world, [AlterTopic("foo", None)])[:2] == (Outcome(), [TopicOutcomes("foo", [])])


def test_null_partitions_of_an_unknown_topic_are_one_row_numbered_minus_one(world: World) -> None:
    (answer,) = alter(world, [AlterTopic("ghost", None)]).topics
    unknown = Outcome(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "Unable to find a topic named ghost.")
    assert answer == TopicOutcomes("ghost", [(-1, unknown)])


def test_null_topics_cancel_everything_and_answer_one_row_each(world: World) -> None:
    world.alter({"foo-1": (4, 5), "foo-0": (4, 5), "bar-0": (4, 5)})
    assert alter(world, None).topics == [
        TopicOutcomes("bar", [(0, DONE)]),
        TopicOutcomes("foo", [(0, DONE), (1, DONE)]),
    ]
    assert world.state.reassignments == {}


def test_null_topics_where_nothing_moves_are_no_rows_and_no_error(world: World) -> None:
    assert alter(world, None)[:2] == (Outcome(), [])


def test_a_topic_that_waits_for_its_deletion_takes_no_orders_but_cancels(world: World) -> None:
    world.alter({"foo-0": (4, 5)})
    world.put(world.state.topics["foo"]._replace(deleting=True))
    assert world.alter({"foo-1": (4, 5)})["foo-1"].error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert world.alter({"foo-0": None})["foo-0"] is DONE


def test_the_factor_guard_of_version_1_is_asked_for_by_the_request(world: World) -> None:
    refused = world.alter({"foo-0": (4, 5)}, allow_replication_factor_change=False)["foo-0"]
    assert refused == (ErrorCode.INVALID_REPLICATION_FACTOR, "The replication factor is changed from 3 to 2")
    assert world.alter({"foo-0": (4, 5, 6)}, allow_replication_factor_change=False)["foo-0"] is DONE


def test_a_large_request_is_taken_in_slices() -> None:
    rows = 3 * ROWS_PER_SLICE + 1
    world = World().having(*(partition(f"foo-{n}", (1, 2)) for n in range(rows)))
    d = Decision(world.state)
    event = AlterReassignments([AlterTopic("foo", [AlterRow(n, (3, 4)) for n in range(rows)])])
    taken = [len(world.state.reassignments) for _ in decide(d, event)]
    assert taken == [ROWS_PER_SLICE, 2 * ROWS_PER_SLICE, 3 * ROWS_PER_SLICE]
    assert len(d.reply.topics[0].rows) == len(world.state.reassignments) == rows


def test_the_reply_names_the_job_and_none_when_nothing_was_ordered(world: World) -> None:
    moved = alter(world, [AlterTopic("foo", [AlterRow(0, (4, 5, 6))])])
    again = alter(world, [AlterTopic("foo", [AlterRow(0, (4, 5, 6))])])
    assert (moved.job, again.job) == (1, 0)


def test_a_request_may_give_its_job_a_priority_and_a_throttle(world: World) -> None:
    world.alter({"foo-0": (4, 5, 6)}, priority=7, throttle=1_000)
    assert (world.state.jobs[1].priority, world.state.jobs[1].throttle) == (7, 1_000)


def test_a_cancel_of_a_topic_looks_at_many_partitions_in_slices() -> None:
    count = 2 * ROWS_PER_SLICE
    world = World().having(*(partition(f"foo-{n}", [1]) for n in range(count)))
    world.alter({f"foo-{count - 1}": [2]})
    slices = decide(Decision(world.state), AlterReassignments([AlterTopic("foo", None)]))
    assert len(list(slices)) == 2


def test_rows_of_a_topic_that_is_not_there_share_a_short_text() -> None:
    name = "x" * 30_000
    event = AlterReassignments([AlterTopic(name, [AlterRow(n, (1,)) for n in range(2)])])
    ((_, first), (_, second)) = World().do(event).reply.topics[0].rows
    assert first is second
    assert len(first.text) < 400
