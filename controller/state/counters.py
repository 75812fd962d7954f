"""Counters and sets that the state updates with each record."""

from collections import Counter
from typing import TypeVar

from controller.model.cluster import Partition, TopicPartition

K = TypeVar("K")


def count_down(counts: Counter[K], key: K) -> None:
    """Subtract 1 from the count of the key, and remove a key whose count is 0."""
    left = counts[key] - 1
    if left:
        counts[key] = left
    else:
        del counts[key]


def toggle(members: set[TopicPartition], partition: Partition, belongs: bool) -> None:
    """Add the partition's key to the set, or remove it."""
    if belongs:
        members.add(partition.key)
    elif members:
        members.discard(partition.key)
