"""The steps of partitions towards their targets (KIP-435), and the table of named columns that holds them.

The forecast assumes that the replicas that a step adds are in sync when it ends, that lagging replicas stay
out of sync, and that offline brokers stay offline. `planner.spark` computes the same for millions of
partitions at once. The columns are lists in this module, and Arrow in `planner.arrow_tables`: Arrow needs a
tenth of the memory for millions of steps. Lists need no package besides Python.
"""

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, NamedTuple, Protocol, Self

from controller.model.limits import UNLIMITED
from controller.model.replicas import Replicas
from controller.scheduling.steps import Step, steps_to

SCHEDULED = ("id", "step", "replicas", "adding", "removing", "source", "leader")
"""Columns of a schedule. `id` is the position of the move."""

PLANNED = (
    "topic",
    "partition",
    "step",
    "replicas",
    "adding",
    "removing",
    "leader_movement",
    "wave",
    "source",
    "leader",
    "replica_bytes",
)
"""Columns of a plan (docs/planner.md)."""


class Move(NamedTuple):
    """The state of a partition and its target. `bytes` is the size of one replica.

    `original` is the list before the reassignment; if it is empty, the reassignment begins at `current`.
    """

    topic: str
    partition: int
    current: Replicas
    target: Replicas
    isr: Replicas
    leader: int
    min_isr: int = 1
    bytes: int = 0
    original: Replicas = ()


class StepTable(Protocol):
    """Rows of steps. The columns are SCHEDULED, in the order of moves, or PLANNED, in the order of waves."""

    def __len__(self) -> int:
        """Return the number of steps."""

    def rows(self, *names: str) -> Iterator[tuple[Any, ...]]:
        """Yield the values of these columns. Lists are sequences of broker ids."""

    def in_waves(self, moves: Sequence[Move], waves: Sequence[int]) -> Self:
        """Return the columns PLANNED, sorted by wave. `waves` has the wave of each row."""


class StepColumns:
    """A table of lists."""

    def __init__(self, columns: Mapping[str, Sequence[Any]]) -> None:
        self._columns = columns

    @classmethod
    def from_rows(cls, names: Sequence[str], rows: Sequence[tuple[object, ...]]) -> Self:
        """Return a table with these columns and rows."""
        columns = list(zip(*rows, strict=True)) or [()] * len(names)
        return cls(dict(zip(names, columns, strict=True)))

    def __len__(self) -> int:
        return len(self._columns["step"])

    def rows(self, *names: str) -> Iterator[tuple[Any, ...]]:
        """Yield the values of these columns."""
        return zip(*(self._columns[name] for name in names), strict=True)

    def in_waves(self, moves: Sequence[Move], waves: Sequence[int]) -> Self:
        """Return the columns PLANNED, sorted by wave."""
        moved = [moves[number] for number in self._columns["id"]]
        columns = {
            **self._columns,
            "topic": [move.topic for move in moved],
            "partition": [move.partition for move in moved],
            "leader_movement": [source != leader for source, leader in self.rows("source", "leader")],
            "wave": waves,
            "replica_bytes": [move.bytes for move in moved],
        }
        order = sorted(range(len(waves)), key=waves.__getitem__)
        return type(self)({name: [columns[name][row] for row in order] for name in PLANNED})


class Schedule(NamedTuple):
    """All steps, with the columns SCHEDULED, and the partitions that cannot reach their targets.

    Position of the move, last replicas.

    Both are in the order of the moves.
    """

    steps: StepTable
    waiting: Sequence[tuple[int, Replicas]]


Scheduler = Callable[[Sequence[Move], Collection[int], int], Schedule]
"""Computes all steps from the moves, the offline brokers, and the maximum number of replicas in a step."""


def schedule(moves: Sequence[Move], offline: Collection[int], limit: int) -> Schedule:
    """Compute all steps of all partitions, without Spark."""
    return _schedule(moves, offline, limit, steps_of)


def schedule_electing(moves: Sequence[Move], offline: Collection[int], limit: int) -> Schedule:
    """Compute all steps of a job that elects the preferred leader at the end of each partition."""
    return _schedule(moves, offline, limit, _steps_electing)


def _schedule(
    moves: Sequence[Move],
    offline: Collection[int],
    limit: int,
    steps_of: Callable[[Move, Set[int], int], Iterable[Step]],
) -> Schedule:
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
    """Return the steps of a partition, with at most `limit` replicas each.

    They end before the target if it has to wait.
    """
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


def _steps_electing(move: Move, live: Container[int], limit: int) -> list[Step]:
    """Return the steps, the last of which elects; it changes nothing else if the list is right already."""
    steps = list(steps_of(move, live, limit))
    last = steps[-1] if steps else Step(1, move.current, (), (), move.leader, move.leader)
    preferred = move.target[0]
    able = preferred in live and (preferred in move.isr or preferred not in move.current)
    if last.replicas == move.target and last.leader != preferred and able:
        return [*steps[:-1], last._replace(leader=preferred)]
    return steps
