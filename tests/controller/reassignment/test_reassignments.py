"""What is wanted of a partition: orders, overrides, rollbacks, and waiting."""

import pytest

from common.error_codes import ErrorCode
from controller.model.cluster import NO_LEADER, Ending, Replicas
from controller.model.errors import DONE
from controller.reassignment.phases import Phase
from tests.builders import World, partition

TARGET = (4, 5, 6)


@pytest.fixture
def world() -> World:
    return World(range(1, 10)).having(partition("foo-0", (1, 2, 3)))


def ordered(world: World, *targets: Replicas | None) -> World:
    for target in targets:
        assert world.alter({"foo-0": target}) == {"foo-0": DONE}
    return world


def stuck() -> World:
    """Two of three new replicas have arrived, the third is dead: (4, 5, 1) on the way to (4, 5, 6)."""
    world = World(live=(1, 2, 3, 4, 5)).having(partition("foo-0", (1, 2, 3)))
    ordered(world, TARGET)
    world.isr("foo-0", (4, 1, 2, 3))
    world.isr("foo-0", world.replicas("foo-0"))
    assert world.replicas("foo-0") == (4, 5, 1)
    return world


def test_an_order_begins_at_once_and_remembers_the_original(world: World) -> None:
    ordered(world, TARGET)
    wanted = world.wanted("foo-0")
    assert wanted is not None
    assert (wanted.original, wanted.target) == ((1, 2, 3), TARGET)
    assert world.phase("foo-0") is Phase.MOVING


def test_an_order_for_what_is_there_changes_nothing(world: World) -> None:
    ordered(world, (1, 2, 3))
    assert (world.changes, world.effects) == ([], [])


def test_a_reassignment_ends_when_all_its_replicas_are_in_sync(world: World) -> None:
    ordered(world, TARGET)
    world.isr("foo-0", (1, 2, 3, 4, 5, 6))
    assert world.replicas("foo-0") == TARGET
    assert world.wanted("foo-0") is None
    assert world.dropped("foo-0") == [1, 2, 3]


@pytest.mark.parametrize("target", [(3, 1, 2), (1, 2), (3,)])
def test_a_reorder_or_a_shrink_in_sync_is_complete_at_once(world: World, target: Replicas) -> None:
    ordered(world, target)
    assert world.replicas("foo-0") == target
    assert world.wanted("foo-0") is None


def test_growing_adds_and_removes_nothing(world: World) -> None:
    ordered(world, (1, 2, 3, 4))
    assert (world["foo-0"].adding, world["foo-0"].removing) == ((4,), ())
    world.isr("foo-0", (1, 2, 3, 4))
    assert world.replicas("foo-0") == (1, 2, 3, 4)


def test_the_same_target_again_changes_nothing(world: World) -> None:
    ordered(world, TARGET)
    before = len(world.changes)
    ordered(world, TARGET)
    assert len(world.changes) == before


def test_an_override_keeps_the_first_original_and_leaks_no_replica(world: World) -> None:
    ordered(world, TARGET, (7, 8), (9, 2))
    assert world.replicas("foo-0") == (9, 2, 1, 3)
    assert world.dropped("foo-0") == [4, 5, 6, 7, 8]
    ordered(world, None)
    assert world.replicas("foo-0") == (1, 2, 3)
    assert world.dropped("foo-0") == [4, 5, 6, 7, 8, 9]


def test_an_override_keeps_what_it_wants_too(world: World) -> None:
    ordered(world, TARGET)
    world.isr("foo-0", (1, 2, 3, 5))
    ordered(world, (5, 7))
    assert world.dropped("foo-0") == [4, 6]
    assert world["foo-0"].isr == (1, 2, 3, 5)


def test_an_override_that_is_in_sync_already_is_complete_at_once(world: World) -> None:
    ordered(world, TARGET)
    world.isr("foo-0", (1, 2, 3, 4))
    ordered(world, (1, 2, 4))
    assert world.replicas("foo-0") == (1, 2, 4)
    assert world.wanted("foo-0") is None


