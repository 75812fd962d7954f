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
    ReplicasDeleted,
)
from controller.messages.job_events import RollBackJob
from controller.model.cluster import NO_LEADER, Ending
from controller.model.errors import DONE
from controller.modes import ZOOKEEPER
from tests.builders import InMemoryController, key, partition
from tests.controller.topic_requests import ID, create, delete, grow


def test_deleting_a_topic_deletes_its_partitions_configs_and_replicas() -> None:
    controller = InMemoryController().with_partitions(
        partition("foo-0", (1, 2)), partition("foo-1", (2, 1), isr=(2,), leader=NO_LEADER)
    )
    controller.with_topic_config("min.insync.replicas", "2")
    assert delete(controller) is DONE
    state = controller.state
    assert (
        state.cluster.topics,
        state.cluster.partitions,
        state.cluster.topic_names,
        state.settings.configs,
    ) == ({}, {}, {}, {})
    assert (state.cluster.offline, state.cluster.under_replicated) == (set(), set())
    assert controller.effects == [
        DropReplica("foo", 1, (2, 1), -2),
        DropReplica("foo", 0, (1, 2), -2),
        TopicDeleted("foo"),
    ]


def test_deleting_a_topic_deletes_its_sizes() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", (1, 2)), partition("bar-0", (1, 2)))
    controller.state.cluster.sizes.update({key("foo-0"): 7, key("bar-0"): 8})
    assert delete(controller) is DONE
    assert controller.state.cluster.sizes == {key("bar-0"): 8}


def test_the_deletion_of_a_topic_waits_for_its_steps_in_flight() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", (1,)), partition("foo-1", (2,)))
    controller.alter({"foo-0": (3,), "foo-1": (3,)})
    assert delete(controller) is DONE
    assert controller.state.cluster.topics["foo"].deleting
    controller.isr("foo-0", (1, 3))
    assert "foo" in controller.state.cluster.topics
    controller.isr("foo-1", (2, 3))
    assert "foo" not in controller.state.cluster.topics
    assert controller.effects[-1] == TopicDeleted("foo")


def test_a_cancel_lets_a_delayed_deletion_proceed() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", (1,)))
    controller.alter({"foo-0": (3,)})
    delete(controller)
    controller.alter({"foo-0": None})
    assert "foo" not in controller.state.cluster.topics


def test_a_rollback_skips_a_topic_that_is_being_deleted() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", (1,)), partition("foo-1", (1,)))
    controller.alter({"foo-0": (3,), "foo-1": (3,)})
    controller.isr("foo-0", (1, 3))
    delete(controller)
    controller.do(RollBackJob(1))
    assert (list(controller.state.cluster.topics), controller.in_flight()) == (["foo"], ["foo-1"])
    controller.settle()
    assert (controller.state.cluster.topics, controller.state.orders.reassignments) == ({}, {})


def test_a_restart_resumes_a_delayed_deletion() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", (1,)))
    controller.put(controller.state.cluster.topics["foo"]._replace(deleting=True))
    assert "foo" not in controller.restart().state.cluster.topics


def test_a_delayed_deletion_does_not_delete_a_later_topic_of_the_same_name() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", (1,)))
    controller.alter({"foo-0": (3,)})
    delete(controller)
    controller.decide(AlterReassignments(None))
    controller.decide(DeleteTopics(["foo"]))
    controller.decide(CreateTopics([NewTopic("foo", ID)]))
    controller.do(Continue())
    assert "foo" in controller.state.cluster.topics


def test_a_topic_that_waits_for_its_deletion_does_not_grow() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", (1,)))
    controller.alter({"foo-0": (3,)})
    delete(controller)
    assert grow(controller, 2).error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_new_topic_of_the_same_name_has_no_old_state() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", (1, 2), leader=NO_LEADER))
    delete(controller)
    create(controller, partitions=1, replication_factor=1)
    assert (controller["foo-0"].leader_epoch, controller.phase("foo-0").value) == (0, "idle")


def test_a_waiting_reassignment_does_not_delay_a_deletion() -> None:
    controller = InMemoryController(live=range(1, 6)).with_partitions(partition("foo-0", (1, 2)))
    controller.alter({"foo-0": (1, 6)})
    controller.do(DeleteTopics(["foo"]))
    assert (controller.state.cluster.topics, controller.state.orders.reassignments) == ({}, {})


