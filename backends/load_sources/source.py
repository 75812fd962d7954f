"""Sources of load other than the protocol: the figures that they report, and why some are not used."""

from collections.abc import Callable, Mapping, Sequence
from math import isnan
from typing import NamedTuple, Protocol

from common.rates import in_rate
from common.wording import some

TRUE = 2.0
"""Factor by which bytes in may differ from the measured ones, as rates change in the time of a question."""
LEAST_CHECKED = 10_000.0
"""Bytes per second below which bytes in are not compared."""
CPU_SLACK = 0.01
"""How far a fraction may be from 0 to 1: figures are rounded."""
NAMED = 3
OUT, CPU = "bytes out", "CPU"

Report = Callable[[str, int | None], None]
"""Takes what is missing, and of which broker; None for all."""

Totals = dict[int, dict[str, float]]
"""Bytes per second by broker and topic. NaN is one that is not known: a topic without a figure has none."""


class Figures(NamedTuple):
    """What a source reports. What is not there is not known."""

    bytes_out: Totals
    cpu: Mapping[int, float]
    matched: Sequence[str]
    """Where which figure of which brokers is from, one line each."""


class Expected(NamedTuple):
    """What is known without it."""

    hosts: Mapping[int, str]
    """Of the live brokers."""
    bytes_in: Mapping[int, float]
    """Of the brokers of which all is known."""
    topics: Sequence[str]


NOTHING = Figures({}, {}, ())


class Source(Protocol):
    """Another source. It is asked while it is set."""

    @property
    def setting(self) -> object:
        """What is set; None if nothing is."""
        ...

    async def measure(self, expected: Expected, wall_ms: Callable[[], int], report: Report) -> Figures | None:
        """Return its figures; None if it is not set. What is missing is reported."""
        ...


class Doubts:
    """Why figures of brokers are not believed: the first reason counts. `source` is its name."""

    def __init__(self, source: str, report: Report) -> None:
        self._source, self._report = source, report
        self._reasons: dict[tuple[str, int], str] = {}

    def add(self, figure: str, broker: int, reason: str) -> None:
        """Note a reason, as what the source does."""
        self._reasons.setdefault((figure, broker), f"{self._source} {reason}")

    def concern(self, figure: str, broker: int) -> bool:
        """Return whether there is one."""
        return (figure, broker) in self._reasons

    def believes(self, broker: int, reported: Mapping[str, float] | None, expected: Expected) -> bool:
        """Compare the bytes in of a broker's topics with the measured ones, where both are known."""
        measured = expected.bytes_in.get(broker)
        if reported is None or measured is None:
            return True
        total = sum(reported.values())
        if isnan(total) or max(total, measured) < LEAST_CHECKED:
            return True
        if 1 / TRUE <= total / max(measured, 1e-9) <= TRUE:
            return True
        self.add(OUT, broker, f"has {in_rate(total)} in, where logs have grown by {in_rate(measured)}")
        return False

    def is_fraction(self, broker: int, values: Sequence[float]) -> bool:
        """Return whether these figures of a CPU are fractions."""
        if wrong := [each for each in values if not -CPU_SLACK <= each <= 1 + CPU_SLACK]:
            self.add(CPU, broker, f"says {wrong[0]:g} of 1")
        return not wrong

    def report_unknown(self, figures: Figures, expected: Expected, missing: Mapping[str, str]) -> None:
        """Report the live brokers without figures. `missing` says it of those without a doubt."""
        for figure, known in ((OUT, figures.bytes_out.keys()), (CPU, figures.cpu.keys())):
            for broker in sorted(expected.hosts.keys() - known):
                reason = self._reasons.get((figure, broker), f"{self._source} {missing[figure]}")
                self._report(f"{figure} unknown: {reason}", broker)


def fraction(value: float) -> float:
    """Return a fraction that may be rounded."""
    return min(1.0, max(0.0, value))


def match(figure: str, brokers: Sequence[int], source: str) -> Sequence[str]:
    """Return the line that says where a figure is from; none without brokers."""
    named = some([str(each) for each in sorted(brokers)], NAMED)
    return [f"{figure} of broker {named}: {source}"] if brokers else []
