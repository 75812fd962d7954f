"""Compute all steps of partitions towards their targets (KIP-435), with the brokers that are live now.

The forecast assumes that the replicas that a step adds are in sync when it ends, that lagging replicas stay out of
sync, and that offline brokers stay offline. `planner.spark` computes the same for millions of partitions at once.
"""

from collections.abc import Callable, Collection, Container, Iterator, Sequence
from typing import NamedTuple

from controller.scheduling.path import Step, steps_to
from controller.scheduling.steps import UNLIMITED, Replicas
from planner.step_table import SCHEDULED, Move, StepColumns, StepTable


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
    """Return the steps of a partition, with at most `limit` replicas each. They end before the target if it has to wait."""
    return steps_to(
        move.current,
        move.target,
        isr=move.isr,
        live=live,
        leader=move.leader,
        original=move.original or move.current,
        min_isr=move.min_isr,
        limit=limit,
    )
