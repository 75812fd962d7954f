"""The door: bytes out by broker and topic, and the CPU of brokers, from a Prometheus.

What it tells is checked where the protocol tells the same: a broker whose bytes in are not those that were
measured has no figures.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from backends.prometheus.http_api import Ask, Series, Vector, ask, read_vector
from backends.prometheus.instances import Instances
from backends.prometheus.queries import CPU, STYLES, Query, names_query, present
from common.lists import grouped
from common.off_loop import OffLoop
from common.rates import in_rate
from common.wording import some

CLOCK_SLACK = 120.0
"""Seconds by which Prometheus's clock may differ: an older answer is one of a cache."""
ALIKE = 1.25
"""Factor by which two series of one figure may differ: two Prometheus servers may scrape one broker."""
TRUE = 2.0
"""Factor by which bytes in may differ from the measured ones, as rates change in the time of a query."""
LEAST_CHECKED = 10_000.0
"""Bytes per second below which bytes in are not compared."""
CPU_SLACK = 0.1
NAMED = 3
OUT, CPU_NAME = "bytes out", "CPU"

Report = Callable[[str, int | None], None]
"""Is told what is missing, of a broker or of all."""

Totals = dict[int, dict[str, float]]
"""Bytes per second by broker and topic."""


class Configured(NamedTuple):
    """Where the Prometheus is. `brokers` are those of labels that do not name their hosts."""

    url: str
    brokers: Mapping[str, int]


class Told(NamedTuple):
    """What a Prometheus has told. What is not there is not known."""

    bytes_out: Totals
    cpu: Mapping[int, float]
    matched: Sequence[str]
    """Which metric has told which figure of which brokers, one line each."""


class Expected(NamedTuple):
    """What is known without it: the hosts of the live brokers, and the bytes in where they are known."""

    hosts: Mapping[int, str]
    bytes_in: Mapping[int, float]


NOTHING = Told({}, {}, ())


class Prometheus:
    """Asks a Prometheus. `configured` returns None where none is set."""

    def __init__(
        self, configured: Callable[[], Configured | None], off_loop: OffLoop, ask_url: Ask = ask
    ) -> None:
        self._configured, self._off_loop, self._ask_url = configured, off_loop, ask_url
        self._asked: Configured | None = None

    @property
    def is_new(self) -> bool:
        """Whether another one is set than was asked last."""
        return self._configured() != self._asked

    async def measure(self, expected: Expected, wall_ms: Callable[[], int], report: Report) -> Told | None:
        """Return what it tells; None if none is set. What is missing is reported."""
        self._asked = configured = self._configured()
        if configured is None:
            return None
        try:
            return await self._measure(configured, expected, wall_ms, report)
        except OSError as error:
            report(f"{OUT} and CPU are unknown: Prometheus {configured.url}: {error}", None)
            return NOTHING

    async def _measure(
        self, configured: Configured, expected: Expected, wall_ms: Callable[[], int], report: Report
    ) -> Told:
        async def found(query: str) -> Vector:
            body = await self._ask_url(configured.url, query)
            vector = await self._off_loop.run(read_vector, body)
            apart = abs(vector.at - wall_ms() / 1000)
            if vector.at and apart > CLOCK_SLACK:
                raise OSError(f"its clock differs by {apart:.0f} s")
            return vector

        every = [*CPU, *(query for style in STYLES for query in style)]
        names = {each.labels.get("__name__", "") for each in (await found(names_query(every))).series}
        vectors = {query.text: await found(query.text) for query in present(every, names)}
        told = _Reading(Instances(expected.hosts, configured.brokers), vectors, report)
        return await self._off_loop.run(told.read, expected)


