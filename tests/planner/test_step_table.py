from controller.scheduling.steps import UNLIMITED
from planner.schedule import schedule
from planner.step_table import Move, StepColumns

MOVES = [Move("orders", number, (1, 2), (3, 2), (1, 2), 1, 1, 100 + number) for number in range(2)]


def test_an_empty_table_has_its_columns() -> None:
    table = StepColumns.from_rows(("id", "step"), [])
    assert len(table) == 0
    assert list(table.rows("id", "step")) == []


def test_rows_have_the_columns_in_the_order_that_is_asked_for() -> None:
    table = StepColumns.from_rows(("id", "step"), [(7, 1), (7, 2)])
    assert list(table.rows("step", "id")) == [(1, 7), (2, 7)]


def test_steps_are_sorted_by_wave_and_then_by_move() -> None:
    steps = schedule(MOVES, (), UNLIMITED).steps.in_waves(MOVES, [1, 0])
    rows = steps.rows("partition", "step", "wave", "leader_movement", "replica_bytes")
    assert list(rows) == [(1, 1, 0, True, 101), (0, 1, 1, True, 100)]
    together = schedule(MOVES, (), UNLIMITED).steps.in_waves(MOVES, [0, 0])
    assert list(together.rows("partition")) == [(0,), (1,)]
