"""One partition twice in one request."""

from collections.abc import Sequence

import pytest

from common.error_codes import ErrorCode
from controller.messages.events import AlterReassignments
from controller.messages.job_events import AlterReply, AlterRow, AlterTopic, Queue, RollBackJob
from controller.model.cluster import Replicas
from controller.model.errors import DONE
from controller.model.replicas import TopicPartition
from controller.reassignment.orders import NUMBERS_PER_SLICE, find_repeated
from tests.builders import InMemoryController, partition

FROM = (1, 2, 3)


@pytest.fixture
def controller() -> InMemoryController:
    return InMemoryController(range(1, 9)).with_partitions(partition("foo-0", FROM), partition("foo-1", FROM))


def alter(controller: InMemoryController, *targets: Sequence[int] | None) -> AlterReply:
    rows = [AlterRow(0, None if target is None else tuple(target)) for target in targets]
    reply: AlterReply = controller.do(AlterReassignments([AlterTopic("foo", rows)])).reply
    return reply


def errors(reply: AlterReply) -> list[ErrorCode]:
    return [outcome.error for _, rows in reply.topics for _, outcome in rows]


def test_the_last_row_counts_and_every_row_is_answered(controller: InMemoryController) -> None:
    reply = alter(controller, (4, 5, 6), (2, 1, 3))
    assert reply.topics[0].rows == [(0, DONE), (0, DONE)]
    assert (controller.replicas("foo-0"), controller.reassignment_of("foo-0")) == ((2, 1, 3), None)


def test_an_invalid_row_does_not_replace_a_valid_one(controller: InMemoryController) -> None:
    assert errors(alter(controller, (4, 5, 6), (99,))) == [
        ErrorCode.NONE,
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
    ]
    assert controller["foo-0"].next == (4, 5, 6)


def test_a_cancel_after_an_order_counts(controller: InMemoryController) -> None:
    controller.alter({"foo-0": (4, 5, 6)})
    assert errors(alter(controller, (5, 6, 7), None)) == [ErrorCode.NONE, ErrorCode.NONE]
    assert (controller.replicas("foo-0"), controller.reassignment_of("foo-0")) == (FROM, None)


def test_a_request_may_name_a_topic_twice(controller: InMemoryController) -> None:
    topics = [
        AlterTopic("foo", [AlterRow(0, (4,)), AlterRow(1, (5,))]),
        AlterTopic("foo", [AlterRow(0, (6,))]),
    ]
    controller.do(AlterReassignments(topics))
    assert (controller["foo-0"].next, controller["foo-1"].next) == ((6,), (5,))


@pytest.mark.parametrize("queued", [False, True])
def test_a_rollback_restores_the_list_before_all_rows(controller: InMemoryController, queued: bool) -> None:
    controller.alter({"foo-0": (4, 5, 6)})
    rows: list[Replicas | None] = [(3, 2, 1), (5, 6, 7)]
    topics = [AlterTopic("foo", [AlterRow(0, target) for target in rows])]
    job = controller.do(Queue(topics) if queued else AlterReassignments(topics)).reply.job
    assert controller.settle().replicas("foo-0") == (5, 6, 7)
    assert (controller.state.orders.jobs[job].total, len(controller.state.orders.finished[job])) == (1, 1)
    assert controller.do(RollBackJob(job)).reply.skipped == []
    assert controller.settle().replicas("foo-0") == FROM


@pytest.mark.parametrize(("topics", "rows"), [(1, 3 * NUMBERS_PER_SLICE), (3 * NUMBERS_PER_SLICE, 1)])
def test_a_large_request_is_searched_in_slices(topics: int, rows: int) -> None:
    of_topic = [AlterRow(number, None) for number in range(rows)]
    search = find_repeated([AlterTopic(f"foo{number}", of_topic) for number in range(topics)])
    assert len(list(search)) >= 6


def test_rows_are_repeated_across_slices_and_topics() -> None:
    numbers = [*range(NUMBERS_PER_SLICE), 7, NUMBERS_PER_SLICE]
    topics = [AlterTopic("foo", [AlterRow(number, None) for number in numbers])]
    assert repeated(topics) == {TopicPartition("foo", 7)}
    assert repeated([*topics, *topics]) == {TopicPartition("foo", number) for number in numbers}
    assert repeated([AlterTopic("foo", [AlterRow(0, None)]), AlterTopic("bar", None)]) == set()


def repeated(topics: Sequence[AlterTopic]) -> set[TopicPartition]:
    """Return the repeated partitions of the request."""
    search = find_repeated(topics)
    while True:
        try:
            next(search)
        except StopIteration as end:
            return set() if end.value is None else set(end.value.partitions)