class _Reading:
    """Reads the vectors of one measurement."""

    def __init__(self, instances: Instances, vectors: Mapping[str, Vector], report: Report) -> None:
        self._instances, self._vectors, self._report = instances, vectors, report
        self._matched: list[str] = []
        self._strangers: dict[str, set[str]] = {OUT: set(), CPU_NAME: set()}
        """By figure, instances that are none of the brokers."""
        self._doubts: dict[tuple[str, int], str] = {}
        """Why figures of brokers are not believed; the first reason counts."""

    def read(self, expected: Expected) -> Told:
        bytes_out, cpu = self._bytes_out(expected), self._cpu()
        for figure, known in ((OUT, bytes_out.keys()), (CPU_NAME, cpu.keys())):
            self._report_unknown(figure, sorted(expected.hosts.keys() - known))
        return Told(bytes_out, cpu, self._matched)

    def _doubt(self, figure: str, broker: int, reason: str) -> None:
        self._doubts.setdefault((figure, broker), f"Prometheus {reason}")

    def _report_unknown(self, figure: str, brokers: Sequence[int]) -> None:
        missing = "Prometheus has no series of it"
        if strangers := sorted(self._strangers[figure]):
            missing += f", but of {some(strangers, NAMED)}, which is no broker's host"
        for broker in brokers:
            self._report(f"{figure} unknown: {self._doubts.get((figure, broker), missing)}", broker)

    def _bytes_out(self, expected: Expected) -> Totals:
        """Return bytes out. Of a broker that one style makes doubtful no other style is believed."""
        found: Totals = {}
        for style in STYLES:
            bytes_in, bytes_out = self._by_topic(style.bytes_in), self._by_topic(style.bytes_out)
            taken = {
                broker: topics
                for broker, topics in bytes_out.items()
                if broker not in found and self._is_true(broker, bytes_in.get(broker), expected)
            }
            self._match(OUT, style.bytes_out, taken)
            found |= taken
        return found

    def _is_true(self, broker: int, told: Mapping[str, float] | None, expected: Expected) -> bool:
        measured = expected.bytes_in.get(broker)
        if told is None or measured is None:
            return True
        total = sum(told.values())
        if max(total, measured) < LEAST_CHECKED or 1 / TRUE <= total / max(measured, 1e-9) <= TRUE:
            return True
        self._doubt(OUT, broker, f"has {in_rate(total)} in, where logs have grown by {in_rate(measured)}")
        return False

    def _by_topic(self, query: Query) -> Totals:
        """Return a figure by broker and topic, without doubtful brokers."""
        series = self._series(OUT, query)
        figures = grouped(((broker, each.labels.get("topic", "")), each.value) for broker, each in series)
        totals: Totals = {}
        for (broker, topic), values in figures.items():
            if not _alike(values, 1):
                self._doubt(OUT, broker, f"has different figures of the topic {topic}")
            totals.setdefault(broker, {})[topic] = fmean(values)
        return {broker: topics for broker, topics in totals.items() if (OUT, broker) not in self._doubts}

    def _cpu(self) -> dict[int, float]:
        """Return the CPU by broker, by the first query that tells a fraction."""
        found: dict[int, float] = {}
        for query in CPU:
            told = grouped((broker, each.value) for broker, each in self._series(CPU_NAME, query))
            taken = {
                broker: min(1.0, max(0.0, fmean(values)))
                for broker, values in told.items()
                if broker not in found and self._is_fraction(broker, values)
            }
            self._match(CPU_NAME, query, taken)
            found |= taken
        return found

    def _is_fraction(self, broker: int, values: Sequence[float]) -> bool:
        if wrong := [each for each in values if not -0.01 <= each <= 1.01]:
            self._doubt(CPU_NAME, broker, f"says {wrong[0]:g} of 1")
        elif not _alike(values, CPU_SLACK):
            self._doubt(CPU_NAME, broker, "has different figures of it")
        else:
            return True
        return False

    def _series(self, figure: str, query: Query) -> Iterable[tuple[int, Series]]:
        vector = self._vectors.get(query.text)
        for each in () if vector is None else vector.series:
            broker = self._instances.broker(each.labels)
            if broker is None:
                self._strangers[figure].add(each.labels.get("instance", "no instance"))
            else:
                yield broker, each

    def _match(self, figure: str, query: Query, brokers: Iterable[int]) -> None:
        if listed := [str(each) for each in sorted(brokers)]:
            named = some(listed, NAMED)
            self._matched.append(f"{figure} of broker {named}: Prometheus, {query.metric}")


def _alike(values: Sequence[float], slack: float) -> bool:
    """Return whether these are figures of one thing, none of them below 0."""
    least, most = min(values), max(values)
    return least >= -0.01 and (most <= ALIKE * least or most - least < slack)
