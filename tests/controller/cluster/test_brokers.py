import pytest

from common.error_codes import ErrorCode
from controller.cluster.brokers import PARTITIONS_PER_SLICE
from controller.machine import decide
from controller.messages.effects import BrokerJoined, BrokerLeft, DropReplica, Publish
from controller.messages.event import AnyEvent
from controller.messages.events import (
    BrokerStarted,
    BrokerStopped,
    ControlledShutdown,
    ControllerStarted,
    LogDirFailed,
    ShutdownReply,
)
from controller.model.cluster import NO_LEADER, Partition
from controller.model.errors import DONE, Outcome
from controller.reassignment.phases import Phase
from controller.state.decision import Decision
from tests.builders import World, key, partition, records, registration

TARGET = (4, 5, 6)


@pytest.fixture
def world() -> World:
    return World().having(partition("foo-0", (1, 2, 3)))


def test_a_broker_that_registers_gets_a_new_epoch_and_is_told_everything(world: World) -> None:
    d = world.do(BrokerStarted(registration(7)))
    assert d.reply == 7
    assert world.state.brokers[7].epoch == 7
    assert 7 in world.state.live
    assert BrokerJoined(7) in d.effects


def test_a_broker_that_registers_again_outdates_its_old_epoch(world: World) -> None:
    assert world.do(BrokerStarted(registration(2))).reply == 7
    assert len(world.state.brokers) == 6


def test_a_dead_broker_leaves_leadership_and_isr(world: World) -> None:
    world.stop(1)
    assert (world["foo-0"].leader, world["foo-0"].isr) == (2, (2, 3))
    assert world.effects == [BrokerLeft(1), Publish(world["foo-0"])]


def test_a_broker_that_is_dead_already_does_not_die_again(world: World) -> None:
    world.stop(1)
    before = list(world.effects)
    world.stop(1)
    assert world.effects == before


def test_a_partition_without_live_replicas_in_sync_has_no_leader_until_one_is_back(world: World) -> None:
    for broker in (1, 2, 3):
        world.stop(broker)
    assert (world["foo-0"].leader, world["foo-0"].isr) == (NO_LEADER, (3,))
    world.start(1)
    assert world["foo-0"].leader == NO_LEADER
    world.start(3)
    assert (world["foo-0"].leader, world["foo-0"].isr) == (3, (3,))


def test_an_unclean_topic_takes_the_first_replica_that_is_back(world: World) -> None:
    world.configured("unclean.leader.election.enable", "true")
    for broker in (1, 2, 3):
        world.stop(broker)
    world.start(1)
    assert (world["foo-0"].leader, world["foo-0"].isr) == (1, (1,))


def test_when_an_adding_broker_dies_the_step_stays_in_flight(world: World) -> None:
    world.alter({"foo-0": TARGET})
    world.isr("foo-0", (1, 2, 3, 4))
    world.stop(4)
    assert (world["foo-0"].adding, world["foo-0"].isr) == (TARGET, (1, 2, 3))
    assert world.published("foo-0")[-1] == Publish(world["foo-0"], target=TARGET)
    world.start(4)
    world.isr("foo-0", (1, 2, 3, 4, 5, 6))
    assert world.replicas("foo-0") == TARGET


def test_when_the_leader_dies_in_mid_move_an_adding_replica_may_lead(world: World) -> None:
    world.alter({"foo-0": (4, 5, 2)})
    world.isr("foo-0", (1, 2, 3, 4))
    world.stop(1)
    assert (world["foo-0"].leader, world["foo-0"].adding) == (4, (4, 5))


def test_a_returning_broker_sets_off_what_waits_for_it() -> None:
    world = World(live=(1, 2, 3)).having(partition("foo-0", (1, 2, 3)))
    world.alter({"foo-0": (1, 2, 4)})
    assert world.phase("foo-0") is Phase.WAITING
    world.start(5)
    assert world.phase("foo-0") is Phase.WAITING
    world.start(4)
    assert world.replicas("foo-0") == (1, 2, 4, 3)


def test_a_controller_that_starts_fences_the_one_before(world: World) -> None:
    d = world.do(ControllerStarted([registration(1)]))
    assert world.state.controller_epoch == 1
    assert d.reply == {1: 7}


def test_a_restart_goes_on_with_a_move_in_flight(world: World) -> None:
    world.alter({"foo-0": TARGET})
    again = world.restarted()
    assert again["foo-0"] == world["foo-0"]
    again.isr("foo-0", (1, 2, 3, *TARGET))
    assert (again.replicas("foo-0"), again.wanted("foo-0")) == (TARGET, None)
    assert again.dropped("foo-0") == [1, 2, 3]


def test_a_restart_begins_what_was_only_accepted(world: World) -> None:
    world.state.live.discard(4)
    world.alter({"foo-0": (1, 2, 4)})
    assert world.restarted(live=range(1, 7)).replicas("foo-0") == (1, 2, 4, 3)