def test_ordering_the_original_is_a_rollback(world: World) -> None:
    ordered(world, (3, 4), (1, 2, 3))
    assert world.replicas("foo-0") == (1, 2, 3)
    assert world.wanted("foo-0") is None


def test_a_cancel_restores_the_original_order_exactly(world: World) -> None:
    ordered(world, (3, 4, 2), None)
    assert world.replicas("foo-0") == (1, 2, 3)
    assert world["foo-0"].isr == (1, 2, 3)
    assert world.dropped("foo-0") == [4]


def test_a_cancel_of_nothing_is_refused(world: World) -> None:
    assert world.alter({"foo-0": None})["foo-0"] == (ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, None)


def test_a_cancel_drops_new_replicas_that_are_in_sync(world: World) -> None:
    ordered(world, (1, 4, 5))
    world.isr("foo-0", (1, 2, 3, 4))
    ordered(world, None)
    assert world["foo-0"] == partition("foo-0", (1, 2, 3), leader_epoch=2, partition_epoch=3)


def orphaned() -> World:
    """Only a new replica is in sync, and it leads."""
    moving = partition("foo-0", (4, 5, 1, 2), adding=(4, 5), removing=(1, 2), isr=(4,), leader=4)
    return World().having(moving)


UNCLEAN = (
    "Unable to revert partition assignment for foo:0 because it would require an unclean leader election."
)


@pytest.mark.parametrize("target", [None, (1, 2), (5, 6)])
def test_an_undo_that_would_lose_the_data_is_refused_and_changes_nothing(target: Replicas | None) -> None:
    world = orphaned()
    assert world.alter({"foo-0": target})["foo-0"] == (ErrorCode.INVALID_REPLICA_ASSIGNMENT, UNCLEAN)
    assert (world.changes, world.effects) == ([], [])


def test_an_unclean_undo_is_done_where_the_topic_allows_it() -> None:
    world = orphaned().configured("unclean.leader.election.enable", "true")
    ordered(world, None)
    now = world["foo-0"]
    assert (now.replicas, now.isr, now.leader) == ((1, 2), (1,), 1)


def test_with_a_new_replica_dead_and_an_original_alive_an_undo_is_still_unclean() -> None:
    world = orphaned()
    world.stop(4)
    assert not world.alter({"foo-0": None})["foo-0"].ok


def test_with_no_replica_alive_a_rollback_cannot_make_it_worse() -> None:
    world = orphaned()
    world.state.live.clear()
    ordered(world, None)
    assert (world.replicas("foo-0"), world["foo-0"].isr) == ((1, 2), (1,))


def test_with_no_replica_alive_another_order_is_refused() -> None:
    world = orphaned()
    world.state.live.clear()
    assert world.alter({"foo-0": (5, 6)})["foo-0"].message == UNCLEAN


def test_a_rollback_with_an_original_gone_and_nobody_alive_waits_for_a_broker() -> None:
    world = stuck()
    world.start(6)
    world.put(world["foo-0"]._replace(isr=(6,), leader=6))
    for broker in range(1, 7):
        world.stop(broker)
    ordered(world, None)
    assert (world.phase("foo-0"), world["foo-0"].isr) == (Phase.MOVING, (6,))
    for broker in range(1, 7):
        world.start(broker)
    for _ in range(3):
        world.isr("foo-0", world.replicas("foo-0"))
    assert (world.replicas("foo-0"), world.wanted("foo-0")) == ((1, 2, 3), None)


def test_what_is_alive_goes_ahead_while_a_dead_target_is_waited_for() -> None:
    world = stuck()
    assert world.phase("foo-0") is Phase.WAITING
    assert world.why("foo-0") == "offline: broker 6"


