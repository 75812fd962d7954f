from collections.abc import Iterator
from typing import Any

from backends.broker_commands.batch import LIMIT, Batch, ClusterSnapshot
from backends.broker_commands.requests import Header
from controller.messages.effects import TOPIC_DELETED, DropReplica, Publish
from protocol.messages.leader_and_isr_request import LeaderAndIsrRequest
from protocol.messages.stop_replica_request import StopReplicaRequest
from protocol.messages.update_metadata_request import UpdateMetadataRequest
from tests.builders import InMemoryController, partition

FOO = partition("foo-0", [1, 2, 3], leader_epoch=5)


def sent(
    batch: Batch | ClusterSnapshot, broker: int, controller: InMemoryController | None = None
) -> list[Any]:
    """The requests of the batch to the broker."""
    return list(
        batch.requests(Header(broker, 7, 1), (controller or InMemoryController().with_partitions(FOO)).state)
    )


def rows(request: Any) -> Iterator[Any]:
    for topic in request.topic_states:
        yield from topic.partition_states


def test_requests_are_leader_and_isr_then_update_metadata_then_stop_replica() -> None:
    batch = Batch()
    batch.drop(DropReplica("bar", 0, (1, 4), 3))
    batch.publish(Publish(FOO))
    kinds = {broker: [type(request) for request in sent(batch, broker)] for broker in (1, 2, 4, 5)}
    assert kinds == {
        1: [LeaderAndIsrRequest, UpdateMetadataRequest, StopReplicaRequest],
        2: [LeaderAndIsrRequest, UpdateMetadataRequest],
        4: [UpdateMetadataRequest, StopReplicaRequest],
        5: [UpdateMetadataRequest],
    }


def test_a_later_state_replaces_an_earlier_one_but_a_new_replica_stays_new() -> None:
    batch = Batch()
    batch.publish(Publish(FOO, new=(3, 4)))
    batch.publish(Publish(FOO._replace(leader_epoch=6), new=(2,), lead=False))
    [lead, _] = sent(batch, 3)
    [row] = rows(lead)
    assert (row.leader_epoch, row.is_new) == (6, True)
    assert [next(rows(sent(batch, broker)[0])).is_new for broker in (1, 2)] == [False, True]


def test_a_state_without_change_for_replicas_is_sent_by_metadata_only() -> None:
    batch = Batch()
    batch.publish(Publish(FOO, target=(4,), lead=False))
    [told] = sent(batch, 1)
    [row] = rows(told)
    assert (row.replicas, row.target_replicas) == ((1, 2, 3), (4,))


def test_a_partition_with_a_pending_drop_belongs_in_the_next_batch() -> None:
    batch = Batch()
    batch.drop(DropReplica("foo", 0, (1,), 5))
    assert not batch.publish(Publish(partition("foo-0", [2])))
    assert not batch.drop(DropReplica("foo", 0, (2,), 6))
    assert batch.publish(Publish(partition("foo-1", [2])))
    assert batch.drop(DropReplica("foo", 2, (2,), 6))


def test_a_full_batch_accepts_nothing_more() -> None:
    batch = Batch()
    for index in range(LIMIT):
        assert batch.publish(Publish(partition(f"foo-{index}", [1])))
    assert not batch.publish(Publish(partition("foo-1", [2])))
    assert not batch.drop(DropReplica("bar", 0, (1,), 5))
    assert len([*batch.published(), *batch.drops()]) == LIMIT


def test_only_the_deletion_of_a_deleted_topic_is_sent() -> None:
    batch = Batch()
    batch.publish(Publish(FOO))
    batch.drop(DropReplica("foo", 0, (1, 2, 3), TOPIC_DELETED))
    told, stopped = sent(batch, 1, InMemoryController())
    assert [(row.leader, row.replicas) for row in rows(told)] == [(TOPIC_DELETED, ())]
    assert [(row.leader_epoch, row.delete_partition) for row in rows(stopped)] == [(TOPIC_DELETED, True)]


def test_a_replica_added_again_while_its_drop_was_pending_is_kept() -> None:
    batch = Batch()
    batch.drop(DropReplica("foo", 0, (3, 4), 5))
    assert sent(batch, 3) == []
    assert [type(request) for request in sent(batch, 4)] == [StopReplicaRequest]


def test_a_drop_is_sent_for_a_topic_created_again() -> None:
    """Its leader epochs begin again: the log to be deleted is the earlier topic's."""
    batch = Batch()
    batch.drop(DropReplica("foo", 0, (3,), 6))
    assert [type(request) for request in sent(batch, 3)] == [StopReplicaRequest]


def test_a_replica_added_again_between_the_requests_of_its_batch_is_kept() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", [1, 2], leader_epoch=5))
    batch = Batch()
    batch.publish(Publish(partition("foo-1", [3])))
    batch.drop(DropReplica("foo", 0, (3,), 5))
    requests = batch.requests(Header(3, 7, 1), controller.state)
    assert [type(next(requests)) for _ in range(2)] == [LeaderAndIsrRequest, UpdateMetadataRequest]
    controller.state.put(FOO._replace(leader_epoch=6))
    assert list(requests) == []


def test_a_change_of_the_brokers_alone_is_sent_to_all() -> None:
    [told] = sent(Batch(brokers_changed=True), 1)
    assert [broker.id for broker in told.live_brokers] == [1, 2, 3, 4, 5, 6]
    assert not told.topic_states


def test_an_empty_batch_is_false_and_sends_nothing() -> None:
    assert not Batch()
    assert sent(Batch(), 1) == []


def test_a_snapshot_has_all_metadata_the_brokers_own_partitions_and_a_mark_of_its_end() -> None:
    moving = partition("foo-1", [4, 2], isr=(2,), leader=2, adding=(4,), removing=(2,))
    controller = InMemoryController().with_partitions(FOO, moving)
    told, lead, end, last = sent(ClusterSnapshot(), 4, controller)
    assert [(row.partition_index, row.target_replicas) for row in rows(told)] == [(0, ()), (1, (4,))]
    assert [(row.partition_index, row.is_new) for row in rows(lead)] == [(1, True)]
    assert (type(end), list(rows(end))) == (LeaderAndIsrRequest, [])
    assert (type(last), list(rows(last))) == (UpdateMetadataRequest, [])


def test_the_requests_of_a_snapshot_have_a_bounded_size() -> None:
    controller = InMemoryController().with_partitions(
        *[partition(f"foo-{index}", [1]) for index in range(LIMIT + 1)]
    )
    assert [len(list(rows(request))) for request in sent(ClusterSnapshot(), 1, controller)] == [
        LIMIT,
        1,
        LIMIT,
        1,
        0,
        0,
    ]


def test_a_topic_may_be_deleted_while_a_snapshot_is_sent() -> None:
    controller = InMemoryController().with_partitions(
        *[partition(f"foo-{index}", [1]) for index in range(LIMIT + 1)]
    )
    requests = ClusterSnapshot().requests(Header(1, 7, 1), controller.state)
    next(requests)
    controller.state.cluster.partitions["foo"].clear()
    assert [len(list(rows(request))) for request in requests] == [0, 0]
