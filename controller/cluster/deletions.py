"""Deletion of topics (KIP-4; Kafka's ZooKeeper controller: TopicDeletionManager).

The deletion of a topic is postponed while partitions of it move, and, if a broker that is down would keep its
replicas, until all its brokers are alive. In such a cluster the topic stays, marked as deleted, until all its
brokers have confirmed that their replicas are gone (`ClusterState.dropping`). A broker that leaves before it
has confirmed is asked again when it is back. A new controller asks all of them again.
"""

from collections.abc import Iterator

from common.error_codes import ErrorCode
from controller.messages.effects import TOPIC_DELETED, DropReplica, TopicDeleted
from controller.messages.events import DeleteTopics, ReplicasDeleted
from controller.model.cluster import (
    Config,
    Ending,
    Partition,
    Pending,
    Reassignment,
    ResourceType,
    Topic,
    TopicPartition,
    UpstreamStep,
)
from controller.model.errors import DONE, Outcome
from controller.reassignment.move_endings import forget_moves
from controller.reassignment.planning import release
from controller.reassignment.reassignments import end_reassignment, forget_queued, mark_gone
from controller.state.state import Decision, State

PARTITIONS_PER_SLICE = 500


def delete_topics(d: Decision, event: DeleteTopics) -> Iterator[None]:
    """Delete each topic, or mark it for a later deletion. The reply has one outcome per topic."""
    answers = []
    for name in event.names:
        topic = d.state.cluster.topics.get(name)
        if topic is None:
            answers.append((name, Outcome(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)))
            continue
        answers.append((name, DONE))
        if name in d.state.cluster.dropping:
            continue
        if is_held_back(d.state, name):
            d.put(topic._replace(deleting=True))
            for _ in _end_what_waits(d, name):
                yield
        else:
            for _ in _delete(d, name):
                yield
    d.answer(event, answers)


def is_held_back(state: State, name: str) -> bool:
    """Return whether the deletion must wait.

    Brokers in controlled shutdown count as down: they may miss the deletion.
    """
    if name in state.orders.reassigning:
        return True
    staying = state.cluster.live - state.cluster.shutting_down
    return not state.mode.drops_when_back and any(
        not staying.issuperset(partition.replicas) for partition in state.cluster.partitions[name]
    )


def retry_deletions(state: State) -> None:
    """Try all postponed deletions again, after a broker or the controller has started."""
    state.cluster.may_delete(topic.name for topic in state.cluster.topics.values() if topic.deleting)


def _end_what_waits(d: Decision, name: str) -> Iterator[None]:
    """End the topic's reassignments without a step in flight: only steps in flight postpone the deletion."""
    for seen, partition in enumerate(d.state.cluster.partitions[name]):
        key = partition.key
        wanted = d.state.orders.reassignments.get(key)
        if wanted is not None and not partition.moving:
            end_reassignment(d, key, wanted, Ending.TOPIC_DELETED)
        if seen % PARTITIONS_PER_SLICE == PARTITIONS_PER_SLICE - 1:
            yield


def resume_deletions(d: Decision) -> Iterator[None]:
    """Delete the topics whose deletion was postponed and is possible now."""
    while d.state.cluster.deletable:
        name = d.state.cluster.next_deletable()
        topic = d.state.cluster.topics.get(name)
        # A rollback may have ordered a partition again since the topic became deletable.
        begins = topic is not None and topic.deleting and name not in d.state.cluster.dropping
        if begins and not is_held_back(d.state, name):
            for _ in _delete(d, name):
                yield
        yield


def replicas_deleted(d: Decision, event: ReplicasDeleted) -> Iterator[None]:
    """Delete the topics of which no replica is left."""
    gone = [key.topic for key in event.partitions if d.state.cluster.dropped(key, event.broker)]
    for name in dict.fromkeys(gone):
        for _ in _remove(d, name):
            yield


def _delete(d: Decision, name: str) -> Iterator[None]:
    """Let the brokers delete the replicas; delete the topic at once, or when all of them are gone."""
    state = d.state
    left: set[tuple[int, int]] = set()
    for partition in reversed(state.cluster.partitions[name]):
        d.effects.append(DropReplica(name, partition.partition, partition.replicas, TOPIC_DELETED))
        left.update((partition.partition, broker) for broker in partition.replicas)
        if partition.partition % PARTITIONS_PER_SLICE == PARTITIONS_PER_SLICE - 1:
            yield
    if state.mode.drops_when_back or not left:
        for _ in _remove(d, name):
            yield
        return
    state.cluster.begin_dropping(name, left)
    if not state.cluster.topics[name].deleting:
        d.put(state.cluster.topics[name]._replace(deleting=True))


def _remove(d: Decision, name: str) -> Iterator[None]:
    """Delete the records of the topic."""
    yield from forget_moves(d, name)
    state = d.state
    partitions = state.cluster.partitions[name]
    while partitions:
        mark_gone(d, partitions[-1].key)
        d.delete(Partition, partitions[-1].key)
        if len(partitions) % PARTITIONS_PER_SLICE == 0:
            yield
    for key in list(state.settings.configs.get((ResourceType.TOPIC, name), ())):
        d.delete(Config, (ResourceType.TOPIC, name, key))
    d.delete(Topic, name)
    d.effects.append(TopicDeleted(name))


def drop_lost_reassignments(d: Decision) -> Iterator[None]:
    """At start, end reassignments of partitions that were deleted or recreated under another controller."""
    state = d.state
    sizes = {topic: len(partitions) for topic, partitions in state.cluster.partitions.items()}
    ids = {topic: state.topic_id(topic) for topic in sizes}
    recorded: list[Pending | Reassignment] = [
        *state.orders.pending.values(),
        *state.orders.reassignments.values(),
    ]
    lost = [
        record.key
        for record in recorded
        if record.partition >= sizes.get(record.topic, 0)
        or _is_of_another(record.topic_id, ids[record.topic])
    ]
    for seen, key in enumerate(dict.fromkeys(lost), 1):
        forget(d, key)
        partition = state.cluster.partition(*key)
        if partition is not None and partition.moving:
            # The other controller moves the new topic.
            d.put(Reassignment(key.topic, key.partition, partition.current, partition.next))
        if seen % PARTITIONS_PER_SLICE == 0:
            yield


def _is_of_another(recorded: str, now: str) -> bool:
    return "" not in {recorded, now} and recorded != now


def forget(d: Decision, key: TopicPartition) -> None:
    """End all that is known of a partition that does not exist any more."""
    state = d.state
    mark_gone(d, key)
    forget_queued(d, key)
    if key in state.gateway.steps:
        d.delete(UpstreamStep, key)
    release(state, key)
    state.gateway.forget_sighting(key)
    wanted = state.orders.reassignments.get(key)
    if wanted is not None:
        end_reassignment(d, key, wanted, Ending.TOPIC_DELETED)