def test_a_restart_completes_what_was_in_sync_when_the_controller_died(world: World) -> None:
    world.alter({"foo-0": TARGET})
    world.put(world["foo-0"]._replace(isr=(1, 2, 3, *TARGET)))
    assert world.restarted().replicas("foo-0") == TARGET


def test_what_a_restart_completes_is_told_to_brokers_that_have_joined(world: World) -> None:
    world.alter({"foo-0": TARGET})
    world.put(world["foo-0"]._replace(isr=(1, 2, 3, *TARGET)))
    *told, published, dropped = world.restarted().effects
    assert told == [BrokerJoined(broker) for broker in range(1, 7)]
    assert (type(published), type(dropped)) == (Publish, DropReplica)


def test_a_restart_takes_dead_brokers_off_leadership(world: World) -> None:
    again = world.restarted(live=(2, 3, 4))
    assert (again["foo-0"].leader, again["foo-0"].isr) == (2, (2, 3))


def test_a_restart_loses_no_record(world: World) -> None:
    world.alter({"foo-0": TARGET})
    before = set(records(world.state))
    changed = {type(record).__name__ for record in before - set(records(world.restarted().state))}
    assert changed == {"ControllerEpoch", "Broker"}


def test_a_broker_that_asks_to_leave_gives_up_its_leadership(world: World) -> None:
    assert world.shut_down(1).reply == ShutdownReply(DONE, [])
    assert (world["foo-0"].leader, world["foo-0"].isr) == (2, (2, 3))
    assert 1 in world.state.live


def test_what_only_the_leaving_broker_can_lead_remains() -> None:
    world = World().having(partition("foo-0", (1, 2), isr=(1,)), partition("foo-1", (2, 1), isr=(2,)))
    assert world.shut_down(1).reply == ShutdownReply(DONE, [key("foo-0")])
    assert world["foo-0"].leader == 1


def test_a_leader_that_waits_to_leave_never_stays_out_of_its_own_isr() -> None:
    world = World().having(partition("foo-0", (3, 2, 1), isr=(3,)))
    world.shut_down(3)
    world.isr("foo-0", (3, 2, 1))
    world.shut_down(2)
    assert (world["foo-0"].leader, world["foo-0"].isr) == (1, (1,))


def test_a_broker_that_left_in_order_is_welcome_again(world: World) -> None:
    world.shut_down(1)
    world.stop(1)
    assert world.state.shutting_down == set()
    world.start(1)
    assert world.isr("foo-0", (2, 3, 1)).ok


@pytest.mark.parametrize(
    ("event", "error"),
    [
        (ControlledShutdown(9, -1), ErrorCode.BROKER_NOT_AVAILABLE),
        (ControlledShutdown(1, 99), ErrorCode.STALE_BROKER_EPOCH),
    ],
)
def test_a_leave_of_an_unknown_or_outdated_broker_is_refused(
    world: World, event: ControlledShutdown, error: ErrorCode
) -> None:
    assert world.do(event).reply == ShutdownReply(Outcome(error), ())
    assert world.changes == []


def test_a_replica_whose_log_dir_failed_leaves_while_its_broker_lives(world: World) -> None:
    world.do(LogDirFailed(1, [key("foo-0"), key("foo-9")]))
    assert (world["foo-0"].leader, world["foo-0"].isr) == (2, (2, 3))
    assert 1 in world.state.live


@pytest.mark.parametrize(
    "event", [BrokerStopped(1), ControlledShutdown(1, -1), ControllerStarted([registration(2)])]
)
def test_what_concerns_many_partitions_is_taken_in_slices(event: AnyEvent) -> None:
    count = PARTITIONS_PER_SLICE + 1
    world = World().having(*(partition(f"foo-{n}", (1, 2)) for n in range(count)))
    world.state.live -= {1} if isinstance(event, ControllerStarted) else set()
    d = Decision(world.state)
    slices = decide(d, event)
    next(slices)
    assert len([change for change in d.changes if isinstance(change, Partition)]) == PARTITIONS_PER_SLICE
    assert list(slices) == []
    assert all(now.leader == 2 for now in world.state.all_partitions())


def test_the_return_of_a_broker_to_many_partitions_is_taken_in_slices() -> None:
    count = PARTITIONS_PER_SLICE + 1
    world = World(live=()).having(*(partition(f"foo-{n}", (1,), leader=NO_LEADER) for n in range(count)))
    assert len(list(decide(Decision(world.state), BrokerStarted(registration(1))))) == 1
    assert world.state.offline == set()


@pytest.mark.parametrize(
    ("event", "slices"), [(ControllerStarted([registration(1)]), 2), (BrokerStarted(registration(2)), 1)]
)
def test_what_waits_for_a_broker_is_taken_up_in_slices(event: AnyEvent, slices: int) -> None:
    count = PARTITIONS_PER_SLICE
    world = World(live=[1]).having(*(partition(f"foo-{n}", [1]) for n in range(count)))
    world.alter({f"foo-{n}": [2] for n in range(count)})
    assert len(world.state.waiting) == count
    assert len(list(decide(Decision(world.state), event))) == slices
