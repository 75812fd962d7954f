"""Reassignments of one partition: orders, overrides, rollbacks and waiting."""

import pytest

from common.error_codes import ErrorCode
from controller.model.cluster import NO_LEADER, Ending, Replicas
from controller.model.errors import DONE
from controller.reassignment.phases import Phase
from tests.builders import InMemoryController, partition

TARGET = (4, 5, 6)


@pytest.fixture
def controller() -> InMemoryController:
    return InMemoryController(range(1, 10)).with_partitions(partition("foo-0", (1, 2, 3)))


def ordered(controller: InMemoryController, *targets: Replicas | None) -> InMemoryController:
    for target in targets:
        assert controller.alter({"foo-0": target}) == {"foo-0": DONE}
    return controller


def stuck() -> InMemoryController:
    """Two of three new replicas have arrived, the third is dead: (4, 5, 1) on the way to (4, 5, 6)."""
    controller = InMemoryController(live=(1, 2, 3, 4, 5)).with_partitions(partition("foo-0", (1, 2, 3)))
    ordered(controller, TARGET)
    controller.isr("foo-0", (4, 1, 2, 3))
    controller.isr("foo-0", controller.replicas("foo-0"))
    assert controller.replicas("foo-0") == (4, 5, 1)
    return controller


def test_an_order_starts_immediately_and_records_the_original(controller: InMemoryController) -> None:
    ordered(controller, TARGET)
    wanted = controller.reassignment_of("foo-0")
    assert wanted is not None
    assert (wanted.original, wanted.target) == ((1, 2, 3), TARGET)
    assert controller.phase("foo-0") is Phase.MOVING


def test_an_order_for_the_current_list_changes_nothing(controller: InMemoryController) -> None:
    ordered(controller, (1, 2, 3))
    assert (controller.changes, controller.effects) == ([], [])


def test_a_reassignment_ends_when_all_its_replicas_are_in_sync(controller: InMemoryController) -> None:
    ordered(controller, TARGET)
    controller.isr("foo-0", (1, 2, 3, 4, 5, 6))
    assert controller.replicas("foo-0") == TARGET
    assert controller.reassignment_of("foo-0") is None
    assert controller.dropped("foo-0") == [1, 2, 3]


@pytest.mark.parametrize("target", [(3, 1, 2), (1, 2), (3,)])
def test_a_change_of_order_or_a_shrink_completes_immediately(
    controller: InMemoryController, target: Replicas
) -> None:
    ordered(controller, target)
    assert controller.replicas("foo-0") == target
    assert controller.reassignment_of("foo-0") is None


def test_growing_adds_and_removes_nothing(controller: InMemoryController) -> None:
    ordered(controller, (1, 2, 3, 4))
    assert (controller["foo-0"].adding, controller["foo-0"].removing) == ((4,), ())
    controller.isr("foo-0", (1, 2, 3, 4))
    assert controller.replicas("foo-0") == (1, 2, 3, 4)


def test_the_same_target_again_changes_nothing(controller: InMemoryController) -> None:
    ordered(controller, TARGET)
    before = len(controller.changes)
    ordered(controller, TARGET)
    assert len(controller.changes) == before


def test_an_override_keeps_the_first_original_and_leaks_no_replica(controller: InMemoryController) -> None:
    ordered(controller, TARGET, (7, 8), (9, 2))
    assert controller.replicas("foo-0") == (9, 2, 1, 3)
    assert controller.dropped("foo-0") == [4, 5, 6, 7, 8]
    ordered(controller, None)
    assert controller.replicas("foo-0") == (1, 2, 3)
    assert controller.dropped("foo-0") == [4, 5, 6, 7, 8, 9]


def test_an_override_keeps_replicas_that_are_also_in_its_target(controller: InMemoryController) -> None:
    ordered(controller, TARGET)
    controller.isr("foo-0", (1, 2, 3, 5))
    ordered(controller, (5, 7))
    assert controller.dropped("foo-0") == [4, 6]
    assert controller["foo-0"].isr == (1, 2, 3, 5)


def test_an_override_to_replicas_in_sync_completes_immediately(controller: InMemoryController) -> None:
    ordered(controller, TARGET)
    controller.isr("foo-0", (1, 2, 3, 4))
    ordered(controller, (1, 2, 4))
    assert controller.replicas("foo-0") == (1, 2, 4)
    assert controller.reassignment_of("foo-0") is None


def test_ordering_the_original_is_a_rollback(controller: InMemoryController) -> None:
    ordered(controller, (3, 4), (1, 2, 3))
    assert controller.replicas("foo-0") == (1, 2, 3)
    assert controller.reassignment_of("foo-0") is None


