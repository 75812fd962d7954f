from controller.messages.job_events import AlterRow
from controller.model.rows import row_maker


def test_a_row_maker_returns_the_same_as_the_constructor() -> None:
    made = row_maker(AlterRow)((3, (1, 2)))
    assert (type(made), made) == (AlterRow, AlterRow(3, (1, 2)))
