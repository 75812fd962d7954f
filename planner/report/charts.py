"""Charts as inline SVG. Colours are classes of the style sheet, which supports light and dark themes."""

from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple

from common.units import ticks

WIDTH = 960
LEFT, RIGHT, TOP, BOTTOM = 84, 12, 12, 34
ROW = 22

Format = Callable[[float], str]


class Bar(NamedTuple):
    """A bar: its value, its label, and its tooltip."""

    label: str
    value: float
    title: str


class Pair(NamedTuple):
    """Two values with one label, as two horizontal bars."""

    label: str
    first: float
    second: float
    title: str


class Cell(NamedTuple):
    """A cell of a heat map. `share`, from 0 to 1, is its intensity."""

    row: int
    column: int
    share: float
    title: str


def columns(bars: Sequence[Bar], form: Format, axis: str, height: int = 240) -> str:
    """Return a chart of vertical bars, with labels below them where there is space."""
    scale = ticks(max((bar.value for bar in bars), default=0))
    floor = height - BOTTOM
    each = (WIDTH - LEFT - RIGHT) / max(1, len(bars))
    parts = [_grid(scale, form, floor)]
    every = -(-len(bars) // 12) if bars else 1
    for index, bar in enumerate(bars):
        size = bar.value / scale[-1] * (floor - TOP)
        x = LEFT + index * each
        width = max(0.5, each - (2 if each > 6 else 0.3))
        parts.append(_rect("first", x, floor - size, width, size, bar.title))
        if index % every == 0:
            parts.append(_text(x + width / 2, floor + 15, bar.label, "middle"))
    parts.append(_text(WIDTH - RIGHT, height - 3, axis, "end"))
    return _svg(height, parts)


def pairs(rows: Sequence[Pair], form: Format) -> str:
    """Return a chart with two horizontal bars per row, between the label and the larger value."""
    scale = ticks(max((max(row.first, row.second) for row in rows), default=0))[-1]
    place = WIDTH - LEFT - RIGHT - 170
    parts = []
    for index, row in enumerate(rows):
        y = index * ROW + 3
        parts.append(_text(LEFT - 8, y + 12, row.label, "end"))
        parts.append(_rect("first", LEFT, y, row.first / scale * place, 7, row.title))
        parts.append(_rect("second", LEFT, y + 8, row.second / scale * place, 7, row.title))
        end = LEFT + max(row.first, row.second) / scale * place
        parts.append(_text(end + 6, y + 12, f"{form(row.first)} · {form(row.second)}", "start"))
    return _svg(len(rows) * ROW + 6, parts)


def line(points: Sequence[tuple[float, float]], form_x: Format, form_y: Format, height: int = 240) -> str:
    """Return an area chart that starts at 0. The points are sorted by x."""
    scale_x = max((x for x, _ in points), default=0) or 1
    scale = ticks(max((y for _, y in points), default=0))
    floor = height - BOTTOM

    def at(x: float, y: float) -> str:
        return (
            f"{LEFT + x / scale_x * (WIDTH - LEFT - RIGHT):.1f},{floor - y / scale[-1] * (floor - TOP):.1f}"
        )

    path = " ".join(at(x, y) for x, y in [(0, 0), *points])
    parts = [
        _grid(scale, form_y, floor),
        f'<polygon class="area" points="{path} {at(scale_x, 0)}"/>',
        f'<polyline class="line" points="{path}"/>',
    ]
    for index in range(5):
        x = LEFT + index / 4 * (WIDTH - LEFT - RIGHT)
        anchor = "start" if index == 0 else "end" if index == 4 else "middle"
        parts.append(_text(x, floor + 17, form_x(scale_x * index / 4), anchor))
    return _svg(height, parts)


def heat_map(rows: Sequence[str], labels: Sequence[str], cells: Sequence[Cell], axis: str) -> str:
    """Return a heat map with a line per row. Missing cells are empty; `labels` are below the columns."""
    side = (WIDTH - LEFT - RIGHT) / max(1, len(labels))
    floor = len(rows) * ROW
    parts = [_text(LEFT - 8, index * ROW + 15, row, "end") for index, row in enumerate(rows)]
    parts.append(f'<rect class="field" x="{LEFT}" y="0" width="{WIDTH - LEFT - RIGHT}" height="{floor}"/>')
    for row, column, share, title in cells:
        x = LEFT + column * side
        style = f' fill-opacity="{0.08 + 0.92 * share:.2f}"'
        parts.append(_rect("first", x + 0.5, row * ROW + 1, side - 1, ROW - 2, title, style))
    every = -(-len(labels) // 12) if labels else 1
    parts += [
        _text(LEFT + (index + 0.5) * side, floor + 15, labels[index], "middle")
        for index in range(0, len(labels), every)
    ]
    parts.append(_text(WIDTH - RIGHT, floor + 31, axis, "end"))
    return _svg(floor + BOTTOM, parts)


def _grid(scale: Sequence[float], form: Format, floor: float) -> str:
    parts = []
    for value in scale:
        y = floor - value / scale[-1] * (floor - TOP)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(_text(LEFT - 8, y + 4, form(value), "end"))
    return "".join(parts)


def _rect(kind: str, x: float, y: float, width: float, height: float, title: str, more: str = "") -> str:
    shape = f'x="{x:.1f}" y="{y:.1f}" width="{max(0.0, width):.1f}" height="{max(0.0, height):.1f}"'
    return f'<rect class="{kind}" {shape}{more}><title>{escape(title)}</title></rect>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _svg(height: float, parts: Sequence[str]) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img">{"".join(parts)}</svg>'
