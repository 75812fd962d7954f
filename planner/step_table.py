"""The steps of a plan as a table of named columns: lists in this module, Arrow in `planner.arrow_tables`.

Arrow needs a tenth of the memory for millions of steps. Lists need no package besides Python.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, Self

from controller.scheduling.steps import Replicas

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
