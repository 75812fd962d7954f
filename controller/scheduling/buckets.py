"""What waits in `controller.scheduling.backlog`: steps, in buckets of those that rank alike and would take the same places."""

from collections import deque
from typing import NamedTuple

from controller.model.cluster import TopicPartition
from controller.scheduling.limits import Cost, Place


class Rank(NamedTuple):
    """What starts first: the smaller. Within a rank, the lower wave; within that, buckets by turns."""

    priority: int
    """Of the job, negated."""
    healthy: bool
    """Partitions that lack replicas are repaired first."""
    follows: bool
    """Steps that move leadership go first, up to their limit."""


class Planned(NamedTuple):
    """The wave that a job's planned order gives a step, counted from the wave at which the order came."""

    job: int
    wave: int


class Bucket:
    """Steps that rank alike and would take the same places, in order. It has one turn, ready or parked."""

    __slots__ = ("cost", "keys", "last", "parked_at", "passed", "planned", "rank", "turn", "wave")

    def __init__(self, rank: Rank, cost: Cost) -> None:
        self.rank, self.cost = rank, cost
        self.keys: deque[TopicPartition] = deque()
        self.planned: list[Step] = []
        """A heap of the steps that have a place in an order."""
        self.last = -1
        """The wave of the last step taken that had none."""
        self.turn = 0
        """The number of its turn; turns with other numbers are void."""
        self.wave = 0
        """Of that turn."""
        self.parked_at: Place | None = None
        """What its steps wait for room in."""
        self.passed = 0
        """Smaller steps that started in that place since a step of this bucket last did."""


class Step(NamedTuple):
    """A step that has a place in a planned order; `number` tells those of one wave apart."""

    wave: int
    number: int
    key: TopicPartition
    bucket: Bucket


class Turn(NamedTuple):
    """When a bucket is to be looked at; `planned`: for the sake of its first planned step."""

    rank: Rank
    wave: int
    number: int
    bucket: Bucket
    planned: bool
