import pytest

from common.error_codes import ErrorCode
from controller.cluster.brokers import PARTITIONS_PER_SLICE, holders
from controller.cluster.health import offline_brokers
from controller.machine import decide
from controller.messages.effects import BrokerJoined, BrokerLeft, DropReplica, Publish
from controller.messages.event import AnyEvent
from controller.messages.events import (
    BrokerStarted,
    BrokerStopped,
    ControlledShutdown,
    ControllerStarted,
    CreateTopics,
    LogDirFailed,
    NewTopic,
    ShutdownReply,
)
from controller.model.cluster import NO_LEADER, Partition
from controller.model.errors import DONE, Outcome
from controller.modes import EMBEDDED
from controller.reassignment.phases import Phase
from controller.state.state import Decision, State
from tests.builders import InMemoryController, key, partition, records, registration

TARGET = (4, 5, 6)


@pytest.fixture
def controller() -> InMemoryController:
    return InMemoryController().with_partitions(partition("foo-0", (1, 2, 3)))


def test_a_registering_broker_gets_a_new_epoch_and_the_full_state(
    controller: InMemoryController,
) -> None:
    d = controller.do(BrokerStarted(registration(7)))
    assert d.reply == 7
    assert controller.state.cluster.brokers[7].epoch == 7
    assert 7 in controller.state.cluster.live
    assert BrokerJoined(7) in d.effects


def test_a_broker_that_registers_again_outdates_its_old_epoch(controller: InMemoryController) -> None:
    assert controller.do(BrokerStarted(registration(2))).reply == 7
    assert len(controller.state.cluster.brokers) == 6


def test_a_dead_broker_leaves_leadership_and_isr(controller: InMemoryController) -> None:
    controller.stop(1)
    assert (controller["foo-0"].leader, controller["foo-0"].isr) == (2, (2, 3))
    assert controller.effects == [BrokerLeft(1), Publish(controller["foo-0"])]


def test_stopping_a_stopped_broker_changes_nothing(controller: InMemoryController) -> None:
    controller.stop(1)
    before = list(controller.effects)
    controller.stop(1)
    assert controller.effects == before


def test_a_partition_without_live_replicas_in_sync_has_no_leader_until_one_is_back(
    controller: InMemoryController,
) -> None:
    for broker in (1, 2, 3):
        controller.stop(broker)
    assert (controller["foo-0"].leader, controller["foo-0"].isr) == (NO_LEADER, (3,))
    controller.start(1)
    assert controller["foo-0"].leader == NO_LEADER
    controller.start(3)
    assert (controller["foo-0"].leader, controller["foo-0"].isr) == (3, (3,))


def test_with_unclean_election_the_first_returning_replica_leads(controller: InMemoryController) -> None:
    controller.with_topic_config("unclean.leader.election.enable", "true")
    for broker in (1, 2, 3):
        controller.stop(broker)
    controller.start(1)
    assert (controller["foo-0"].leader, controller["foo-0"].isr) == (1, (1,))


def test_when_an_adding_broker_dies_the_step_stays_in_flight(controller: InMemoryController) -> None:
    controller.alter({"foo-0": TARGET})
    controller.isr("foo-0", (1, 2, 3, 4))
    controller.stop(4)
    assert (controller["foo-0"].adding, controller["foo-0"].isr) == (TARGET, (1, 2, 3))
    assert controller.published("foo-0")[-1] == Publish(controller["foo-0"], target=TARGET)
    controller.start(4)
    controller.isr("foo-0", (1, 2, 3, 4, 5, 6))
    assert controller.replicas("foo-0") == TARGET


def test_when_the_leader_dies_during_a_step_an_adding_replica_may_lead(
    controller: InMemoryController,
) -> None:
    controller.alter({"foo-0": (4, 5, 2)})
    controller.isr("foo-0", (1, 2, 3, 4))
    controller.stop(1)
    assert (controller["foo-0"].leader, controller["foo-0"].adding) == (4, (4, 5))


def test_a_returning_broker_starts_the_steps_that_wait_for_it() -> None:
    controller = InMemoryController(live=(1, 2, 3)).with_partitions(partition("foo-0", (1, 2, 3)))
    controller.alter({"foo-0": (1, 2, 4)})
    assert controller.phase("foo-0") is Phase.WAITING
    controller.start(5)
    assert controller.phase("foo-0") is Phase.WAITING
    controller.start(4)
    assert controller.replicas("foo-0") == (1, 2, 4, 3)


