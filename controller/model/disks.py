"""The record of a move of one replica from one log directory of its broker to another (KIP-113)."""

from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple

from controller.model.configs import list_items
from controller.model.jobs import Ending
from controller.model.replicas import TopicPartition

LOOK_SECONDS = 1.0
"""Shortest pause between two looks at the brokers that move replicas."""


class BrokerReplica(NamedTuple):
    """The replica of a partition on one broker."""

    topic: str
    partition: int
    broker: int

    @property
    def partition_key(self) -> TopicPartition:
        """The partition."""
        return TopicPartition(self.topic, self.partition)

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} on broker {self.broker}"


class BrokerDir(NamedTuple):
    """A log directory of a broker. As text it is BROKER:PATH."""

    broker: int
    path: str

    def __str__(self) -> str:
        return f"{self.broker}:{self.path}"


def read_dirs(value: str | None) -> list[BrokerDir]:
    """Return the directories that a valid list of BROKER:PATH names; none for None."""
    items = (item.partition(":") for item in list_items(value))
    return [BrokerDir(int(broker), path) for broker, _, path in items]


def paths_by_broker(dirs: Iterable[BrokerDir]) -> dict[int, list[str]]:
    """Return the paths of the directories by broker."""
    paths: dict[int, list[str]] = {}
    for broker, path in dirs:
        paths.setdefault(broker, []).append(path)
    return paths


class MoveStage(IntEnum):
    """How far a move is. From DONE on it has ended."""

    WAITING = 0
    """The broker was not asked."""
    MOVING = 1
    """The broker is asked for the target until the replica is there."""
    RETURNING = 2
    """Cancelled: the broker is asked for the directory that the replica is in."""
    DONE = 3
    ROLLED_BACK = 4
    """Cancelled; the replica has stayed in its directory."""
    TAKEN = 5
    """The replica has left the broker, or others have moved it."""
    TOPIC_DELETED = 6

    @property
    def is_open(self) -> bool:
        """Whether the move has not ended."""
        return self < MoveStage.DONE

    @property
    def is_flying(self) -> bool:
        """Whether the broker may be copying."""
        return self in {MoveStage.MOVING, MoveStage.RETURNING}


ENDINGS = {
    MoveStage.DONE: Ending.DONE,
    MoveStage.ROLLED_BACK: Ending.ROLLED_BACK,
    MoveStage.TAKEN: Ending.TAKEN,
    MoveStage.TOPIC_DELETED: Ending.TOPIC_DELETED,
}
"""How the part of a replica in a job has ended."""


class DiskMove(NamedTuple):
    """A replica that is to change its directory. It stays a record after its end, for a rollback."""

    job: int
    topic: str
    partition: int
    broker: int
    source: str
    """Its directory when the move was ordered."""
    target: str
    size: int
    """Its bytes then; 0 if they were not known."""
    stage: MoveStage = MoveStage.WAITING
    reason: str = ""
    """Why it has ended, other than by its arrival. If the replica has arrived: why a rollback leaves it."""

    @property
    def replica(self) -> BrokerReplica:
        """The replica that moves."""
        return BrokerReplica(self.topic, self.partition, self.broker)

    @property
    def key(self) -> tuple[int, BrokerReplica]:
        """The key under which the record is stored."""
        return self.job, self.replica
