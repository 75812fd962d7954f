"""Events of moves between log directories: orders, what brokers show, and what they answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from controller.messages.event import UNKNOWN_REQUESTER, Event, Requester
from controller.model.disks import BrokerDir, BrokerReplica
from controller.model.limits import NO_LIMITS, PlanLimits
from controller.model.replicas import TopicPartition


class OrderedMove(NamedTuple):
    """A replica that is to change its directory."""

    topic: str
    partition: int
    broker: int
    source: str
    """The directory that it is in."""
    target: str
    size: int = 0
    """Its bytes; 0 if they are not known."""

    @property
    def replica(self) -> BrokerReplica:
        """The replica."""
        return BrokerReplica(self.topic, self.partition, self.broker)


class MovesReply(NamedTuple):
    """The reply to an order. If a row is refused, nothing was ordered, and `job` is 0."""

    job: int = 0
    refused: Sequence[tuple[BrokerReplica, str]] = ()


@dataclass(frozen=True, slots=True)
class MoveDisks(Event[MovesReply]):
    """Move replicas to other directories of their brokers, as one job."""

    moves: Sequence[OrderedMove]
    requester: Requester = UNKNOWN_REQUESTER
    priority: int = 0
    throttle: int = 0
    """Bytes a second that each broker copies; 0 for no throttle."""
    limits: PlanLimits = NO_LIMITS
    """Of these, B counts: the replicas that move at once in one broker."""
    paused: bool = False
    emptied: Sequence[BrokerDir] = ()
    """Directories that get no new replicas from now on."""


@dataclass(frozen=True, slots=True)
class CancelMoves(Event[int]):
    """Cancel the moves of a job, or of all (None). What is under way returns. The reply is their number."""

    job: int | None
    requester: Requester = UNKNOWN_REQUESTER
    topic: str = ""
    """Only those of this topic; empty for all."""


class SeenDir(NamedTuple):
    """A log directory; sizes in bytes, -1 when the broker does not report them."""

    total: int = -1
    usable: int = -1
    cordoned: bool = False
    failed: bool = False


class SeenLog(NamedTuple):
    """A log of a replica: its directory and its bytes."""

    path: str
    size: int


class SeenBroker(NamedTuple):
    """The directories of a broker, and what it has of the replicas that it was asked for."""

    dirs: Mapping[str, SeenDir]
    logs: Mapping[TopicPartition, SeenLog]
    futures: Mapping[TopicPartition, SeenLog] = {}
    """The copies that are to replace the logs when they have caught up."""


class Ask(NamedTuple):
    """A replica, and the directory that its broker is to be asked for."""

    replica: BrokerReplica
    path: str


@dataclass(frozen=True, slots=True)
class DisksSeen(Event[Sequence[Ask]]):
    """What brokers show of replicas with a move. The reply is what to ask them for.

    `looked` are the replicas in question by broker. Of each broker either `shown` has what it has answered,
    or `silent` why it has not.
    """

    looked: Mapping[int, Sequence[BrokerReplica]]
    shown: Mapping[int, SeenBroker]
    silent: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MovesRefused(Event[None]):
    """Brokers have refused to move replicas, or have not answered, and why."""

    rows: Sequence[tuple[Ask, str]]