def test_a_starting_controller_fences_the_previous_one(controller: InMemoryController) -> None:
    d = controller.do(ControllerStarted([registration(1)]))
    assert controller.state.cluster.controller_epoch == 1
    assert d.reply == {1: 7}


def test_a_restart_continues_a_step_in_flight(controller: InMemoryController) -> None:
    controller.alter({"foo-0": TARGET})
    again = controller.restart()
    assert again["foo-0"] == controller["foo-0"]
    again.isr("foo-0", (1, 2, 3, *TARGET))
    assert (again.replicas("foo-0"), again.reassignment_of("foo-0")) == (TARGET, None)
    assert again.dropped("foo-0") == [1, 2, 3]


def test_a_restart_starts_accepted_reassignments(controller: InMemoryController) -> None:
    controller.state.cluster.live.discard(4)
    controller.alter({"foo-0": (1, 2, 4)})
    assert controller.restart(live=range(1, 7)).replicas("foo-0") == (1, 2, 4, 3)


def test_a_restart_tells_partitions_that_move_from_others_of_their_topic() -> None:
    names = ["foo-0", "foo-1", "bar-0"]
    controller = InMemoryController().with_partitions(*(partition(name, (1, 2)) for name in names))
    controller.with_limits(partitions=1).alter(dict.fromkeys(names, (1, 3)))
    again = controller.restart()
    assert (again.in_flight(), len(again.state.backlog.costs)) == (["foo-0"], 1)
    assert [name for name in names if again.state.backlog.bucket_of(key(name))] == names[1:]


def test_a_restart_completes_steps_whose_replicas_are_in_sync(
    controller: InMemoryController,
) -> None:
    controller.alter({"foo-0": TARGET})
    controller.put(controller["foo-0"]._replace(isr=(1, 2, 3, *TARGET)))
    assert controller.restart().replicas("foo-0") == TARGET


def test_steps_completed_at_a_restart_are_published_to_joined_brokers(controller: InMemoryController) -> None:
    controller.alter({"foo-0": TARGET})
    controller.put(controller["foo-0"]._replace(isr=(1, 2, 3, *TARGET)))
    *told, published, dropped = controller.restart().effects
    assert told == [BrokerJoined(broker) for broker in range(1, 7)]
    assert (type(published), type(dropped)) == (Publish, DropReplica)


def test_a_restart_takes_dead_brokers_off_leadership(controller: InMemoryController) -> None:
    again = controller.restart(live=(2, 3, 4))
    assert (again["foo-0"].leader, again["foo-0"].isr) == (2, (2, 3))


def test_a_broker_that_is_not_registered_at_the_start_is_offline_and_gets_no_new_partitions() -> None:
    controller = InMemoryController((1, 2), live=()).with_partitions(partition("foo-0", (1, 2, 3)))
    controller.do(ControllerStarted([registration(1), registration(2)]))
    assert offline_brokers(controller.state) == [3]
    assert _brokers_of_new_topic(controller, "early") == {1, 2}
    controller.do(BrokerStarted(registration(3)))
    assert offline_brokers(controller.state) == []
    assert _brokers_of_new_topic(controller, "late") == {1, 2, 3}


def _brokers_of_new_topic(controller: InMemoryController, name: str) -> set[int]:
    controller.do(CreateTopics([NewTopic(name, name.encode().ljust(16), 6, 2)]))
    return {broker for created in controller.state.cluster.partitions[name] for broker in created.replicas}


def test_a_restart_loses_no_record(controller: InMemoryController) -> None:
    controller.alter({"foo-0": TARGET})
    before = set(records(controller.state))
    changed = {type(record).__name__ for record in before - set(records(controller.restart().state))}
    assert changed == {"ControllerEpoch", "Broker"}


def test_a_controlled_shutdown_moves_leadership_away(controller: InMemoryController) -> None:
    assert controller.shut_down(1).reply == ShutdownReply(DONE, [])
    assert (controller["foo-0"].leader, controller["foo-0"].isr) == (2, (2, 3))
    assert 1 in controller.state.cluster.live