def lives(controller: InMemoryController, broker: int) -> None:
    controller.do(BrokerStarted(BrokerRegistration(broker, "host", 9092, None)))


def confirm(controller: InMemoryController, *brokers: int, topic: str = "foo") -> None:
    """Let the brokers confirm that they have deleted their replicas of all partitions of the topic."""
    for broker in brokers:
        keys = [
            each.key for each in controller.state.cluster.partitions.get(topic, ()) if broker in each.replicas
        ]
        controller.do(ReplicasDeleted(broker, keys))


def test_a_deletion_waits_until_all_brokers_have_confirmed_it() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", [1, 2]), partition("foo-1", [2, 3]))
    controller.state.mode = ZOOKEEPER
    assert [delete(controller), delete(controller)] == [DONE, DONE]
    drops = [DropReplica("foo", 1, (2, 3), -2), DropReplica("foo", 0, (1, 2), -2)]
    assert controller.effects == drops
    confirm(controller, 1, 3)
    controller.do(ReplicasDeleted(2, [key("foo-0")]))
    again = create(controller, partitions=1, replication_factor=1)
    assert again.outcome.error is ErrorCode.TOPIC_ALREADY_EXISTS
    assert controller.state.cluster.dropping == {"foo": {(1, 2)}}
    controller.do(ReplicasDeleted(2, [key("foo-1")]))
    assert (controller.state.cluster.topics, controller.state.cluster.dropping) == ({}, {})
    assert controller.effects == [*drops, TopicDeleted("foo")]


def test_a_deletion_waits_for_a_broker_that_stops_before_it_has_confirmed() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", [1, 2]))
    controller.state.mode = ZOOKEEPER
    delete(controller)
    controller.do(BrokerStopped(2))
    confirm(controller, 1)
    assert "foo" in controller.state.cluster.topics
    lives(controller, 2)
    confirm(controller, 2)
    assert controller.state.cluster.topics == {}


def test_the_next_controller_asks_all_brokers_again() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", [1, 2]))
    controller.state.mode = ZOOKEEPER
    delete(controller)
    confirm(controller, 1)
    again = controller.restart()
    assert again.state.cluster.topics["foo"].deleting
    assert DropReplica("foo", 0, (1, 2), -2) in again.effects


def test_a_deletion_waits_for_offline_brokers_that_would_keep_replicas() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", [1, 2]), partition("bar-0", [1, 3]))
    controller.state.mode = ZOOKEEPER
    controller.do(BrokerStopped(2))
    assert [delete(controller), delete(controller, "bar")] == [DONE, DONE]
    confirm(controller, 1, 3, topic="bar")
    assert [(topic.name, topic.deleting) for topic in controller.state.cluster.topics.values()] == [
        ("foo", True)
    ]
    lives(controller, 2)
    confirm(controller, 1, 2)
    assert controller.state.cluster.topics == {}
    assert controller.effects[-1] == TopicDeleted("foo")


def test_a_returning_broker_without_replicas_does_not_resume_a_deletion() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", [1, 2]))
    controller.state.mode = ZOOKEEPER
    for broker in (2, 3):
        controller.do(BrokerStopped(broker))
    delete(controller)
    lives(controller, 3)
    assert "foo" in controller.state.cluster.topics


def test_a_deletion_also_waits_for_a_broker_in_controlled_shutdown() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", [1, 2]))
    controller.state.mode = ZOOKEEPER
    controller.do(ControlledShutdown(2, -1))
    delete(controller)
    controller.do(BrokerStopped(2))
    assert "foo" in controller.state.cluster.topics
    lives(controller, 2)
    confirm(controller, 1, 2)
    assert controller.state.cluster.topics == {}


def test_a_rollback_does_not_move_a_topic_that_was_made_anew_with_the_same_lists() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", (1, 2)))
    controller.alter({"foo-0": (3, 4)})
    controller.settle()
    delete(controller)
    controller.do(CreateTopics([NewTopic("foo", b"another topic id", assignments={0: (3, 4)})]))
    reply = controller.restart().do(RollBackJob(1)).reply
    assert (reply.job, reply.skipped) == (0, [(key("foo-0"), "the topic was deleted")])
    assert controller.state.orders.endings[1] == {Ending.DONE: 1}
