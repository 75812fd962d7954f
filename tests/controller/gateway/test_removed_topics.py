from collections.abc import Iterator
from dataclasses import replace

import pytest

from controller.execution.throttle import desired_throttle
from controller.gateway.events import Measured, TopicConfigsSeen, UpstreamPolled
from controller.messages.disk_events import DisksSeen, MoveDisks, OrderedMove
from controller.messages.events import ControllerStarted
from controller.messages.job_events import AlterRow, AlterTopic, Pause, Queue, RollBackJob
from controller.model.cluster import (
    NO_ID,
    Deleted,
    Ending,
    Partition,
    Reassignment,
    Record,
    Topic,
    TopicPartition,
)
from controller.model.configs import THROTTLE
from controller.model.disks import MoveStage
from controller.model.thresholds import TOPIC_REMOVED_MS
from controller.modes import ZOOKEEPER
from controller.reassignment.phases import Phase
from tests.builders import InMemoryController, key, partition, records, registration
from tests.controller.kraft import Gateway

FOO = ("foo-0", (4, 1))


def look_at(gateway: Gateway, seen: UpstreamPolled) -> None:
    """Submit the poll twice, far enough apart to be confirmed."""
    gateway.do(seen)
    gateway.now_ms += TOPIC_REMOVED_MS
    gateway.do(seen)


def test_a_topic_missing_for_a_short_time_is_not_removed() -> None:
    gateway = Gateway(FOO)
    gateway.do(Pause(None, True))
    gateway.alter({"foo-0": (2, 3)})
    lagging = replace(gateway.kafka.poll(), topics=[])
    for _ in range(3):
        gateway.do(lagging)
        gateway.now_ms += TOPIC_REMOVED_MS
        gateway.poll()
    assert gateway.phase("foo-0") is Phase.QUEUED
    assert gateway.state.gateway.missing_since == {}


def test_a_broker_that_still_shows_the_deleted_topic_changes_nothing() -> None:
    gateway = Gateway(FOO)
    gateway.alter({"foo-0": (2, 3)})
    seen = gateway.kafka.poll()
    gateway.do(replace(seen, topics=[seen.topics[0]._replace(id=b"x" * 16)], moves={}))
    gateway.poll()
    assert gateway.state.cluster.topics["foo"].id == seen.topics[0].id
    assert gateway.reassignment_of("foo-0") is not None


def test_a_removed_topic_ends_its_reassignments_with_a_reason() -> None:
    gateway = Gateway(FOO)
    gateway.alter({"foo-0": (2, 3)})
    gateway.deliver()
    gateway.kafka.replicas.clear()
    gateway.poll_for(TOPIC_REMOVED_MS)
    (row,) = gateway.state.orders.finished[1].values()
    assert row.ending is Ending.TOPIC_DELETED
    assert (
        gateway.state.cluster.topics,
        gateway.state.gateway.steps,
        gateway.state.orders.reassignments,
    ) == ({}, {}, {})


def test_a_recreated_topic_is_a_new_topic() -> None:
    gateway = Gateway(FOO)
    gateway.alter({"foo-0": (2, 3)})
    seen = gateway.kafka.poll()
    look_at(gateway, replace(seen, topics=[seen.topics[0]._replace(id=b"x" * 16)], moves={}))
    assert gateway.state.cluster.topics["foo"] == Topic("foo", b"x" * 16)
    assert gateway.reassignment_of("foo-0") is None


def test_a_recreated_topic_without_reassignments_is_replaced_at_the_first_poll() -> None:
    gateway = Gateway(FOO)
    seen = gateway.kafka.poll()
    (foo,) = seen.topics
    anew = foo._replace(id=b"x" * 16, partitions={0: foo.partitions[0]._replace(replicas=(2, 3))})
    gateway.do(replace(seen, topics=[anew]))
    assert (gateway.state.cluster.topics["foo"].id, gateway["foo-0"].replicas) == (anew.id, (2, 3))
    gateway.alter({"foo-0": (4, 1)})
    assert gateway.reassignment_of("foo-0") is not None


def test_a_recreated_topic_with_a_recorded_step_is_not_replaced_at_the_first_poll() -> None:
    gateway = Gateway(FOO)
    gateway.alter({"foo-0": (2, 3)})
    gateway.deliver()
    gateway.alter({"foo-0": None})
    gateway.deliver()
    seen = gateway.kafka.poll()
    gateway.do(replace(seen, topics=[seen.topics[0]._replace(id=b"x" * 16)], moves={}))
    assert gateway.state.cluster.topics["foo"].id == seen.topics[0].id


def test_a_topic_that_gets_an_id_is_the_same_topic() -> None:
    gateway = Gateway(FOO)
    gateway.put(Topic("foo", NO_ID))
    gateway.alter({"foo-0": (2, 3)})
    gateway.deliver()
    seen = gateway.kafka.poll()
    gateway.do(seen)
    assert gateway.state.cluster.topics["foo"].id == seen.topics[0].id
    gateway.do(replace(seen, topics=[seen.topics[0]._replace(id=NO_ID)]))
    assert gateway.state.cluster.topics["foo"].id == seen.topics[0].id
    assert gateway.phase("foo-0") is Phase.MOVING


