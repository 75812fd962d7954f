"""Tables of all commands: aligned columns, colors and bars on a terminal, `-o wide` and `--no-headers`.

Output that is not a terminal has no colors, no bars and all columns. NO_COLOR turns colors off.
"""

import os
import re
import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import wraps
from typing import Any, NamedTuple, TypeVar

import click

from common.wording import printable
from reassignd.commands.options import JSON

R = TypeVar("R")
Row = dict[str, Any]

WIDE = "wide"

BAR_WIDTH = 20
"""Width of a progress bar in characters."""

LINES, ASCII = "━─", "#."
"""What bars consist of: the done part and the rest."""

HUES = {
    "green": ("active", "done", "live", "moving", "running", "starting", "yes"),
    "yellow": ("held", "paused", "queued", "roll", "shutting down", "standby", "taken over", "waiting"),
    "red": ("failed", "offline", "stopped", "topic deleted", "under"),
}
"""Color -> how the words begin that have it in a column of states."""

HUED = frozenset({"state", "role", "health"})
"""The columns of states."""

LOOK = f"{__name__}.look"


class Look(NamedTuple):
    """How tables are printed."""

    width: int | None = None
    """Columns are left out of wider tables, unless it is None."""
    color: bool = False
    bar: str = ""
    """`LINES`, `ASCII` or, without bars, nothing."""
    headers: bool = True
    wide: bool = False


PLAIN = Look()


def of_stdout(*, headers: bool = True, wide: bool = False) -> Look:
    """Return the look that stdout can show."""
    if not sys.stdout.isatty():
        return Look(headers=headers, wide=wide)
    unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    color = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    width = None if wide else shutil.get_terminal_size().columns
    return Look(width, color, LINES if unicode else ASCII, headers, wide)


def look() -> Look:
    """Return the look that the options of the running command ask for."""
    context = click.get_current_context(silent=True)
    found: Look = PLAIN if context is None else context.meta.get(LOOK, PLAIN)
    return found


def with_table(command: Callable[..., R]) -> Callable[..., R]:
    """Add the options of commands that print tables, and pass `output_format`: text, wide or json."""

    @wraps(command)
    def run(*arguments: object, output_format: str, no_headers: bool, **values: object) -> R:
        shown = of_stdout(headers=not no_headers, wide=output_format == WIDE)
        click.get_current_context().meta[LOOK] = shown
        return command(*arguments, output_format=output_format, **values)

    run = click.option("--no-headers", is_flag=True, help="Print no headings of tables.")(run)
    return click.option(
        "-o",
        "--format",
        "output_format",
        type=click.Choice(["text", WIDE, JSON]),
        default="text",
        help="Output format: text, text with all columns, or the JSON of the API.  [default: text]",
    )(run)


class Safe(str):
    """A line without control characters other than those of its colors."""

    __slots__ = ()


def safe(line: str) -> str:
    """Return the line without control characters, which names from the cluster can contain."""
    return line if isinstance(line, Safe) else printable(line)


def columns(
    head: Sequence[str], rows: Iterable[Sequence[object]], shown: Look | None = None
) -> Iterator[str]:
    """Yield the lines of a table; columns of numbers are aligned right."""
    shown = shown or look()
    table = [[printable(str(cell)) for cell in row] for row in rows]
    right = [_is_numeric([row[i] for row in table]) for i in range(len(head))]
    widths = [max(len(row[i]) for row in [head, *table]) for i in range(len(head))]

    def line(row: Sequence[str], paint: Callable[[str, str], str]) -> Safe:
        cells = []
        for title, text, width, is_right in zip(head, row, widths, right, strict=True):
            space = " " * (width - len(text))
            painted = paint(title, text) if shown.color else text
            cells.append(space + painted if is_right else painted + space)
        return Safe("  ".join(cells).rstrip())

    if shown.headers:
        yield line([title.upper() for title in head], lambda _, text: click.style(text, bold=True))
    for row in table:
        yield line(row, _painted)


def fitting(
    head: Sequence[str],
    rows: Sequence[Row],
    width: int | None,
    spare: Sequence[str],
    short: dict[str, str] | None = None,
) -> Iterator[str]:
    """Yield a table. Columns in `spare` are left out, the first one first, until it fits the width.

    A spare column for which the rows have a short form, by its name in `short`, is shortened instead.
    """
    rows = [dict(row) for row in rows]
    shown, short = list(head), short or {}
    for name in (*spare, None):
        lines = list(columns(shown, ([row[column] for column in shown] for row in rows)))
        if width is None or name is None or max(map(len, map(click.unstyle, lines)), default=0) <= width:
            yield from lines
            return
        if rows and name in short:
            for row in rows:
                row[name] = row[short[name]]
        elif name in shown:
            shown.remove(name)


def filled(
    head: Sequence[str], rows: Sequence[Row], spare: Sequence[str], optional: Collection[str]
) -> Iterator[str]:
    """Yield a table as `fitting` does, without the optional columns that are empty in all rows."""
    shown = [name for name in head if name not in optional or any(row[name] for row in rows)]
    yield from fitting(shown, rows, look().width, spare)


def bar(done: int, total: int, width: int = BAR_WIDTH) -> str:
    """Return a progress bar and a blank; nothing where there are no bars."""
    if not (style := look().bar):
        return ""
    full = width * done // total if total else width
    return style[0] * full + style[1] * (width - full) + " "


def hue(text: str) -> str | None:
    """Return the color of a state."""
    return next((color for color, words in HUES.items() if text.lower().startswith(words)), None)


def _painted(title: str, text: str) -> str:
    if title in HUED:
        return click.style(text, fg=hue(text)) if hue(text) else text
    text = re.sub("━+|#{2,}(?=[#.]* )", lambda found: click.style(found[0], fg="green"), text)
    return re.sub("─+", lambda found: click.style(found[0], dim=True), text)


def _is_numeric(cells: Sequence[str]) -> bool:
    return any(cells) and all(not cell or cell.replace(",", "").isdecimal() for cell in cells)
