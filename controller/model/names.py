"""How partitions and their replicas are named everywhere."""

from functools import lru_cache
from typing import Any, NamedTuple

NO_LEADER = -1

NO_ID = bytes(16)
"""Of a topic that was made before topics had ids (KIP-516)."""

Replicas = tuple[int, ...]
"""Broker ids in preference order: the first is the preferred leader."""


class TopicPartition(NamedTuple):
    """Names one partition; the key of `Partition` and `Reassignment`."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


SHOWN = 250
"""Characters of a name or a value that a text repeats; what clients send may have 32,767."""


def display_name(text: str) -> str:
    """A name or a value from a request, short enough to stand in a text of ours."""
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text)} characters)"


def key_of(record: tuple[Any, ...]) -> TopicPartition:
    """The partition that a record is about, which its first two fields name. Made more often than anything else."""
    return tuple.__new__(TopicPartition, record[:2])


@lru_cache(maxsize=65_536)
def without(replicas: Replicas, others: Replicas) -> Replicas:
    """Those of the first list that are not in the second, in order. Partitions with the same two lists share the answer."""
    return tuple(r for r in replicas if r not in others)
