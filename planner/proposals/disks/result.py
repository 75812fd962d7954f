"""Moves between the log directories of brokers, and what they do to each directory."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from controller.model.replicas import Replicas
from planner.model.snapshot import TOPIC_PARTITION
from planner.proposals.problem.goal import ProposalError


class DirMove(NamedTuple):
    """A replica that moves to another log directory of its broker. `bytes` is its size."""

    topic: str
    partition: int
    broker: int
    source: str
    target: str
    bytes: int


class LeftReplica(NamedTuple):
    """A replica that stays where it is although the goal is about it, and why."""

    topic: str
    partition: int
    broker: int
    reason: str


class DirChange(NamedTuple):
    """A log directory before and after the moves.

    `total` is the size of its volume, `before` and `after` what is used of that, in bytes, all None if its
    broker does not report them. It is within the goal if it has `least` to `most` bytes afterwards; both are
    None if the goal says nothing of it.
    """

    broker: int
    path: str
    total: int | None
    before: int | None
    after: int | None
    replicas_before: int
    replicas_after: int
    gains: int = 0
    losses: int = 0
    least: int | None = None
    most: int | None = None
    cordoned: bool = False


class DiskProposal(NamedTuple):
    """Moves between log directories. Every replica stays on its broker."""

    moves: tuple[DirMove, ...]
    """In order of topic, partition and broker."""
    dirs: tuple[DirChange, ...]
    """Those of the brokers that the goal is about, in order of broker and path."""
    replicas: Mapping[TOPIC_PARTITION, Replicas]
    """The replicas of each partition in `moves`."""
    left_out: tuple[LeftReplica, ...] = ()
    bytes_bound: int = 0
    """No moves that come as near to the goal copy fewer bytes than this."""
    short: tuple[str, ...] = ()
    """One line each: what the moves do not reach, and why."""
    notes: tuple[str, ...] = ()

    @property
    def bytes(self) -> int:
        """What is copied."""
        return sum(each.bytes for each in self.moves)

    @property
    def fewest_bytes_proven(self) -> bool:
        """Whether no moves that come as near to the goal copy fewer bytes."""
        return self.bytes == self.bytes_bound


def seconds_to_move(moves: Iterable[DirMove], bandwidth: int, least: float) -> float:
    """Return the seconds that the moves take: those of the broker that needs longest.

    Each broker copies `bandwidth` bytes per second, one replica after the other, none in less than `least`.
    """
    seconds: dict[int, float] = {}
    for move in moves:
        seconds[move.broker] = seconds.get(move.broker, 0.0) + max(least, move.bytes / bandwidth)
    return max(seconds.values(), default=0.0)


class PartialDisksError(ProposalError):
    """Moves that do not empty all directories. `proposal` has them."""

    def __init__(self, proposal: DiskProposal) -> None:
        super().__init__([*proposal.short, "--allow-partial accepts moves that leave them there"])
        self.proposal = proposal
