"""Tables on terminals and in pipes."""

from collections.abc import Iterator

import click
import pytest

from reassignd.commands.table import (
    ASCII,
    LINES,
    LOOK,
    PLAIN,
    Look,
    bar,
    columns,
    fitting,
    hue,
    of_stdout,
    safe,
)


@pytest.fixture
def context() -> Iterator[click.Context]:
    with click.Context(click.Command("jobs")) as found:
        yield found


def test_columns_are_aligned_and_numbers_stand_to_the_right() -> None:
    assert list(columns(("name", "n"), [("a", 5), ("long", "1,000"), ("none", "")])) == [
        "NAME      N",
        "a         5",
        "long  1,000",
        "none",
    ]


def test_a_table_without_rows_is_its_head() -> None:
    assert list(columns(("a", "b"), [])) == ["A  B"]


def test_a_table_can_be_printed_without_headings() -> None:
    assert list(columns(("a", "b"), [("x", "y")], Look(headers=False))) == ["x  y"]
    assert list(fitting(["a"], [], 10, ["a"])) == ["A"]


def test_colors_change_no_column() -> None:
    rows = [("1", "running", "━━── 1/2"), ("22", "offline", "──── 0/2")]
    colored = list(columns(("job", "state", "progress"), rows, Look(color=True)))
    assert list(map(click.unstyle, colored)) == list(columns(("job", "state", "progress"), rows))
    assert "\x1b[32mrunning\x1b[0m" in colored[1]
    assert "\x1b[31moffline\x1b[0m" in colored[2]


def test_names_of_a_cluster_cannot_change_colors() -> None:
    [line] = columns(("topic",), [("\x1b[31mred",)], Look(color=True, headers=False))
    assert safe(line) == "\\x1b[31mred"
    assert safe("\x1b[31mred") == "\\x1b[31mred"


@pytest.mark.parametrize("style", [LINES, ASCII])
def test_a_bar_is_full_at_the_end_and_when_there_is_nothing_to_do(context: click.Context, style: str) -> None:
    context.meta[LOOK] = Look(bar=style)
    assert [bar(*each).count(style[0]) for each in ((0, 4), (1, 4), (4, 4), (0, 0))] == [0, 5, 20, 20]


def test_pipes_have_no_bars_and_no_colors(context: click.Context) -> None:
    assert (of_stdout(), bar(1, 4)) == (PLAIN, "")


def test_a_terminal_has_colors_unless_they_are_unwanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert (of_stdout().color, of_stdout(wide=True).width) == (True, None)
    monkeypatch.setenv("NO_COLOR", "1")
    assert not of_stdout().color


@pytest.mark.parametrize(
    ("state", "color"),
    [
        ("rolled back by job 2", "yellow"),
        ("3 done", None),
        ("running, priority 2", "green"),
        ("live", "green"),
    ],
)
def test_a_state_has_the_same_color_in_all_tables(state: str, color: str | None) -> None:
    assert hue(state) == color
