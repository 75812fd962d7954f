"""Tables of a plan in Arrow, and their Parquet files.

Only this module and `planner.model.snapshot` write Parquet. pyarrow is imported in functions, since
reassignd runs without it.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from planner.model.forecast import WaveRow
from planner.model.step_table import PLANNED, Move, StepTable

if TYPE_CHECKING:
    import pyarrow as pa

LISTS = frozenset({"replicas", "adding", "removing"})


class ArrowSteps:
    """A `StepTable` in Arrow."""

    def __init__(self, table: "pa.Table") -> None:
        self.table = table

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def rows(self, *names: str) -> Iterator[tuple[Any, ...]]:
        """Yield the values of these columns."""
        return zip(*(_values(self.table[name], name in LISTS) for name in names), strict=True)

    def in_waves(self, moves: Sequence[Move], waves: Sequence[int]) -> Self:
        """Return the columns PLANNED, sorted by wave."""
        import pyarrow as pa
        import pyarrow.compute as pc

        steps, ids = self.table, self.table["id"]
        topics = pa.array([move.topic for move in moves], pa.string()).dictionary_encode()
        columns = {
            **{name: steps[name] for name in steps.column_names},
            "topic": topics.take(ids),
            "partition": pa.array([move.partition for move in moves], pa.int32()).take(ids),
            "leader_movement": pc.not_equal(steps["source"], steps["leader"]),
            "wave": pa.array(waves, pa.int32()),
            "replica_bytes": pa.array([move.bytes for move in moves], pa.int64()).take(ids),
        }
        table = pa.table({name: columns[name] for name in (*PLANNED, "id")})
        return type(self)(table.sort_by([("wave", "ascending"), ("id", "ascending")]).drop_columns("id"))


def write_parquet(steps: StepTable, waves: Sequence[WaveRow], directory: Path) -> None:
    """Write `steps.parquet` and `waves.parquet`. Raises ModuleNotFoundError without pyarrow, OSError."""
    from pyarrow.parquet import write_table

    write_table(_steps(steps), directory / "steps.parquet")
    write_table(_waves(waves), directory / "waves.parquet")


def _steps(steps: StepTable) -> "pa.Table":
    import pyarrow as pa

    if isinstance(steps, ArrowSteps):
        return steps.table
    lists = pa.list_(pa.int32())
    kinds = {
        "topic": pa.dictionary(pa.int32(), pa.string()),
        **dict.fromkeys(LISTS, lists),
        "leader_movement": pa.bool_(),
        "replica_bytes": pa.int64(),
    }
    columns = {name: [value for (value,) in steps.rows(name)] for name in PLANNED}
    return pa.table({name: pa.array(values, kinds.get(name, pa.int32())) for name, values in columns.items()})


def _waves(rows: Sequence[WaveRow]) -> "pa.Table":
    import pyarrow as pa

    kinds = {"wave": pa.int32(), "broker": pa.int32(), "seconds": pa.float64(), "outpaced": pa.bool_()}
    names = WaveRow._fields
    columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    return pa.table({name: pa.array(columns[name], kinds.get(name, pa.int64())) for name in names})


def _values(column: "pa.ChunkedArray", is_list: bool) -> Iterator[Any]:
    """Yield the values of a column as Python objects. Lists are cut out of one flat list, which is faster."""
    import pyarrow.compute as pc

    if not is_list:
        yield from column.to_pylist()
        return
    flat = pc.list_flatten(column).to_pylist()
    first = 0
    for length in pc.list_value_length(column).to_pylist():
        yield flat[first : first + length]
        first += length
