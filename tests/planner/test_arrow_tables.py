from pathlib import Path

import pyarrow as pa
from pyarrow.parquet import read_table

from planner.arrow_tables import ArrowSteps, write_parquet
from planner.model.step_table import PLANNED, SCHEDULED, Move, StepTable, schedule

MOVES = [Move("orders", number, (1, 2), (3, 4), (1, 2), 1, 1, 100 + number) for number in range(3)]
WAVES = [1, 2, 3, 0, 1, 2, 0, 1, 3]


def in_arrow(steps: StepTable) -> ArrowSteps:
    rows = list(steps.rows(*SCHEDULED))
    return ArrowSteps(pa.table(dict(zip(SCHEDULED, map(list, zip(*rows, strict=True)), strict=True))))


def rows(steps: StepTable) -> list[list[object]]:
    return [
        [list(value) if isinstance(value, tuple) else value for value in row] for row in steps.rows(*PLANNED)
    ]


def test_arrow_has_the_same_rows_as_lists() -> None:
    steps = schedule(MOVES, (), 1).steps
    assert rows(in_arrow(steps).in_waves(MOVES, WAVES)) == rows(steps.in_waves(MOVES, WAVES))


def test_the_files_are_the_same_for_arrow_and_lists(tmp_path: Path) -> None:
    steps = schedule(MOVES, (), 1).steps
    tables = []
    for each in (steps, in_arrow(steps)):
        write_parquet(each.in_waves(MOVES, WAVES), [], tmp_path)
        tables.append(read_table(tmp_path / "steps.parquet"))
    assert tables[0].to_pylist() == tables[1].to_pylist()
    assert tables[0].column_names == [*PLANNED]