def test_a_dead_target_is_gone_on_with_when_its_broker_comes() -> None:
    world = stuck()
    world.start(6)
    assert world.replicas("foo-0") == (4, 5, 6, 1)
    world.isr("foo-0", (4, 5, 6, 1))
    assert (world.replicas("foo-0"), world.wanted("foo-0")) == (TARGET, None)


def test_a_rollback_brings_back_what_earlier_steps_dropped() -> None:
    world = stuck()
    ordered(world, None)
    assert world.replicas("foo-0") == (1, 2, 3, 4, 5)
    for _ in range(2):
        world.isr("foo-0", world.replicas("foo-0"))
    assert (world.replicas("foo-0"), world.wanted("foo-0")) == ((1, 2, 3), None)


def test_a_second_cancel_does_not_undo_the_rollback() -> None:
    world = stuck()
    ordered(world, None)
    before = world["foo-0"]
    assert before.moving
    ordered(world, None)
    assert world["foo-0"] is before


def test_a_waiting_order_can_be_replaced_and_taken_back() -> None:
    world = World(live=(1, 2, 3, 4)).having(partition("foo-0", (1, 2, 3)))
    ordered(world, (1, 2, 6), (1, 2, 5))
    assert world.why("foo-0") == "offline: broker 5"
    ordered(world, None)
    assert (world.replicas("foo-0"), world.wanted("foo-0")) == ((1, 2, 3), None)


def test_a_partition_without_a_leader_waits_for_one() -> None:
    world = World().having(partition("foo-0", (1, 2), isr=(1,)))
    world.stop(1)
    ordered(world, (2, 3))
    assert world.why("foo-0") == "the partition has no leader"
    world.start(1)
    assert world.phase("foo-0") is Phase.MOVING


def test_a_new_order_after_the_end_begins_a_new_chain(world: World) -> None:
    ordered(world, (1, 2), (1, 4))
    wanted = world.wanted("foo-0")
    assert wanted is not None
    assert wanted.original == (1, 2)


def test_brokers_are_told_the_final_target_while_it_goes_on_and_none_after(world: World) -> None:
    ordered(world, TARGET)
    world.isr("foo-0", (1, 2, 3, 4))
    world.isr("foo-0", (1, 2, 3, 4, 5, 6))
    assert [told.target for told in world.published("foo-0")] == [TARGET, TARGET, ()]


def test_a_partition_without_a_leader_can_still_be_reordered() -> None:
    world = World(live=()).having(partition("foo-0", (1, 2), leader=NO_LEADER))
    ordered(world, (2, 1))
    assert (world.replicas("foo-0"), world.wanted("foo-0")) == ((2, 1), None)


def test_a_step_keeps_min_isr_by_who_is_in_sync_now() -> None:
    world = World(live=range(1, 6)).having(partition("foo-0", (1, 2, 3, 4), isr=(2, 3), leader=2))
    world.configured("min.insync.replicas", "2")
    ordered(world, (1, 6))
    assert world.replicas("foo-0") == (1, 2, 3)
    assert world.phase("foo-0") is Phase.WAITING


def test_a_cancel_that_stops_keeps_what_has_arrived() -> None:
    world = World().having(partition("foo-0", (1, 2, 3)))
    world.default("reassignment.cancel.mode", "stop")
    world.alter({"foo-0": (3, 4, 5)})
    world.isr("foo-0", (1, 2, 3, 4))
    world.alter({"foo-0": None})
    assert world.replicas("foo-0") == (3, 4, 1, 2)
    assert world.dropped("foo-0") == [5]
    assert world.state.finished[1][world["foo-0"].key].ending is Ending.STOPPED


def test_a_cancel_that_stops_before_the_first_step_leaves_the_list() -> None:
    world = World(live=range(1, 6)).having(partition("foo-0", (1, 2, 3)))
    world.default("reassignment.cancel.mode", "stop")
    world.alter({"foo-0": (1, 2, 6)})
    world.alter({"foo-0": None})
    assert (world.replicas("foo-0"), world.wanted("foo-0")) == ((1, 2, 3), None)
