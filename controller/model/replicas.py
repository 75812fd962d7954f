"""Partitions: names, replica lists, and the records of both (KIP-455) and of reassignments (KIP-236).

Replica lists are tuples of broker ids in preference order; the first replica is the preferred leader.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Self

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


class StoredReplica(NamedTuple):
    """What a broker reports of its own replica: its bytes, and the log directory that has it."""

    broker: int
    bytes: int
    log_dir: str


class StoredReplicas(tuple[Any, ...]):
    """What brokers report of the replicas of one partition, in one object, which takes less memory.

    It consists of the brokers, their log directories, which partitions share, and the bytes of each replica.
    """

    __slots__ = ()

    def __new__(cls, brokers: Replicas, sizes: Sequence[int], log_dirs: tuple[str, ...]) -> Self:
        """Return the replicas: the three have an entry for each."""
        return super().__new__(cls, (brokers, log_dirs, *sizes))

    @property
    def brokers(self) -> Replicas:
        """The brokers of the replicas."""
        brokers: Replicas = self[0]
        return brokers

    @property
    def log_dirs(self) -> tuple[str, ...]:
        """The directory of each replica."""
        log_dirs: tuple[str, ...] = self[1]
        return log_dirs

    @property
    def sizes(self) -> tuple[int, ...]:
        """The bytes of each replica."""
        return self[2:]

    def bytes_on(self, broker: int) -> int | None:
        """Return the bytes of the replica of the broker; None if it is not known."""
        brokers = self.brokers
        return self[2 + brokers.index(broker)] if broker in brokers else None

    def on(self, broker: int) -> StoredReplica | None:
        """Return the replica of the broker; None if it is not known."""
        if broker not in self.brokers:
            return None
        at = self.brokers.index(broker)
        return StoredReplica(broker, self[2 + at], self.log_dirs[at])

    def updated(self, newer: Iterable[StoredReplica], replicas: Replicas) -> "StoredReplicas":
        """Return them with newer reports, in the order of `replicas`, and without any other broker."""
        known = {each.broker: each for each in newer}
        if len(known) < len(replicas):
            rows = zip(self.brokers, self.sizes, self.log_dirs, strict=True)
            known = {row[0]: StoredReplica(*row) for row in rows} | known
        found = [known[broker] for broker in replicas if broker in known]
        if not found:
            return NOTHING_STORED
        brokers, sizes, log_dirs = zip(*found, strict=True)
        return StoredReplicas(replicas if brokers == replicas else brokers, sizes, _shared(log_dirs))


@lru_cache(maxsize=65_536)
def _shared(log_dirs: tuple[str, ...]) -> tuple[str, ...]:
    """Return an equal tuple, the same for equal arguments, to save memory."""
    return log_dirs


NOTHING_STORED = StoredReplicas((), (), ())


@lru_cache(maxsize=65_536)
def without(replicas: Replicas, others: Replicas) -> Replicas:
    """Return the first list without the members of the second.

    Equal arguments share one result, to save memory.
    """
    return tuple(r for r in replicas if r not in others)


def never_ends(adding: Replicas, removing: Replicas) -> bool:
    """Whether a listed move drops a replica that an earlier row adds.

    Kafka 4.3 waits for that replica forever.
    """
    return not set(adding).isdisjoint(removing)


class Partition(NamedTuple):
    """A partition as published to the brokers (Kafka: LeaderIsrAndControllerEpoch, ReplicaAssignment).

    While a step is in flight, `replicas` is the next list followed by the replicas to be removed,
    `adding` the part that is new and `removing` the part that goes.
    """

    topic: str
    partition: int
    replicas: Replicas
    isr: Replicas
    leader: int
    leader_epoch: int = 0
    partition_epoch: int = 0
    """Version of leader and ISR. A leader must know it to change the ISR. In ZooKeeper mode: the state
    znode's version."""
    adding: Replicas = ()
    removing: Replicas = ()

    @property
    def key(self) -> TopicPartition:
        """The key under which the record is stored."""
        return tuple.__new__(TopicPartition, self[:2])

    @property
    def moving(self) -> bool:
        """Replicas are being added or removed."""
        return bool(self.adding or self.removing)

    @property
    def current(self) -> Replicas:
        """The replicas after the last completed step: `replicas` without those being added, in that order."""
        return without(self.replicas, self.adding) if self.adding else self.replicas

    @property
    def next(self) -> Replicas:
        """The replicas after the step in flight; `replicas` without one."""
        return without(self.replicas, self.removing) if self.removing else self.replicas

    @property
    def under_replicated(self) -> bool:
        """Whether a replica that is not being added is out of the ISR (KIP-352, counted by members)."""
        return any(r not in self.isr and r not in self.adding for r in self.replicas)


class Reassignment(NamedTuple):
    """The original and the target of one partition; deleted when the partition is at its target.

    Its phase is derived.
    """

    topic: str
    partition: int
    original: Replicas
    """The replicas when the first of its orders was accepted. A rollback restores them."""
    target: Replicas
    job: int = 0
    """The newest job that ordered it; 0 if another controller did."""
    blocked: str = ""
    """Why it waits for a decision of an operator; empty if it does not."""
    topic_id: str = ""
    """The topic's id in hexadecimal digits where topics are not records of reassignd (`Mode.keeps_topics`),
    and another controller may have made another topic of that name; else empty."""

    @property
    def key(self) -> TopicPartition:
        """The key under which the record is stored."""
        return tuple.__new__(TopicPartition, self[:2])

    def current_of(self, partition: Partition) -> Replicas:
        """Return `Partition.current` in its order before the step in flight, which the partition has lost."""
        current = partition.current
        if not partition.moving:
            return current
        if set(current) == set(self.original):
            return self.original
        rest = [r for r in self.original if r in current and r not in self.target]
        known = [r for r in self.target if r in current] + rest
        return tuple(known + [r for r in current if r not in known])

    @property
    def rolling_back(self) -> bool:
        """Whether the target is the original (KIP-236)."""
        return self.target == self.original
