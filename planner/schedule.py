"""Compute all steps of partitions towards their targets (KIP-435), with the brokers that are live now.

The forecast assumes that the replicas that a step adds are in sync when it ends, that lagging replicas stay out of
sync, and that offline brokers stay offline. `planner.spark` computes the same for millions of partitions at once.
"""

from collections.abc import Callable, Collection, Container, Iterator, Sequence
from typing import NamedTuple

from controller.scheduling.steps import (
    NO_LEADER,
    UNLIMITED,
    Replicas,
    leader_after,
    next_step,
    preferred_leader,
)
from planner.step_table import SCHEDULED, Move, StepColumns, StepTable


class Step(NamedTuple):
    """A step, counted from 1: its final replica list, and the leader before (`source` of the data) and after it."""

    number: int
    replicas: Replicas
    adding: Replicas
    removing: Replicas
    source: int
    leader: int

    @property
    def leader_movement(self) -> bool:
        """Whether the step changes the leader."""
        return self.leader != self.source


class Schedule(NamedTuple):
    """All steps, with the columns SCHEDULED, and the partitions that cannot reach their targets: position of the move, last replicas.

    Both are in the order of the moves.
    """

    steps: StepTable
    waiting: Sequence[tuple[int, Replicas]]


Scheduler = Callable[[Sequence[Move], Collection[int], int], Schedule]
"""Computes all steps from the moves, the offline brokers, and the maximum number of replicas in a step."""


def schedule(moves: Sequence[Move], offline: Collection[int], limit: int) -> Schedule:
    """Compute all steps of all partitions, without Spark."""
    live = {broker for move in moves for broker in (*move.current, *move.target)}.difference(offline)
    steps: list[tuple[object, ...]] = []
    waiting = []
    for number, move in enumerate(moves):
        reached = move.current
        for step in steps_of(move, live, limit):
            steps.append((number, *step))
            reached = step.replicas
        if reached != move.target:
            waiting.append((number, reached))
    return Schedule(StepColumns.from_rows(SCHEDULED, steps), waiting)


def steps_of(move: Move, live: Container[int], limit: int = UNLIMITED) -> Iterator[Step]:
    """Yield the steps of a partition, with at most `limit` replicas each. They end before the target if it has to wait."""
    current, isr, leader = move.current, move.isr, move.leader
    number = 0
    while current != move.target and (leader != NO_LEADER or set(current) == set(move.target)):
        following = next_step(
            current, move.target, isr=isr, live=live, leader=leader, min_isr=move.min_isr, limit=limit
        )
        if following is None:
            return
        number += 1
        adding = tuple(r for r in following if r not in current)
        removing = tuple(r for r in current if r not in following)
        source, preferred = leader, preferred_leader(move.target, limit)
        leader = leader_after(current, following, isr=isr, live=live, leader=source, preferred=preferred)
        isr = tuple(r for r in following if r in isr or r in adding)
        yield Step(number, following, adding, removing, source, leader)
        current = following
