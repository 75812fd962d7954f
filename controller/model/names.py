"""How partitions and their replicas are named everywhere."""

from functools import lru_cache
from typing import NamedTuple

NO_LEADER = -1

NO_ID = bytes(16)
"""Of a topic that was made before topics had ids (KIP-516)."""

Replicas = tuple[int, ...]
"""Broker ids in preference order: the first is the preferred leader."""


class TopicPartition(NamedTuple):
    """The name of a partition, and the key of the records about it.

    These records begin with the same two fields. They make their key by `tuple.__new__`, at half the cost of the
    constructor: no other value is made as often.
    """

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


SHOWN = 250
"""Characters of a name or a value that a text repeats; what clients send may have 32,767."""


def display_name(text: str) -> str:
    """A name or a value from a request, short enough to stand in a text of ours."""
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text)} characters)"


@lru_cache(maxsize=65_536)
def without(replicas: Replicas, others: Replicas) -> Replicas:
    """Those of the first list that are not in the second, in order. Partitions with the same two lists share the answer."""
    return tuple(r for r in replicas if r not in others)