def test_a_cancel_restores_the_original_order_exactly(controller: InMemoryController) -> None:
    ordered(controller, (3, 4, 2), None)
    assert controller.replicas("foo-0") == (1, 2, 3)
    assert controller["foo-0"].isr == (1, 2, 3)
    assert controller.dropped("foo-0") == [4]


def test_a_cancel_without_a_reassignment_is_refused(controller: InMemoryController) -> None:
    assert controller.alter({"foo-0": None})["foo-0"] == (ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, None)


def test_a_cancel_drops_new_replicas_that_are_in_sync(controller: InMemoryController) -> None:
    ordered(controller, (1, 4, 5))
    controller.isr("foo-0", (1, 2, 3, 4))
    ordered(controller, None)
    assert controller["foo-0"] == partition("foo-0", (1, 2, 3), leader_epoch=2, partition_epoch=3)


def orphaned() -> InMemoryController:
    """Only a new replica is in sync, and it leads."""
    moving = partition("foo-0", (4, 5, 1, 2), adding=(4, 5), removing=(1, 2), isr=(4,), leader=4)
    return InMemoryController().with_partitions(moving)


UNCLEAN = (
    "Unable to revert partition assignment for foo:0 because it would require an unclean leader election."
)


@pytest.mark.parametrize("target", [None, (1, 2), (5, 6)])
def test_an_undo_that_would_lose_the_data_is_refused_and_changes_nothing(target: Replicas | None) -> None:
    controller = orphaned()
    assert controller.alter({"foo-0": target})["foo-0"] == (ErrorCode.INVALID_REPLICA_ASSIGNMENT, UNCLEAN)
    assert (controller.changes, controller.effects) == ([], [])


def test_an_unclean_undo_is_executed_if_the_topic_allows_it() -> None:
    controller = orphaned().with_topic_config("unclean.leader.election.enable", "true")
    ordered(controller, None)
    now = controller["foo-0"]
    assert (now.replicas, now.isr, now.leader) == ((1, 2), (1,), 1)


def test_an_undo_is_unclean_if_only_a_lagging_original_is_alive() -> None:
    controller = orphaned()
    controller.stop(4)
    assert not controller.alter({"foo-0": None})["foo-0"].ok


def cancelled_offline() -> InMemoryController:
    """All replicas of a move from (1, 2) to (4, 5) are offline, and it was cancelled. Only 4 was in sync."""
    controller = InMemoryController().with_partitions(partition("foo-0", (1, 2)))
    ordered(controller, (4, 5))
    controller.isr("foo-0", (1, 4))
    for broker in (1, 2, 5, 4):
        controller.stop(broker)
    return ordered(controller, None)


def test_offline_is_not_lost_a_rollback_waits_for_the_replicas_in_sync() -> None:
    controller = cancelled_offline()
    assert (controller["foo-0"].isr, controller["foo-0"].leader) == ((4,), NO_LEADER)
    controller.start(1)
    assert controller["foo-0"].leader == NO_LEADER
    controller.start(4)
    assert (controller["foo-0"].isr, controller["foo-0"].leader) == ((4,), 4)
    controller.start(5)
    controller.isr("foo-0", (4, 5))
    assert controller.phase("foo-0") is Phase.MOVING


def test_a_rollback_that_waited_is_executed_when_an_original_is_in_sync() -> None:
    controller = cancelled_offline().restart(live=(1, 4))
    controller.isr("foo-0", (4, 1))
    now = controller["foo-0"]
    assert (now.replicas, now.isr, now.leader) == ((1, 2), (1,), 1)
    assert controller.reassignment_of("foo-0") is None
    assert sorted(controller.dropped("foo-0")) == [4, 5]


def test_without_live_replicas_a_rollback_is_executed_if_unclean_elections_are_allowed() -> None:
    controller = orphaned().with_topic_config("unclean.leader.election.enable", "true")
    controller.state.cluster.live.clear()
    ordered(controller, None)
    assert (controller.replicas("foo-0"), controller["foo-0"].isr) == ((1, 2), (1,))


def test_without_live_replicas_another_order_is_refused() -> None:
    controller = orphaned()
    controller.state.cluster.live.clear()
    assert controller.alter({"foo-0": (5, 6)})["foo-0"].message == UNCLEAN


def test_without_live_replicas_a_rollback_to_a_dropped_original_waits() -> None:
    controller = stuck()
    controller.start(6)
    controller.put(controller["foo-0"]._replace(isr=(6,), leader=6))
    for broker in range(1, 7):
        controller.stop(broker)
    ordered(controller, None)
    assert (controller.phase("foo-0"), controller["foo-0"].isr) == (Phase.MOVING, (6,))
    for broker in range(1, 7):
        controller.start(broker)
    for _ in range(3):
        controller.isr("foo-0", controller.replicas("foo-0"))
    assert (controller.replicas("foo-0"), controller.reassignment_of("foo-0")) == ((1, 2, 3), None)


