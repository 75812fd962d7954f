"""A topic that somebody else has removed: what was wanted of it ends, with that as the reason."""

from collections.abc import Iterator
from itertools import chain

from controller.model.cluster import (
    Config,
    Ending,
    Partition,
    ResourceType,
    Topic,
    TopicPartition,
    UpstreamStep,
)
from controller.model.thresholds import TOPIC_REMOVED_MS
from controller.reassignment.next_step import release
from controller.reassignment.reassignments import end_reassignment, forget_queued
from controller.state.decision import Decision
from controller.state.state import State

PARTITIONS_PER_SLICE = 1_000


def is_removed(d: Decision, topic: str) -> bool:
    """Missed for so long that no broker's lag explains it: what is wanted of the topic ends, and cannot be had back."""
    since = d.state.missing_since.setdefault(topic, d.now_ms)
    gone = d.now_ms - since >= TOPIC_REMOVED_MS
    if gone:
        del d.state.missing_since[topic]
    return gone


def topic_removed(d: Decision, name: str) -> Iterator[None]:
    """The topic was deleted, or made anew: nothing is wanted of its partitions any more."""
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
    """At the start: of partitions that went while another controller ruled, nothing is wanted any more."""
    state = d.state
    lost = [key for key in {**state.pending, **state.reassignments} if state.partition(*key) is None]
    for seen, key in enumerate(lost, 1):
        _forget(d, key)
        if seen % PARTITIONS_PER_SLICE == 0:
            yield


def _keys(state: State, topic: str) -> list[TopicPartition]:
    """Its partitions; of a topic that went while we did not run, those that the records still name."""
    known = [partition.key for partition in state.partitions.get(topic, ())]
    return known or [
        key
        for key in dict.fromkeys(chain(state.pending, state.reassignments, state.upstream_steps))
        if key.topic == topic
    ]


def _forget(d: Decision, key: TopicPartition) -> None:
    state = d.state
    forget_queued(d, key)
    if key in state.upstream_steps:
        d.delete(UpstreamStep, key)
    release(state, key)
    state.forget_sighting(key)
    wanted = state.reassignments.get(key)
    if wanted is not None:
        end_reassignment(d, wanted, Ending.TOPIC_DELETED)
