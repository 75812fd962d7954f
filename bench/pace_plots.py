"""Small SVG plots for `bench.pace`: lines over time, and points."""

from collections.abc import Mapping, Sequence
from html import escape
from math import log10
from typing import NamedTuple

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 860, 300, 60, 40, 30, 170
COLOURS = ("#1f5fa8", "#c4501b", "#3a8a3a", "#7b4aa0", "#8a6d1f", "#555555", "#b0306a", "#2a9a9a")

Points = Sequence[tuple[float, float]]


class Axis(NamedTuple):
    """A linear or logarithmic axis from `low` to `high`, drawn from pixel `first` to `last`."""

    low: float
    high: float
    first: float
    last: float
    logarithmic: bool = False

    def at(self, value: float) -> float:
        """Return the pixel of the value; values outside are at the ends."""
        value = min(max(value, self.low), self.high)
        if self.logarithmic:
            share = log10(value / self.low) / (log10(self.high / self.low) or 1)
        else:
            share = (value - self.low) / ((self.high - self.low) or 1)
        return self.first + share * (self.last - self.first)

    def marks(self) -> list[float]:
        """Return round values to label."""
        if self.logarithmic:
            decades = (d * 10.0**power for power in range(-3, 6) for d in (1, 2, 5))
            return [mark for mark in decades if self.low <= mark <= self.high]
        step = 10.0 ** int(log10((self.high - self.low) or 1))
        step = step / 5 if (self.high - self.low) / step < 2 else step
        return [mark * step for mark in range(int(self.low / step), int(self.high / step) + 1)]


def plot(
    title: str,
    across: str,
    upwards: str,
    series: Mapping[str, Points],
    *,
    lines: bool = True,
    level: tuple[str, float] | None = None,
) -> str:
    """Return an SVG document. The vertical axis is logarithmic; `level` is a horizontal line with a name."""
    points = [point for each in series.values() for point in each] or [(0.0, 1.0)]
    x = Axis(0, max(p[0] for p in points) or 1, LEFT, WIDTH - RIGHT)
    low = max(0.1, min(p[1] for p in points))
    high = max(*(p[1] for p in points), level[1] if level else 1, low * 2)
    y = Axis(low, high, HEIGHT - BOTTOM, TOP, logarithmic=True)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">',
        '<g font-size="12"><rect width="100%" height="100%" fill="white"/>',
        _text(LEFT, 18, title, weight="bold"),
        *_frame(x, y, across, upwards),
    ]
    if level:
        at = y.at(level[1])
        parts.append(
            f'<line x1="{x.first}" x2="{x.last}" y1="{at:.1f}" y2="{at:.1f}" stroke="#c00"'
            ' stroke-dasharray="5 4"/>'
        )
        parts.append(_text(x.last + 8, at + 4, level[0], colour="#c00"))
    for number, (name, each) in enumerate(series.items()):
        colour = COLOURS[number % len(COLOURS)]
        parts += _series(x, y, each, colour, lines)
        parts.append(_text(WIDTH - RIGHT + 8, TOP + 16 * (number + 1) + 10, name, colour=colour))
    return "\n".join([*parts, "</g></svg>\n"])


def _series(x: Axis, y: Axis, points: Points, colour: str, lines: bool) -> list[str]:
    at = [(x.at(each), y.at(value)) for each, value in points]
    if lines:
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in at)
        return [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>']
    return [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3.5" fill="{colour}" fill-opacity="0.7"/>' for a, b in at]


def _frame(x: Axis, y: Axis, across: str, upwards: str) -> list[str]:
    box = f'<path d="M{x.first} {y.last} V{y.first} H{x.last}" fill="none" stroke="#333"/>'
    below = [_text(x.at(mark), y.first + 16, f"{mark:g}", anchor="middle") for mark in x.marks()]
    beside = [_text(x.first - 6, y.at(mark) + 4, f"{mark:g}", anchor="end") for mark in y.marks()]
    return [box, *below, *beside, _text(x.last, y.first + 32, across, anchor="end"), _text(4, 18, upwards)]


def _text(
    x: float, y: float, text: str, *, anchor: str = "start", colour: str = "#222", weight: str = "normal"
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" font-weight="{weight}">'
        f"{escape(text)}</text>"
    )
