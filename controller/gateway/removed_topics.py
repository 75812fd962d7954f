"""Topics that someone else deleted: their reassignments end with `Ending.TOPIC_DELETED`."""

from collections.abc import Iterator
from itertools import chain

from controller.cluster.deletions import forget
from controller.model.cluster import (
    Config,
    Partition,
    ResourceType,
    Topic,
    TopicPartition,
)
from controller.reassignment.move_endings import forget_moves
from controller.state.state import Decision, State

PARTITIONS_PER_SLICE = 1_000


def topic_removed(d: Decision, name: str) -> Iterator[None]:
    """End reassignments and moves of a topic that was deleted or recreated, and delete its records."""
    yield from forget_moves(d, name)
    state = d.state
    for seen, key in enumerate(_keys(state, name), 1):
        forget(d, key)
        if seen % PARTITIONS_PER_SLICE == 0:
            yield
    if name in state.cluster.topics:
        for partition in reversed(list(state.cluster.partitions[name])):
            d.delete(Partition, partition.key)
        for config in list(state.settings.configs.get((ResourceType.TOPIC, name), ())):
            d.delete(Config, (ResourceType.TOPIC, name, config))
        d.delete(Topic, name)


def _keys(state: State, topic: str) -> list[TopicPartition]:
    """Return the topic's partitions, and those of records if no poll has shown all since the start."""
    known = [partition.key for partition in state.cluster.partitions.get(topic, ())]
    if known and topic not in state.gateway.shown_in_part:
        return known
    named = chain(
        state.orders.pending, state.orders.reassignments, state.gateway.steps, *state.orders.finished.values()
    )
    return list(dict.fromkeys(chain(known, (key for key in named if key.topic == topic))))
