"""Counts and sets over records that are kept up to date with each of them."""

from typing import TypeVar

from controller.model.cluster import Partition, TopicPartition

K = TypeVar("K")


def count_up(counts: dict[K, int], key: K, by: int = 1) -> None:
    """So many more; what is absent counts 0."""
    counts[key] = counts.get(key, 0) + by


def count_down(counts: dict[K, int], key: K) -> None:
    """One less; 0 is absent."""
    left = counts[key] - 1
    if left:
        counts[key] = left
    else:
        del counts[key]


def toggle(members: set[TopicPartition], partition: Partition, belongs: bool) -> None:
    """Whether the partition is a member."""
    if belongs:
        members.add(partition.key)
    elif members:
        members.discard(partition.key)
