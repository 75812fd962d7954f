"""One partition twice in one request."""

from collections.abc import Sequence

import pytest

from common.error_codes import ErrorCode
from controller.messages.events import AlterReassignments
from controller.messages.job_events import AlterReply, AlterRow, AlterTopic, Queue, RollBackJob
from controller.model.cluster import Replicas
from controller.model.errors import DONE
from tests.builders import World, partition

FROM = (1, 2, 3)


@pytest.fixture
def world() -> World:
    return World(range(1, 9)).having(partition("foo-0", FROM), partition("foo-1", FROM))


def alter(world: World, *targets: Sequence[int] | None) -> AlterReply:
    rows = [AlterRow(0, None if target is None else tuple(target)) for target in targets]
    reply: AlterReply = world.do(AlterReassignments([AlterTopic("foo", rows)])).reply
    return reply


def errors(reply: AlterReply) -> list[ErrorCode]:
    return [outcome.error for _, rows in reply.topics for _, outcome in rows]


def test_the_last_row_counts_and_every_row_is_answered(world: World) -> None:
    reply = alter(world, (4, 5, 6), (2, 1, 3))
    assert reply.topics[0].rows == [(0, DONE), (0, DONE)]
    assert (world.replicas("foo-0"), world.wanted("foo-0")) == ((2, 1, 3), None)


def test_a_bad_row_does_not_replace_a_good_one(world: World) -> None:
    assert errors(alter(world, (4, 5, 6), (99,))) == [ErrorCode.NONE, ErrorCode.INVALID_REPLICA_ASSIGNMENT]
    assert world["foo-0"].next == (4, 5, 6)


def test_a_cancel_after_an_order_is_a_cancel(world: World) -> None:
    world.alter({"foo-0": (4, 5, 6)})
    assert errors(alter(world, (5, 6, 7), None)) == [ErrorCode.NONE, ErrorCode.NONE]
    assert (world.replicas("foo-0"), world.wanted("foo-0")) == (FROM, None)


def test_one_topic_may_come_twice(world: World) -> None:
    topics = [
        AlterTopic("foo", [AlterRow(0, (4,)), AlterRow(1, (5,))]),
        AlterTopic("foo", [AlterRow(0, (6,))]),
    ]
    world.do(AlterReassignments(topics))
    assert (world["foo-0"].next, world["foo-1"].next) == ((6,), (5,))


@pytest.mark.parametrize("queued", [False, True])
def test_a_rollback_goes_all_the_way_back(world: World, queued: bool) -> None:
    world.alter({"foo-0": (4, 5, 6)})
    rows: list[Replicas | None] = [(3, 2, 1), (5, 6, 7)]
    topics = [AlterTopic("foo", [AlterRow(0, target) for target in rows])]
    job = world.do(Queue(topics) if queued else AlterReassignments(topics)).reply.job
    assert world.settle().replicas("foo-0") == (5, 6, 7)
    assert (world.state.jobs[job].total, len(world.state.finished[job])) == (1, 1)
    assert world.do(RollBackJob(job)).reply.skipped == []
    assert world.settle().replicas("foo-0") == FROM
