"""Names of partitions and replica lists."""

import re
from functools import lru_cache
from typing import NamedTuple

NO_LEADER = -1

NO_ID = bytes(16)
"""The id of a topic that was created before topics had ids (KIP-516)."""

Replicas = tuple[int, ...]
"""Broker ids in preference order: the first is the preferred leader."""

MAX_REPLICAS = 10_000
"""Maximum number of replicas of a partition. It takes a millisecond to check them; Kafka has no bound."""


MAX_NAME = 249
"""The longest topic name, in characters."""
_TOPIC_NAME = re.compile(rf"[a-zA-Z0-9._-]{{1,{MAX_NAME}}}")


def is_topic_name(name: str) -> bool:
    """Return whether a topic may have this name (Kafka: Topic.validate)."""
    return _TOPIC_NAME.fullmatch(name) is not None and name not in {".", ".."}


class TopicPartition(NamedTuple):
    """The name of a partition, and the key of the records about it.

    These records begin with the same two fields. They make their key by `tuple.__new__`, at half the cost of
    the constructor: no other value is made as often.
    """

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


SHOWN = 250
"""Characters of a client's name or value that a message repeats. Clients may send 32,767."""


def display_name(text: str) -> str:
    """Return a name or value from a request, shortened for a message."""
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text)} characters)"


@lru_cache(maxsize=65_536)
def without(replicas: Replicas, others: Replicas) -> Replicas:
    """Return the first list without the members of the second.

    Equal arguments share one result, to save memory.
    """
    return tuple(r for r in replicas if r not in others)


def never_ends(adding: Replicas, removing: Replicas) -> bool:
    """Whether a listed move drops a replica that an earlier row adds.

    Kafka 4.3 waits for that replica for ever.
    """
    return not set(adding).isdisjoint(removing)
