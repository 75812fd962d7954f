"""What others have stored enters the state as it is, and what follows from it is decided."""

from typing import Any

from controller.machine import decide
from controller.messages.effects import BrokerJoined, ConfigsChanged, Publish
from controller.messages.event import AnyEvent
from controller.messages.events import AlterReassignments, BrokerChanged
from controller.messages.job_events import AlterRow, AlterTopic
from controller.messages.zookeeper_events import ConfigsStored, Halt, PartitionsStored, TopicStored
from controller.model.cluster import (
    NO_ID,
    NO_LEADER,
    Config,
    Partition,
    Reassignment,
    ResourceType,
    TopicPartition,
)
from controller.state.decision import Decision
from tests.builders import World, partition, registration

FOO = TopicPartition("foo", 0)
MOVING = partition("foo-0", (3, 1, 2), isr=(1, 2), leader=1, adding=(3,), removing=(1,))


def do(world: World, event: AnyEvent) -> Decision:
    """The decision, without the replay of `World.do`: what is observed is no change."""
    d = Decision(world.state)
    for _ in decide(d, event):
        pass
    return d


def bare(name: str, number: int, *replicas: int) -> Partition:
    return Partition(name, number, replicas, replicas, NO_LEADER, -1, -1)


def test_an_isr_that_completes_a_step_ends_it() -> None:
    world = World().having(MOVING)
    do(world, PartitionsStored([MOVING._replace(isr=(1, 2, 3), partition_epoch=1)]))
    now = world.state.partitions["foo"][0]
    assert (now.replicas, now.isr, now.partition_epoch) == ((3, 2), (2, 3), 2)


def test_an_isr_that_completes_nothing_is_told_to_all_and_not_stored_again() -> None:
    world = World().having(partition("foo-0", (1, 2, 3)))
    seen = partition("foo-0", (1, 2, 3))._replace(isr=(1, 2), partition_epoch=1)
    d = do(world, PartitionsStored([seen]))
    assert d.changes == []
    assert d.effects == [Publish(seen, lead=False)]


def test_what_is_older_than_what_was_decided_is_passed_over() -> None:
    world = World().having(partition("foo-0", (1, 2, 3))._replace(leader_epoch=4, partition_epoch=7))
    known = world.state.partitions["foo"][0]
    for stale in (
        known._replace(isr=(1,), partition_epoch=7),
        known._replace(leader_epoch=3, partition_epoch=9),
    ):
        assert do(world, PartitionsStored([stale])).effects == []
    assert world.state.partitions["foo"][0] is known


def test_a_new_topic_is_led_by_its_first_live_replica() -> None:
    world = World(live=[2, 3])
    d = do(world, TopicStored("foo", NO_ID, [bare("foo", 0, 1, 2, 3)]))
    made = Partition("foo", 0, (1, 2, 3), (2, 3), 2, 0, 0)
    assert d.changes == [made]
    assert d.effects == [Publish(made, new=(1, 2, 3))]


def test_a_new_topic_without_a_live_replica_waits_for_one() -> None:
    world = World(live=[2])
    assert do(world, TopicStored("foo", NO_ID, [bare("foo", 0, 1)])).changes == []
    assert world.state.offline == {FOO}


def test_more_partitions_of_a_topic_are_led_too() -> None:
    world = World().having(partition("foo-0", (1, 2)))
    do(world, TopicStored("foo", NO_ID, [bare("foo", 0, 1, 2), bare("foo", 1, 2, 1)]))
    assert [each.leader for each in world.state.partitions["foo"]] == [1, 2]


def test_values_that_make_no_sense_are_taken_for_not_set() -> None:
    world = World()
    limit = "reassignment.max.concurrent.partition.movements"
    values = {limit: "many", "log.cleaner.threads": "2", "reassignment.parallel.replica.count": "1"}
    d = do(world, ConfigsStored(ResourceType.BROKER, "", values))
    assert d.effects == [ConfigsChanged(ResourceType.BROKER, "")]
    assert world.state.backlog.usage.limits.per_partition == 1
    assert set(world.state.configs[ResourceType.BROKER, ""]) == {
        "log.cleaner.threads",
        "reassignment.max.concurrent.replica.movements.per.partition",
    }


def test_values_that_are_gone_are_gone() -> None:
    world = World()
    world.put(Config(ResourceType.TOPIC, "foo", "retention.ms", "5"))
    do(world, ConfigsStored(ResourceType.TOPIC, "foo", {}))
    assert world.state.configs == {}


def test_a_broker_that_moved_is_told_everything_again() -> None:
    world = World()
    d = do(world, BrokerChanged(registration(2)._replace(port=1)))
    assert world.state.brokers[2].port == 1
    assert d.effects == [BrokerJoined(2)]


def test_a_broker_that_is_gone_cannot_change() -> None:
    world = World(live=[1])
    outcome: Any = do(world, BrokerChanged(registration(2)._replace(port=1)))
    assert outcome.effects == []


def adopting() -> World:
    """A step that another controller began."""
    world = World().having(MOVING)
    world.state.put(Reassignment("foo", 0, MOVING.current, MOVING.next))
    return world


def order(number: int, *replicas: int) -> AlterReassignments:
    return AlterReassignments([AlterTopic("foo", [AlterRow(number, replicas)])])


def test_while_halted_nothing_starts() -> None:
    world = World().having(partition("foo-0", (1, 2)))
    do(world, Halt(True))
    do(world, order(0, 3, 2))
    assert not world.state.partitions["foo"][0].moving
    do(world, Halt(False))
    assert world.state.partitions["foo"][0].adding == (3,)


def test_while_halted_a_step_in_flight_is_finished() -> None:
    world = adopting()
    do(world, Halt(True))
    do(world, PartitionsStored([MOVING._replace(isr=(1, 2, 3), partition_epoch=1)]))
    assert world.state.partitions["foo"][0].replicas == (3, 2)
