"""Entries of the backlog: buckets of steps with the same rank and capacities, and their positions."""

from collections import deque
from typing import NamedTuple

from controller.model.cluster import TopicPartition
from controller.scheduling.limits import Capacity, Cost


class Rank(NamedTuple):
    """The first criterion of the order: smaller ranks start first; within a rank, lower waves do."""

    priority: int
    """The negated priority of the job."""
    healthy: bool
    """False for partitions that lack replicas: they are repaired first."""
    follows: bool
    """False for steps that move leadership: they start first, up to limit L."""


class Planned(NamedTuple):
    """The wave of a step in its job's plan, relative to the wave at which the plan was received."""

    job: int
    wave: int


class Bucket:
    """Steps of the same rank that take the same capacities, in order.

    It has one valid position, in the heap or parked.
    """

    __slots__ = ("cost", "keys", "last", "parked_at", "passed", "planned", "position", "rank", "wave")

    def __init__(self, rank: Rank, cost: Cost) -> None:
        self.rank, self.cost = rank, cost
        self.keys: deque[TopicPartition] = deque()
        self.planned: list[Step] = []
        """A heap of the steps that have a wave from a plan."""
        self.last = -1
        """The wave of the last step taken that had no wave of its own."""
        self.position = 0
        """The number of its valid position; positions with other numbers are void."""
        self.wave = 0
        """The wave of that position."""
        self.parked_at: Capacity | None = None
        """The exhausted capacity for which its steps wait."""
        self.passed = 0
        """Smaller steps that took that capacity since the last step of this bucket did."""


class Step(NamedTuple):
    """A step with a wave from a plan; `number` makes the order within a wave unique."""

    wave: int
    number: int
    key: TopicPartition
    bucket: Bucket


class Position(NamedTuple):
    """The position of a bucket in the order. `planned`: its first step has a wave from a plan."""

    rank: Rank
    wave: int
    number: int
    bucket: Bucket
    planned: bool