def test_a_controlled_shutdown_keeps_partitions_without_another_leader() -> None:
    controller = InMemoryController().with_partitions(
        partition("foo-0", (1, 2), isr=(1,)), partition("foo-1", (2, 1), isr=(2,))
    )
    assert controller.shut_down(1).reply == ShutdownReply(DONE, [key("foo-0")])
    assert controller["foo-0"].leader == 1


def test_a_leader_that_waits_to_leave_never_stays_out_of_its_own_isr() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", (3, 2, 1), isr=(3,)))
    controller.shut_down(3)
    controller.isr("foo-0", (3, 2, 1))
    controller.shut_down(2)
    assert (controller["foo-0"].leader, controller["foo-0"].isr) == (1, (1,))


def test_a_broker_can_register_after_a_controlled_shutdown(controller: InMemoryController) -> None:
    controller.shut_down(1)
    controller.stop(1)
    assert controller.state.cluster.shutting_down == set()
    controller.start(1)
    assert controller.isr("foo-0", (2, 3, 1)).ok


@pytest.mark.parametrize(
    ("event", "error"),
    [
        (ControlledShutdown(9, -1), ErrorCode.BROKER_NOT_AVAILABLE),
        (ControlledShutdown(1, 99), ErrorCode.STALE_BROKER_EPOCH),
    ],
)
def test_a_controlled_shutdown_of_an_unknown_or_outdated_broker_is_refused(
    controller: InMemoryController, event: ControlledShutdown, error: ErrorCode
) -> None:
    assert controller.do(event).reply == ShutdownReply(Outcome(error), ())
    assert controller.changes == []


def test_a_replica_whose_log_dir_failed_leaves_while_its_broker_lives(controller: InMemoryController) -> None:
    controller.do(LogDirFailed(1, [key("foo-0"), key("foo-9")]))
    assert (controller["foo-0"].leader, controller["foo-0"].isr) == (2, (2, 3))
    assert 1 in controller.state.cluster.live


@pytest.mark.parametrize(
    "event", [BrokerStopped(1), ControlledShutdown(1, -1), ControllerStarted([registration(2)])]
)
def test_an_event_for_many_partitions_is_sliced(event: AnyEvent) -> None:
    count = PARTITIONS_PER_SLICE + 1
    controller = InMemoryController().with_partitions(*(partition(f"foo-{n}", (1, 2)) for n in range(count)))
    controller.state.cluster.live -= {1} if isinstance(event, ControllerStarted) else set()
    d = Decision(controller.state)
    slices = decide(d, event)
    next(slices)
    assert len([change for change in d.changes if isinstance(change, Partition)]) == PARTITIONS_PER_SLICE
    assert list(slices) == []
    assert all(now.leader == 2 for now in controller.state.cluster.all_partitions())


def test_the_return_of_a_broker_with_many_partitions_is_sliced() -> None:
    count = PARTITIONS_PER_SLICE + 1
    controller = InMemoryController(live=()).with_partitions(
        *(partition(f"foo-{n}", (1,), leader=NO_LEADER) for n in range(count))
    )
    assert len(list(decide(Decision(controller.state), BrokerStarted(registration(1))))) == 1
    assert controller.state.cluster.offline == set()


@pytest.mark.parametrize(
    ("event", "slices"), [(ControllerStarted([registration(1)]), 2), (BrokerStarted(registration(2)), 1)]
)
def test_steps_that_wait_for_a_broker_start_in_slices(event: AnyEvent, slices: int) -> None:
    count = PARTITIONS_PER_SLICE
    controller = InMemoryController(live=[1]).with_partitions(
        *(partition(f"foo-{n}", [1]) for n in range(count))
    )
    controller.alter({f"foo-{n}": [2] for n in range(count)})
    assert len(controller.state.orders.waiting) == count
    assert len(list(decide(Decision(controller.state), event))) == slices


def test_brokers_with_replicas_and_targets_are_holders() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", [1, 2]), partition("foo-1", [9, 1]))
    controller.with_limits(partitions=1)
    controller.alter({"foo-0": [1, 4], "foo-1": [5, 1]})
    assert holders(controller.state) == {1, 2, 4, 5, 9}


def test_the_holders_of_a_cluster_that_is_not_known_yet_are_not_known() -> None:
    assert holders(State(mode=EMBEDDED)) is None