def test_incomplete_metadata_of_a_topic_removes_no_partitions() -> None:
    gateway = Gateway(FOO, ("foo-1", (4, 1)), ("bar-0", (4, 1)))
    gateway.alter({"foo-1": (2, 3), "bar-0": (2, 3)})
    gateway.deliver()
    seen = gateway.kafka.poll()
    (foo,) = [topic for topic in seen.topics if topic.name == "foo"]
    gateway.do(replace(seen, topics=[foo._replace(partitions={0: foo.partitions[0]})]))
    assert (gateway.phase("foo-1"), gateway.phase("bar-0")) == (Phase.MOVING, Phase.MOVING)


def test_without_ids_a_topic_with_fewer_partitions_is_a_new_topic() -> None:
    gateway = Gateway()
    gateway.kafka.create("foo-0", (4, 1))
    gateway.kafka.create("foo-1", (4, 1))
    seen = gateway.kafka.poll()
    (foo,) = seen.topics
    gateway.do(replace(seen, topics=[foo._replace(id=NO_ID)]))
    gateway.alter({"foo-1": (2, 3)})
    look_at(gateway, replace(seen, topics=[foo._replace(id=NO_ID, partitions={0: foo.partitions[0]})]))
    assert gateway.state.orders.reassignments == {}


def test_a_topic_removed_while_the_controller_was_down_is_removed_at_start() -> None:
    gateway = Gateway(FOO)
    gateway.alter({"foo-0": (2, 3)})
    gateway.kafka.replicas.clear()
    again = gateway.successor()
    again.poll_for(TOPIC_REMOVED_MS)
    assert again.state.orders.reassignments == {}


def test_a_removed_topic_leaves_nothing_in_memory() -> None:
    gateway = Gateway(FOO)
    gateway.do(TopicConfigsSeen({"foo": {"min.insync.replicas": "2"}, "never": {"min.insync.replicas": "2"}}))
    gateway.do(Measured({key("foo-0"): 50}, {}))
    gateway.kafka.replicas.clear()
    gateway.poll_for(TOPIC_REMOVED_MS)
    assert (gateway.state.cluster.sizes, gateway.state.settings.configs) == ({}, {})


def test_a_topic_removed_during_a_step_leaves_no_step() -> None:
    gateway = Gateway(FOO)
    gateway.default(THROTTLE, "1000")
    gateway.alter({"foo-0": (2, 3)})
    gateway.deliver()
    gateway.poll()
    gateway.kafka.replicas.clear()
    gateway.poll_for(TOPIC_REMOVED_MS)
    assert (len(gateway.state.in_flight), gateway.state.cluster.adding) == (0, 0)
    gateway.default(THROTTLE, "2000")
    assert not desired_throttle(gateway.state).brokers


def test_a_topic_removed_during_an_external_move_is_not_listed() -> None:
    gateway = Gateway(FOO)
    gateway.kafka.alter(key("foo-0"), (2, 3))
    gateway.poll()
    listed = gateway.state.listing.revision
    gateway.kafka.replicas.clear()
    gateway.poll_for(TOPIC_REMOVED_MS)
    assert gateway.state.gateway.external == set()
    assert gateway.state.listing.revision > listed


class Unread(dict[TopicPartition, Reassignment]):
    """A dictionary that must not be iterated."""

    def __iter__(self) -> Iterator[TopicPartition]:
        raise AssertionError


def test_removing_a_topic_does_not_scan_other_reassignments() -> None:
    gateway = Gateway(FOO, ("bar-0", (1, 2)))
    gateway.alter({"foo-0": (2, 3), "bar-0": (3, 4)})
    gateway.state.orders.reassignments = Unread(gateway.state.orders.reassignments)
    del gateway.kafka.replicas[key("bar-0")]
    gateway.poll_for(TOPIC_REMOVED_MS)
    assert (gateway.reassignment_of("bar-0"), gateway.phase("foo-0")) == (None, Phase.MOVING)


def test_at_start_reassignments_of_removed_partitions_end_with_their_job() -> None:
    controller = InMemoryController(live=range(1, 4)).with_partitions(
        partition("foo-0", (1, 2)), partition("bar-0", (1, 2))
    )
    controller.alter({"foo-0": (3, 2), "bar-0": (3, 2)})
    controller.state.delete(Deleted(Partition, key("foo-0")))
    controller.state.delete(Deleted(Topic, "foo"))
    again = controller.restart()
    assert again.state.orders.finished[1][key("foo-0")].ending is Ending.TOPIC_DELETED
    assert list(again.state.orders.reassignments) == [key("bar-0")]
    again.settle()
    assert again.state.orders.jobs[1].ended_ms


