import pytest

from controller.execution import direct_steps
from controller.messages.effects import DropReplica, Publish
from controller.model.cluster import NO_LEADER, Partition, Replicas
from controller.state.state import Decision
from tests.builders import InMemoryController, partition

HEALTHY = partition("foo-0", (1, 2, 3))
MOVING = partition("foo-0", (4, 5, 6, 1, 2, 3), adding=(4, 5, 6), removing=(1, 2, 3), isr=(1, 2, 3), leader=1)
TARGET = (4, 5, 6)


def begin(controller: InMemoryController, following: Replicas) -> tuple[bool, Partition, Decision]:
    d = Decision(controller.state)
    complete = direct_steps.begin(d, controller["foo-0"], following, following)
    return complete, controller["foo-0"], d


def completed(controller: InMemoryController, target: Replicas = TARGET) -> tuple[bool, Partition, Decision]:
    d = Decision(controller.state)
    complete = direct_steps.complete(d, controller["foo-0"], target)
    return complete, controller["foo-0"], d


def test_a_step_first_adds_new_replicas_and_lists_those_to_remove() -> None:
    complete, now, _ = begin(InMemoryController().with_partitions(HEALTHY), TARGET)
    assert not complete
    assert (now.replicas, now.adding, now.removing) == ((4, 5, 6, 1, 2, 3), (4, 5, 6), (1, 2, 3))
    assert (now.leader, now.isr) == (1, (1, 2, 3))


def test_a_starting_step_publishes_a_new_epoch_and_the_new_replicas() -> None:
    _, now, d = begin(InMemoryController().with_partitions(HEALTHY), TARGET)
    assert d.effects == [Publish(now, new=(4, 5, 6), target=TARGET)]
    assert (now.leader_epoch, now.partition_epoch) == (1, 1)


def test_a_step_waits_until_all_adding_replicas_are_in_sync() -> None:
    controller = InMemoryController().with_partitions(MOVING._replace(isr=(1, 2, 3, 4, 5)))
    assert completed(controller)[0] is False
    assert controller["foo-0"].moving


def test_a_finished_step_drops_the_rest_in_one_record() -> None:
    complete, now, d = completed(
        InMemoryController().with_partitions(MOVING._replace(isr=(1, 2, 3, 4, 5, 6)))
    )
    assert complete
    assert now == partition("foo-0", TARGET, leader_epoch=1, partition_epoch=1)
    assert d.effects == [Publish(now), DropReplica("foo", 0, (1, 2, 3), 1)]


def test_a_remaining_leader_is_kept_and_a_removed_one_is_replaced_by_the_first_in_sync() -> None:
    kept = partition("foo-0", (2, 3, 1, 4), adding=(2,), removing=(4,), leader=3)
    assert completed(InMemoryController().with_partitions(kept))[1].leader == 3
    few = InMemoryController(live=(1, 2, 3, 4))
    assert completed(few.with_partitions(kept._replace(leader=4)))[1].leader == 2


def test_the_isr_keeps_its_order() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", (2, 1, 3)))
    assert begin(controller, (1, 2))[1].isr == (2, 1)


def test_an_offline_remaining_replica_does_not_delay_the_step() -> None:
    controller = InMemoryController(live=(1, 3, 4)).with_partitions(
        partition("foo-0", (1, 2, 4, 3), adding=(4,), removing=(3,), isr=(1, 3, 4))
    )
    complete, now, _ = completed(controller)
    assert complete
    assert (now.replicas, now.isr) == ((1, 2, 4), (1, 4))


def test_no_replica_is_dropped_while_the_next_list_is_under_min_isr() -> None:
    controller = (
        InMemoryController()
        .with_partitions(
            partition("foo-0", (1, 2, 4, 3), adding=(4,), removing=(3,), isr=(1, 3, 4), leader=1)
        )
        .with_topic_config("min.insync.replicas", "3")
    )
    assert completed(controller)[1].replicas == (1, 2, 4, 3)


def test_a_lower_factor_waits_for_each_replica_that_stays() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", (1, 2, 3), isr=(1, 3)))
    complete, now, _ = begin(controller, (1, 2))
    assert not complete
    assert (now.replicas, now.adding, now.removing) == ((1, 2, 3), (), (3,))
    controller.put(now._replace(isr=(1, 2, 3)))
    assert completed(controller, (1, 2))[1].replicas == (1, 2)