def test_live_targets_are_added_while_another_target_is_offline() -> None:
    controller = stuck()
    assert controller.phase("foo-0") is Phase.WAITING
    assert controller.waiting_reason("foo-0") == "offline: broker 6"


def test_an_offline_target_is_added_when_its_broker_returns() -> None:
    controller = stuck()
    controller.start(6)
    assert controller.replicas("foo-0") == (4, 5, 6, 1)
    controller.isr("foo-0", (4, 5, 6, 1))
    assert (controller.replicas("foo-0"), controller.reassignment_of("foo-0")) == (TARGET, None)


def test_a_rollback_adds_the_replicas_that_earlier_steps_dropped() -> None:
    controller = stuck()
    ordered(controller, None)
    assert controller.replicas("foo-0") == (1, 2, 3, 4, 5)
    for _ in range(2):
        controller.isr("foo-0", controller.replicas("foo-0"))
    assert (controller.replicas("foo-0"), controller.reassignment_of("foo-0")) == ((1, 2, 3), None)


def test_a_second_cancel_does_not_undo_the_rollback() -> None:
    controller = stuck()
    ordered(controller, None)
    before = controller["foo-0"]
    assert before.moving
    ordered(controller, None)
    assert controller["foo-0"] is before


def test_a_waiting_order_can_be_replaced_and_cancelled() -> None:
    controller = InMemoryController(live=(1, 2, 3, 4)).with_partitions(partition("foo-0", (1, 2, 3)))
    ordered(controller, (1, 2, 6), (1, 2, 5))
    assert controller.waiting_reason("foo-0") == "offline: broker 5"
    ordered(controller, None)
    assert (controller.replicas("foo-0"), controller.reassignment_of("foo-0")) == ((1, 2, 3), None)


def test_a_step_waits_until_the_partition_has_a_leader() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", (1, 2), isr=(1,)))
    controller.stop(1)
    ordered(controller, (2, 3))
    assert controller.waiting_reason("foo-0") == "the partition has no leader: broker 1 down"
    controller.start(1)
    assert controller.phase("foo-0") is Phase.MOVING


def test_a_new_order_after_the_end_has_a_new_original(controller: InMemoryController) -> None:
    ordered(controller, (1, 2), (1, 4))
    wanted = controller.reassignment_of("foo-0")
    assert wanted is not None
    assert wanted.original == (1, 2)


def test_brokers_get_the_target_during_a_reassignment_only(
    controller: InMemoryController,
) -> None:
    ordered(controller, TARGET)
    controller.isr("foo-0", (1, 2, 3, 4))
    controller.isr("foo-0", (1, 2, 3, 4, 5, 6))
    assert [told.target for told in controller.published("foo-0")] == [TARGET, TARGET, ()]


def test_a_partition_without_a_leader_can_still_be_reordered() -> None:
    controller = InMemoryController(live=()).with_partitions(partition("foo-0", (1, 2), leader=NO_LEADER))
    ordered(controller, (2, 1))
    assert (controller.replicas("foo-0"), controller.reassignment_of("foo-0")) == ((2, 1), None)


def test_a_step_keeps_min_isr_with_the_present_isr() -> None:
    controller = InMemoryController(live=range(1, 6)).with_partitions(
        partition("foo-0", (1, 2, 3, 4), isr=(2, 3), leader=2)
    )
    controller.with_topic_config("min.insync.replicas", "2")
    ordered(controller, (1, 5, 4, 6))
    controller.isr("foo-0", (2, 3, 5))
    assert controller.replicas("foo-0") == (1, 5, 4, 2)
    assert controller.phase("foo-0") is Phase.WAITING


def test_a_cancel_in_stop_mode_keeps_replicas_in_sync() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", (1, 2, 3)))
    controller.default("reassignment.cancel.mode", "stop")
    controller.alter({"foo-0": (3, 4, 5)})
    controller.isr("foo-0", (1, 2, 3, 4))
    controller.alter({"foo-0": None})
    assert controller.replicas("foo-0") == (1, 2, 3, 4)
    assert controller.dropped("foo-0") == [5]
    assert controller.state.orders.finished[1][controller["foo-0"].key].ending is Ending.STOPPED


def test_a_cancel_in_stop_mode_before_the_first_step_keeps_the_list() -> None:
    controller = InMemoryController(live=range(1, 6)).with_partitions(partition("foo-0", (1, 2, 3)))
    controller.default("reassignment.cancel.mode", "stop")
    controller.alter({"foo-0": (1, 2, 6)})
    controller.alter({"foo-0": None})
    assert (controller.replicas("foo-0"), controller.reassignment_of("foo-0")) == ((1, 2, 3), None)