def test_the_step_records_of_partitions_that_no_poll_has_shown_are_removed_with_the_topic() -> None:
    gateway = Gateway(("bar-0", (2, 4)), ("bar-1", (1,)), FOO)
    gateway.alter({"bar-0": (4, 3), "bar-1": (1, 2)})
    gateway.deliver()
    gateway.poll()
    gateway.alter({"bar-1": None})
    gateway.deliver()
    gateway.poll()
    bar = next(topic for topic in gateway.kafka.poll().topics if topic.name == "bar")
    for name in ("bar-0", "bar-1"):
        gateway.kafka.delete(key(name))
    gateway = gateway.successor()
    gateway.do(UpstreamPolled(None, [bar._replace(partitions={0: bar.partitions[0]})], {}))
    gateway.poll_for(2 * TOPIC_REMOVED_MS)
    assert not gateway.state.gateway.steps


def test_sizes_of_a_topic_that_was_deleted_meanwhile_are_not_kept() -> None:
    gateway = Gateway(FOO)
    gateway.do(Measured({key("foo-0"): 5, key("gone-0"): 5}, {}))
    assert gateway.state.cluster.sizes == {key("foo-0"): 5}


@pytest.mark.parametrize("down", [False, True])
def test_a_rollback_does_not_move_another_topic_of_that_name(down: bool) -> None:
    gateway = Gateway(FOO)
    gateway.alter({"foo-0": (2, 3)})
    gateway.settle()
    gateway.kafka.delete(key("foo-0"))
    gateway.kafka.create("foo-0", (2, 3))
    if down:
        gateway = gateway.successor()
    look_at(gateway, gateway.kafka.poll())
    reply = gateway.do(RollBackJob(1)).reply
    assert (reply.job, reply.skipped) == (0, [(key("foo-0"), "the topic was deleted")])


@pytest.mark.parametrize("moving", [False, True])
def test_a_topic_that_another_controller_has_made_anew_is_not_moved_by_the_plan_for_the_old_one(
    moving: bool,
) -> None:
    controller = InMemoryController(range(1, 7))
    controller.state.mode = ZOOKEEPER
    controller.with_partitions(*(partition(name, (1, 2)) for name in ("foo-0", "bar-0", "baz-0")))
    controller.with_limits(partitions=1)
    controller.alter({"foo-0": (3, 4), "bar-0": (3, 4)})
    controller.do(Queue([AlterTopic("baz", [AlterRow(0, (5, 6))])]))
    new = partition("bar-0", (5, 6, 1), adding=(5,) if moving else (), removing=(1,) if moving else ())
    other = InMemoryController(())
    other.state.mode = ZOOKEEPER
    other.put(*(_made_anew(each, new) for each in records(controller.state)))
    other.do(ControllerStarted([registration(broker) for broker in range(1, 7)]))
    other.settle()
    assert other.replicas("bar-0") == ((5, 6) if moving else (5, 6, 1))
    assert (other.replicas("foo-0"), other.replicas("baz-0")) == ((3, 4), (5, 6))
    assert other.state.orders.endings[1] == {Ending.DONE: 1, Ending.TOPIC_DELETED: 1}


def _made_anew(record: Record, partition: Partition) -> Record:
    if isinstance(record, Topic) and record.name == partition.topic:
        return record._replace(id=b"another topic id")
    return partition if isinstance(record, Partition) and record.key == partition.key else record


def with_move(gateway: Gateway) -> None:
    """Order a move between directories, which does not start: its broker is not looked at."""
    gateway.do(MoveDisks([OrderedMove("foo", 0, 4, "/a", "/b")]))


def look_at_broker(gateway: Gateway) -> MoveStage:
    [move] = gateway.state.disks.moves[1].values()
    gateway.do(DisksSeen({4: [move.replica]}, {}, {4: "no answer"}))
    return gateway.state.disks.moves[1][move.replica].stage


def test_a_topic_missing_for_a_short_time_does_not_end_its_moves() -> None:
    known = Gateway(FOO)
    with_move(known)
    gateway = Gateway(kafka=known.kafka)
    gateway.put(known.state.orders.jobs[1], *known.state.disks.moves[1].values())
    gateway.do(replace(known.kafka.poll(), topics=[]))
    assert look_at_broker(gateway) is MoveStage.WAITING
    assert [*gateway.state.disks.reasons.values()] == ["the upstream does not show the partition"]


def test_a_removed_topic_ends_its_moves() -> None:
    gateway = Gateway(FOO)
    with_move(gateway)
    look_at(gateway, replace(gateway.kafka.poll(), topics=[]))
    [move] = gateway.state.disks.moves[1].values()
    assert move.stage is MoveStage.TOPIC_DELETED
    assert gateway.state.orders.jobs[1].ended_ms


def test_a_recreated_topic_ends_its_moves() -> None:
    gateway = Gateway(FOO)
    with_move(gateway)
    seen = gateway.kafka.poll()
    look_at(gateway, replace(seen, topics=[seen.topics[0]._replace(id=b"x" * 16)]))
    [move] = gateway.state.disks.moves[1].values()
    assert move.stage is MoveStage.TOPIC_DELETED
