from typing import Any

import pytest

from common.error_codes import ErrorCode
from controller.cluster.isr import CHANGES_PER_SLICE
from controller.machine import decide
from controller.messages.effects import Publish
from controller.messages.events import AlterPartition, IsrChange
from controller.model.errors import DONE
from controller.state.state import Decision
from tests.builders import InMemoryController, partition

HEALTHY = partition("foo-0", (1, 2, 3), isr=(1, 2), leader_epoch=5, partition_epoch=9)


@pytest.fixture
def controller() -> InMemoryController:
    return InMemoryController().with_partitions(HEALTHY, partition("foo-1", (2, 3)))


def change(**fields: Any) -> IsrChange:
    return IsrChange("foo", 0, 5, (1, 2, 3), 9)._replace(**fields)


def answer(controller: InMemoryController, asked: IsrChange, broker: int = 1) -> ErrorCode:
    (outcome,) = controller.do(AlterPartition(broker, -1, [asked])).reply.rows
    error: ErrorCode = outcome.error
    return error


def test_a_reported_isr_is_published_to_all_brokers(controller: InMemoryController) -> None:
    assert answer(controller, change()) is ErrorCode.NONE
    now = controller["foo-0"]
    assert (now.isr, now.leader_epoch, now.partition_epoch) == ((1, 2, 3), 5, 10)
    assert controller.effects == [Publish(now, lead=False)]


@pytest.mark.parametrize(
    ("asked", "broker", "error"),
    [
        (change(topic="ghost"), 1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (change(partition=7), 1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (change(leader_epoch=4), 1, ErrorCode.FENCED_LEADER_EPOCH),
        (change(leader_epoch=6), 1, ErrorCode.NOT_CONTROLLER),
        (change(), 2, ErrorCode.INVALID_REQUEST),
        (change(partition_epoch=8), 1, ErrorCode.INVALID_UPDATE_VERSION),
        (change(isr=(2, 3)), 1, ErrorCode.INVALID_REQUEST),
        (change(isr=()), 1, ErrorCode.INVALID_REQUEST),
        (change(isr=(1, 1)), 1, ErrorCode.INVALID_REQUEST),
        (change(isr=(1, 4)), 1, ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_wrong_report_is_refused_and_changes_nothing(
    controller: InMemoryController, asked: IsrChange, broker: int, error: ErrorCode
) -> None:
    assert answer(controller, asked, broker) is error
    assert controller.changes == []


def test_a_dead_or_leaving_broker_does_not_enter_the_isr(controller: InMemoryController) -> None:
    controller.state.cluster.shutting_down.add(3)
    assert answer(controller, change()) is ErrorCode.INELIGIBLE_REPLICA
    controller.stop(3)
    assert answer(controller, change()) is ErrorCode.INELIGIBLE_REPLICA


def test_a_leaving_broker_that_is_in_sync_may_stay_so(controller: InMemoryController) -> None:
    controller.state.cluster.shutting_down.add(2)
    assert answer(controller, change()) is ErrorCode.NONE


@pytest.mark.parametrize(("broker", "epoch"), [(9, -1), (1, 99)])
def test_an_unknown_or_outdated_broker_is_refused_as_a_whole(
    controller: InMemoryController, broker: int, epoch: int
) -> None:
    reply = controller.do(AlterPartition(broker, epoch, [change()])).reply
    assert (reply.outcome.error, reply.rows) == (ErrorCode.STALE_BROKER_EPOCH, ())


def test_a_dead_broker_is_refused_as_a_whole(controller: InMemoryController) -> None:
    controller.state.cluster.live.discard(1)
    reply = controller.do(AlterPartition(1, 1, [change()])).reply
    assert reply.outcome.error is ErrorCode.STALE_BROKER_EPOCH


def test_an_invalid_report_does_not_affect_others(controller: InMemoryController) -> None:
    right = IsrChange("foo", 1, 0, (2,), 0)
    rows = controller.do(AlterPartition(2, 2, [change(), right])).reply.rows
    assert [row.error for row in rows] == [ErrorCode.INVALID_REQUEST, ErrorCode.NONE]


def test_a_report_that_completes_a_step_is_published_as_completed_only(
    controller: InMemoryController,
) -> None:
    controller.alter({"foo-1": (2, 3, 4)})
    before = len(controller.effects)
    assert controller.isr("foo-1", (2, 3, 4)) == DONE
    assert controller.effects[before:] == [Publish(controller["foo-1"])]


def test_a_report_that_changes_the_leader_is_answered_with_the_new_leader(
    controller: InMemoryController,
) -> None:
    controller.alter({"foo-1": (4, 5)})
    assert controller.isr("foo-1", (2, 3, 4, 5)).error is ErrorCode.NEW_LEADER_ELECTED
    assert (controller["foo-1"].leader, controller["foo-1"].isr) == (4, (4, 5))


def test_many_reports_are_sliced() -> None:
    count = CHANGES_PER_SLICE + 1
    controller = InMemoryController().with_partitions(*(partition(f"foo-{n}", (1, 2)) for n in range(count)))
    d = Decision(controller.state)
    slices = decide(d, AlterPartition(1, -1, [IsrChange("foo", n, 0, (1,), 0) for n in range(count)]))
    next(slices)
    assert len(d.changes) == CHANGES_PER_SLICE
    assert list(slices) == []
    assert len(d.reply.rows) == count