def test_min_isr_counts_no_more_than_the_next_list_has_members() -> None:
    controller = InMemoryController().with_partitions(HEALTHY).with_topic_config("min.insync.replicas", "3")
    assert begin(controller, (1,))[1].replicas == (1,)


def test_no_replica_is_dropped_while_no_next_replica_can_lead() -> None:
    controller = InMemoryController(live=(1,)).with_partitions(
        partition("foo-0", (2, 1), removing=(1,), leader=1)
    )
    complete, now, _ = completed(controller)
    assert complete
    assert (now.replicas, now.removing, now.isr, now.leader) == ((2, 1), (), (2, 1), 1)


def test_a_step_without_a_leader_continues() -> None:
    controller = InMemoryController(live=()).with_partitions(
        partition("foo-0", (2, 1), removing=(1,), leader=-1)
    )
    assert completed(controller)[0] is False


def test_replicas_in_sync_stay_while_none_may_be_dropped() -> None:
    controller = InMemoryController(live=(1, 3, 4)).with_partitions(
        partition("foo-0", (1, 2, 4, 3), adding=(4,), removing=(3,), isr=(1, 3, 4))
    )
    complete, now, d = completed(controller.with_topic_config("min.insync.replicas", "3"))
    assert complete
    assert (now.replicas, now.isr, now.adding, now.removing) == ((1, 2, 4, 3), (1, 3, 4), (), ())
    assert not any(isinstance(effect, DropReplica) for effect in d.effects)


def test_a_reorder_is_published_in_metadata_only() -> None:
    complete, now, d = begin(InMemoryController().with_partitions(HEALTHY), (3, 2, 1))
    assert complete
    assert (now.leader, now.leader_epoch, now.partition_epoch) == (1, 0, 0)
    assert d.effects == [Publish(now, lead=False)]


def test_an_undone_step_is_sent_to_replicas_even_if_only_removals_are_undone() -> None:
    controller = InMemoryController().with_partitions(
        partition("foo-0", (1, 2, 3), removing=(3,), isr=(1, 3))
    )
    complete, now, d = begin(controller, (1, 2, 3))
    assert complete
    assert (now.removing, now.leader_epoch) == ((), 1)
    assert d.effects == [Publish(now)]


def test_replicas_that_only_the_replaced_step_added_are_dropped_immediately() -> None:
    controller = InMemoryController(range(1, 10)).with_partitions(MOVING._replace(isr=(1, 2, 3, 4)))
    complete, now, d = begin(controller, (7, 8, 6))
    assert not complete
    assert (now.replicas, now.adding, now.isr) == ((7, 8, 6, 1, 2, 3), (7, 8, 6), (1, 2, 3))
    assert d.effects[1:] == [DropReplica("foo", 0, (4, 5), 1)]


def test_a_replica_already_in_sync_is_not_published_as_new() -> None:
    controller = InMemoryController().with_partitions(MOVING._replace(isr=(1, 2, 3, 4)))
    _, _, d = begin(controller, (4, 5))
    assert d.effects[0] == Publish(controller["foo-0"], new=(5,), target=(4, 5))


def test_an_undo_that_removes_the_leader_elects_another() -> None:
    controller = InMemoryController().with_partitions(MOVING._replace(isr=(2, 3, 4), leader=4))
    assert begin(controller, (1, 2, 3))[1].leader == 2


def test_an_undo_keeps_data_when_an_old_or_next_replica_is_in_sync() -> None:
    assert direct_steps.keeps_data(MOVING._replace(isr=(1, 4)), (1, 2, 3))
    assert direct_steps.keeps_data(MOVING._replace(isr=(4,)), (4, 7))
    assert not direct_steps.keeps_data(MOVING._replace(isr=(4, 5)), (1, 2, 3))


@pytest.mark.parametrize(("live", "leader"), [((2, 3, 7), 2), ((), NO_LEADER)])
def test_without_replicas_in_sync_an_old_replica_leads_and_never_an_empty_one(
    live: Replicas, leader: int
) -> None:
    controller = InMemoryController(range(1, 8), live=live).with_partitions(
        MOVING._replace(isr=(4,), leader=4)
    )
    _, now, _ = begin(controller, (7, 2))
    assert now.leader == leader
    assert now.isr == ((2,) if live else (1,))


def test_a_reorder_that_elects_a_leader_is_sent_to_the_replicas() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", (1, 2), leader=NO_LEADER))
    complete, now, d = begin(controller, (2, 1))
    assert complete
    assert (now.leader, now.leader_epoch) == (2, 1)
    assert d.effects == [Publish(now)]
