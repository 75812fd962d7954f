"""What people read."""

from datetime import UTC, datetime

import pytest

from reassignd.commands.text import bar, columns, counted, duration, refused_lines, when


def test_columns_are_aligned_and_numbers_stand_to_the_right() -> None:
    assert list(columns(("name", "n"), [("a", 5), ("long", "1,000")])) == [
        "NAME      N",
        "a         5",
        "long  1,000",
    ]


def test_a_table_without_rows_is_its_head() -> None:
    assert list(columns(("a", "b"), [])) == ["A  B"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (59, "59 s"), (59.6, "1 min 0 s"), (200, "3 min 20 s"), (7_500, "2 h 5 min")],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_time_of_another_day_has_its_date() -> None:
    today = when(int(datetime.now(UTC).timestamp() * 1000))
    assert (len(today), len(when(86_400_000))) == (len("05:25:26"), len("2026-11-21 05:25:26"))


def test_counts() -> None:
    assert [counted(number, "partition") for number in (0, 1, 2_000)] == [
        "0 partitions",
        "1 partition",
        "2,000 partitions",
    ]


def test_a_bar_is_full_at_the_end_and_when_there_is_nothing_to_do() -> None:
    assert [bar(0, 4).count("#"), bar(1, 4).count("#"), bar(4, 4).count("#"), bar(0, 0).count("#")] == [
        0,
        5,
        20,
        20,
    ]


def test_many_refusals_are_cut_short() -> None:
    rows = [{"topic": "foo", "partition": number, "message": "no"} for number in range(25)]
    assert list(refused_lines(rows, most=1)) == ["refused: foo-0: no", "refused: 24 more"]
