from common.error_codes import ErrorCode
from controller.messages.effects import DropReplica, TopicDeleted
from controller.messages.events import (
    AlterReassignments,
    BrokerRegistration,
    BrokerStarted,
    BrokerStopped,
    Continue,
    ControlledShutdown,
    CreateTopics,
    DeleteTopics,
    NewTopic,
)
from controller.messages.job_events import RollBackJob
from controller.model.cluster import NO_LEADER
from controller.model.errors import DONE
from controller.model.profile import ZOOKEEPER
from tests.builders import World, key, partition
from tests.controller.topic_requests import ID, create, delete, grow


def test_a_deleted_topic_goes_with_its_partitions_configs_and_replicas() -> None:
    world = World().having(partition("foo-0", (1, 2)), partition("foo-1", (2, 1), isr=(2,), leader=NO_LEADER))
    world.configured("min.insync.replicas", "2")
    assert delete(world) is DONE
    state = world.state
    assert (state.topics, state.partitions, state.topic_names, state.configs) == ({}, {}, {}, {})
    assert (state.offline, state.under_replicated) == (set(), set())
    assert world.effects == [
        DropReplica("foo", 1, (2, 1), -2),
        DropReplica("foo", 0, (1, 2), -2),
        TopicDeleted("foo"),
    ]


def test_sizes_go_with_their_topic() -> None:
    world = World().having(partition("foo-0", (1, 2)), partition("bar-0", (1, 2)))
    world.state.sizes.update({key("foo-0"): 7, key("bar-0"): 8})
    assert delete(world) is DONE
    assert world.state.sizes == {key("bar-0"): 8}


def test_the_deletion_of_a_moving_topic_waits_until_nothing_of_it_moves() -> None:
    world = World().having(partition("foo-0", (1,)), partition("foo-1", (2,)))
    world.alter({"foo-0": (3,), "foo-1": (3,)})
    assert delete(world) is DONE
    assert world.state.topics["foo"].deleting
    world.isr("foo-0", (1, 3))
    assert "foo" in world.state.topics
    world.isr("foo-1", (2, 3))
    assert "foo" not in world.state.topics
    assert world.effects[-1] == TopicDeleted("foo")


def test_a_cancel_lets_a_held_back_deletion_go_on() -> None:
    world = World().having(partition("foo-0", (1,)))
    world.alter({"foo-0": (3,)})
    delete(world)
    world.alter({"foo-0": None})
    assert "foo" not in world.state.topics


def test_a_roll_back_takes_nothing_back_of_a_topic_that_is_being_deleted() -> None:
    world = World().having(partition("foo-0", (1,)), partition("foo-1", (1,)))
    world.alter({"foo-0": (3,), "foo-1": (3,)})
    world.isr("foo-0", (1, 3))
    delete(world)
    world.do(RollBackJob(1))
    assert (list(world.state.topics), world.moving()) == (["foo"], ["foo-1"])
    world.settle()
    assert (world.state.topics, world.state.reassignments) == ({}, {})


def test_a_restart_takes_up_a_deletion_that_was_held_back() -> None:
    world = World().having(partition("foo-0", (1,)))
    world.put(world.state.topics["foo"]._replace(deleting=True))
    assert "foo" not in world.restarted().state.topics


def test_a_held_back_deletion_does_not_take_a_later_topic_of_the_same_name() -> None:
    world = World().having(partition("foo-0", (1,)))
    world.alter({"foo-0": (3,)})
    delete(world)
    world.decide(AlterReassignments(None))
    world.decide(DeleteTopics(["foo"]))
    world.decide(CreateTopics([NewTopic("foo", ID)]))
    world.do(Continue())
    assert "foo" in world.state.topics


def test_a_topic_that_waits_for_its_deletion_does_not_grow() -> None:
    world = World().having(partition("foo-0", (1,)))
    world.alter({"foo-0": (3,)})
    delete(world)
    assert grow(world, 2).error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_topic_of_the_same_name_begins_anew() -> None:
    world = World().having(partition("foo-0", (1, 2), leader=NO_LEADER))
    delete(world)
    create(world, partitions=1, replication_factor=1)
    assert (world["foo-0"].leader_epoch, world.phase("foo-0").value) == (0, "idle")


def test_what_waits_for_a_broker_does_not_hold_a_deletion_back() -> None:
    world = World(live=range(1, 6)).having(partition("foo-0", (1, 2)))
    world.alter({"foo-0": (1, 6)})
    world.do(DeleteTopics(["foo"]))
    assert (world.state.topics, world.state.reassignments) == ({}, {})


def lives(world: World, broker: int) -> None:
    world.do(BrokerStarted(BrokerRegistration(broker, "host", 9092, None)))


def test_where_brokers_would_keep_its_replicas_a_deletion_waits_for_them() -> None:
    world = World().having(partition("foo-0", [1, 2]), partition("bar-0", [1, 3]))
    world.state.profile = ZOOKEEPER
    world.do(BrokerStopped(2))
    assert [delete(world), delete(world, "bar")] == [DONE, DONE]
    assert [(topic.name, topic.deleting) for topic in world.state.topics.values()] == [("foo", True)]
    lives(world, 2)
    assert world.state.topics == {}
    assert world.effects[-1] == TopicDeleted("foo")


def test_a_broker_that_has_nothing_of_a_topic_lets_no_deletion_go_on() -> None:
    world = World().having(partition("foo-0", [1, 2]))
    world.state.profile = ZOOKEEPER
    for broker in (2, 3):
        world.do(BrokerStopped(broker))
    delete(world)
    lives(world, 3)
    assert "foo" in world.state.topics


def test_a_broker_that_is_about_to_stop_is_waited_for_too() -> None:
    world = World().having(partition("foo-0", [1, 2]))
    world.state.profile = ZOOKEEPER
    world.do(ControlledShutdown(2, -1))
    delete(world)
    world.do(BrokerStopped(2))
    assert "foo" in world.state.topics
    lives(world, 2)
    assert world.state.topics == {}
