"""How partitions and their replicas are named everywhere."""

from typing import NamedTuple

NO_LEADER = -1

Replicas = tuple[int, ...]
"""Broker ids in preference order: the first is the preferred leader."""


class TopicPartition(NamedTuple):
    """Names one partition; the key of `Partition` and `Reassignment`."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"
