"""Draw the two graphs of docs/pace.md from the control law: `python -m tools.pace_graph`.

`--check` writes nothing; its exit status is 1 when a graph is out of date. The example is one broker, a queue
that sixteen replicas in flight would fill, in virtual time and without noise.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from bench.pace_plots import plot
from controller.pace.effort import Effort, permitted

FOLDER = Path(__file__).parents[1] / "docs/images"
FACTOR = 1.5
"""The target, as a multiple of the idle latency: the default."""
IDLE = 1 / FACTOR
"""The idle latency as a multiple of the target."""
CAPACITY = 16.0
"""Replicas in flight that take all of the broker's free capacity."""
SECONDS = 240
BUSY = range(90, 150)
"""Seconds in which other work takes a third of the free capacity."""
OTHER_WORK = 1 / 3
MOST_USED = 0.9


def law() -> str:
    """Return the graph of the factor by which the target permits to change the effort."""
    ratios = [number / 100 for number in range(67, 251)]
    series = {"f": [(ratio, permitted(ratio, IDLE)) for ratio in ratios]}
    return plot("The factor f", "latency / target", "", series, level=("f = 1: hold", 1.0))


def example() -> str:
    """Return the graph of one broker's effort and latency over time."""
    effort, levels, ratios = Effort(), [], []
    for second in range(SECONDS):
        other = OTHER_WORK if second in BUSY else 0.0
        ratio = IDLE / (1 - min(MOST_USED, effort.level / CAPACITY + other))
        levels.append((float(second), effort.level))
        ratios.append((float(second), ratio))
        effort.follow(float(second), ratio, max(1, int(effort.level)), idle=IDLE)
    series = {"effort": levels, "latency / target": ratios}
    return plot("One broker; other work from 90 s to 150 s", "s", "", series, level=("the target", 1.0))


GRAPHS = {"pace-law.svg": law, "pace-example.svg": example}
"""Functions that draw a graph, by the name of its file."""


def main(arguments: Sequence[str], folder: Path = FOLDER) -> int:
    """Write the graphs, or check them; return the exit status."""
    status = 0
    for name, draw in GRAPHS.items():
        file, wanted = folder / name, draw()
        if "--check" not in arguments:
            file.write_text(wanted, "utf-8")
        elif not file.exists() or file.read_text("utf-8") != wanted:
            print(f"{name} is out of date: run python -m tools.pace_graph")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
