from controller.job_events import AlterRow
from server.rows import maker


def test_a_row_is_what_its_constructor_makes() -> None:
    made = maker(AlterRow)((3, (1, 2)))
    assert (type(made), made) == (AlterRow, AlterRow(3, (1, 2)))
