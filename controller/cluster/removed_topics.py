"""Topics that someone else deleted: their reassignments end with TOPIC_DELETED."""

from collections.abc import Iterator
from itertools import chain

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
from controller.model.thresholds import TOPIC_REMOVED_MS
from controller.reassignment.next_step import release
from controller.reassignment.reassignments import end_reassignment, forget_queued, mark_gone
from controller.state.decision import Decision
from controller.state.state import State

PARTITIONS_PER_SLICE = 1_000


def is_removed(d: Decision, topic: str) -> bool:
    """Return whether polls have missed the topic for longer than a broker can lag.

    Ending its reassignments is final.
    """
    since = d.state.missing_since.setdefault(topic, d.now_ms)
    gone = d.now_ms - since >= TOPIC_REMOVED_MS
    if gone:
        del d.state.missing_since[topic]
    return gone


def topic_removed(d: Decision, name: str) -> Iterator[None]:
    """End the reassignments of a topic that was deleted or recreated, and delete its records."""
    state = d.state
    for seen, key in enumerate(_keys(state, name), 1):
        _forget(d, key)
        if seen % PARTITIONS_PER_SLICE == 0:
            yield
    if name in state.topics:
        for partition in reversed(list(state.partitions[name])):
            d.delete(Partition, partition.key)
        for config in list(state.configs.get((ResourceType.TOPIC, name), ())):
            d.delete(Config, (ResourceType.TOPIC, name, config))
        d.delete(Topic, name)


def drop_lost_reassignments(d: Decision) -> Iterator[None]:
    """At start, end the reassignments of partitions that were deleted under another controller, or made anew."""
    state = d.state
    sizes = {topic: len(partitions) for topic, partitions in state.partitions.items()}
    ids = {topic: state.topic_id(topic) for topic in sizes}
    recorded: list[Pending | Reassignment] = [*state.pending.values(), *state.reassignments.values()]
    lost = [
        record.key
        for record in recorded
        if record.partition >= sizes.get(record.topic, 0)
        or _is_of_another(record.topic_id, ids[record.topic])
    ]
    for seen, key in enumerate(dict.fromkeys(lost), 1):
        _forget(d, key)
        partition = state.partition(*key)
        if partition is not None and partition.moving:
            # The other controller moves the new topic.
            d.put(Reassignment(key.topic, key.partition, partition.current, partition.next))
        if seen % PARTITIONS_PER_SLICE == 0:
            yield


def _is_of_another(recorded: str, now: str) -> bool:
    return "" not in {recorded, now} and recorded != now


def _keys(state: State, topic: str) -> list[TopicPartition]:
    """Return the topic's partitions, and those that records name, if no poll has shown all of them since the start."""
    known = [partition.key for partition in state.partitions.get(topic, ())]
    if known and topic not in state.shown_in_part:
        return known
    named = chain(state.pending, state.reassignments, state.upstream_steps, *state.finished.values())
    return list(dict.fromkeys(chain(known, (key for key in named if key.topic == topic))))


def _forget(d: Decision, key: TopicPartition) -> None:
    state = d.state
    mark_gone(d, key)
    forget_queued(d, key)
    if key in state.upstream_steps:
        d.delete(UpstreamStep, key)
    release(state, key)
    state.forget_sighting(key)
    wanted = state.reassignments.get(key)
    if wanted is not None:
        end_reassignment(d, key, wanted, Ending.TOPIC_DELETED)
