"""Bounds on the partitions and replicas of one request and of one topic."""

from collections.abc import Sequence
from typing import NamedTuple

from common.error_codes import ErrorCode
from common.wording import counted
from controller.configs.names import NUM_PARTITIONS, REPLICATION_FACTOR
from controller.configs.values import CLUSTER_DEFAULT
from controller.messages.events import NewPartitions, NewTopic
from controller.model.cluster import ResourceType
from controller.model.errors import DONE, Outcome
from controller.state.state import State

MAX_PARTITIONS = 10_000
"""Partitions that one request may add, in all of its topics (Kafka: ReplicationControlManager)."""
MAX_REPLICAS = 100_000
"""Replicas that one request may add."""


class Size(NamedTuple):
    """The partitions and replicas that a request adds."""

    partitions: int
    replicas: int


def excess(sizes: Sequence[Size]) -> Outcome | None:
    """Return the refusal of a request that exceeds the bounds as a whole, or None."""
    partitions, replicas = sum(size.partitions for size in sizes), sum(size.replicas for size in sizes)
    if partitions <= MAX_PARTITIONS and replicas <= MAX_REPLICAS:
        return None
    return Outcome(
        ErrorCode.POLICY_VIOLATION,
        f"The request asks for {counted(partitions, 'new partition')} with {counted(replicas, 'replica')}; "
        f"one request may add {MAX_PARTITIONS:,} partitions with {MAX_REPLICAS:,} replicas. "
        "Use several requests.",
    )


def size_of(state: State, topic: NewTopic) -> Size:
    """Return the size of a new topic."""
    if topic.assignments:
        return Size(len(topic.assignments), sum(map(len, topic.assignments.values())))
    count, factor = wanted_of(state, topic)
    # A factor above the number of brokers is refused for that topic only, so it must not exceed the bounds
    # here.
    return Size(max(0, count), max(0, count) * max(0, min(factor, len(state.live))))


def growth_size(state: State, wanted: NewPartitions) -> Size:
    """Return the size of the added partitions; zero for an unknown topic, which is refused separately."""
    old = state.partitions.get(wanted.topic, ())
    added = max(0, wanted.total - len(old)) if old else 0
    if wanted.assignments is not None:
        return Size(added, sum(map(len, wanted.assignments)))
    return Size(added, added * len(old[0].current) if old else 0)


def wanted_of(state: State, topic: NewTopic) -> tuple[int, int]:
    """Return the number of partitions and the replication factor, with the cluster's defaults for -1."""
    count, factor = topic.partitions, topic.replication_factor
    return (
        count if count != -1 else _default(state, NUM_PARTITIONS),
        factor if factor != -1 else _default(state, REPLICATION_FACTOR),
    )


def check_room(state: State, topic: str, partitions: int, replicas: int) -> Outcome:
    """Check that the backend can store a topic of this size."""
    old = state.partitions.get(topic, ())
    partitions += len(old)
    replicas += sum(len(partition.replicas) for partition in old)
    if state.fits_topic(partitions, replicas):
        return DONE
    return Outcome(
        ErrorCode.POLICY_VIOLATION,
        f"{counted(partitions, 'partition')} with {counted(replicas, 'replica')} are too much for one topic: "
        "ZooKeeper has no room for it in one znode.",
    )


def _default(state: State, key: str) -> int:
    return int(state.config(ResourceType.BROKER, CLUSTER_DEFAULT, key) or 1)
