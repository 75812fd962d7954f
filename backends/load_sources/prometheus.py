"""The door to a Prometheus: bytes out by broker and topic, and the CPU of brokers.

What it tells is checked where the protocol tells the same: a broker whose bytes in are not those that were
measured has no figures.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite, isnan, nan
from statistics import fmean
from typing import NamedTuple

from backends.load_sources.http_api import Ask, Series, Server, Vector, ask, read_vector
from backends.load_sources.instances import Instances
from backends.load_sources.queries import CPU_QUERIES, STYLES, Query, names_query, present
from backends.load_sources.source import (
    CPU,
    NAMED,
    NOTHING,
    OUT,
    Doubts,
    Expected,
    Figures,
    Report,
    Totals,
    fraction,
    match,
)
from common.lists import grouped
from common.off_loop import OffLoop
from common.tasks import side_by_side
from common.wording import some

SECONDS = 60.0
"""For the answers to all queries."""
AT_ONCE = 4
"""Queries that are asked at once."""
CLOCK_SLACK = 120.0
"""Seconds by which Prometheus's clock may differ: an older answer is one of a cache."""
ALIKE = 1.25
"""Factor by which two series of one figure may differ: two Prometheus servers may scrape one broker."""
BYTES_SLACK, CPU_SLACK = 1.0, 0.1
"""By how much small figures may differ besides."""


class Configured(NamedTuple):
    """Where the Prometheus is. `brokers` are those of labels that do not name their hosts."""

    server: Server
    brokers: Mapping[str, int]


class Prometheus:
    """Implements `Source`. `configured` returns None where no Prometheus is set."""

    def __init__(
        self, configured: Callable[[], Configured | None], off_loop: OffLoop, ask_url: Ask = ask
    ) -> None:
        self._configured, self._off_loop, self._ask_url = configured, off_loop, ask_url

    @property
    def setting(self) -> Configured | None:
        """See `Source.setting`."""
        return self._configured()

    async def measure(self, expected: Expected, wall_ms: Callable[[], int], report: Report) -> Figures | None:
        """See `Source.measure`."""
        configured = self._configured()
        if configured is None:
            return None
        try:
            async with asyncio.timeout(SECONDS):
                return await self._measure(configured, expected, wall_ms, report)
        except TimeoutError:
            error = f"it has not answered all queries within {SECONDS:g} s"
        except OSError as reason:
            error = str(reason)
        report(f"{OUT} and {CPU} are unknown: Prometheus {configured.server.url}: {error}", None)
        return NOTHING

    async def _measure(
        self, configured: Configured, expected: Expected, wall_ms: Callable[[], int], report: Report
    ) -> Figures:
        gate = asyncio.Semaphore(AT_ONCE)

        async def found(query: str) -> Vector:
            async with gate:
                body = await self._ask_url(configured.server, query)
            vector = await self._off_loop.run(read_vector, body)
            apart = abs(vector.at - wall_ms() / 1000)
            if vector.at and apart > CLOCK_SLACK:
                raise OSError(f"its clock differs by {apart:.0f} s")
            return vector

        every = [*CPU_QUERIES, *(query for style in STYLES for query in style)]
        names = {each.labels.get("__name__", "") for each in (await found(names_query(every))).series}
        texts = [query.text for query in present(every, names)]
        vectors = dict(zip(texts, await side_by_side(map(found, texts)), strict=True))
        reading = _Reading(Instances(expected.hosts, configured.brokers), vectors, report)
        return await self._off_loop.run(reading.read, expected)


class _Reading:
    """Reads the vectors of one measurement."""

    def __init__(self, instances: Instances, vectors: Mapping[str, Vector], report: Report) -> None:
        self._instances, self._vectors = instances, vectors
        self._report, self._doubts = report, Doubts("Prometheus", report)
        self._matched: list[str] = []
        self._strangers: dict[str, set[str]] = {OUT: set(), CPU: set()}
        """By figure, instances that are none of the brokers."""

    def read(self, expected: Expected) -> Figures:
        figures = Figures(self._bytes_out(expected), self._cpu(), self._matched)
        missing = {figure: self._missing(strangers) for figure, strangers in self._strangers.items()}
        self._doubts.report_unknown(figures, expected, missing)
        return figures

    @staticmethod
    def _missing(strangers: set[str]) -> str:
        others = f", but of {some(sorted(strangers), NAMED)}, which is no broker's host" if strangers else ""
        return f"has no series of it{others}"

    def _bytes_out(self, expected: Expected) -> Totals:
        """Return bytes out. Of a broker that one style makes doubtful no other style is believed."""
        found: Totals = {}
        for style in STYLES:
            bytes_in, bytes_out = self._by_topic(style.bytes_in), self._by_topic(style.bytes_out)
            taken = {
                broker: topics
                for broker, topics in bytes_out.items()
                if broker not in found and self._doubts.believes(broker, bytes_in.get(broker), expected)
            }
            self._match(OUT, style.bytes_out, taken)
            found |= taken
        for broker, topics in found.items():
            if unclear := sorted(topic for topic, rate in topics.items() if isnan(rate)):
                named = some(unclear, NAMED)
                self._report(f"{OUT} of {named} are unknown: Prometheus has no number of them", broker)
        return found

    def _by_topic(self, query: Query) -> Totals:
        """Return a figure by broker and topic, without doubtful brokers."""
        series = self._series(OUT, query)
        figures = grouped(((broker, each.labels.get("topic", "")), each.value) for broker, each in series)
        totals: Totals = {}
        for (broker, topic), values in figures.items():
            # A series that is not a number does not say that nothing was read: the topic is unknown.
            known = all(map(isfinite, values))
            if known and not _alike(values, BYTES_SLACK):
                self._doubts.add(OUT, broker, f"has different figures of the topic {topic}")
            totals.setdefault(broker, {})[topic] = fmean(values) if known else nan
        return {broker: topics for broker, topics in totals.items() if not self._doubts.concern(OUT, broker)}

    def _cpu(self) -> dict[int, float]:
        """Return the CPU by broker, by the first query that tells a fraction."""
        found: dict[int, float] = {}
        for query in CPU_QUERIES:
            values_of = grouped((broker, each.value) for broker, each in self._series(CPU, query))
            taken = {
                broker: fraction(fmean(values))
                for broker, values in values_of.items()
                if broker not in found and self._is_cpu(broker, values)
            }
            self._match(CPU, query, taken)
            found |= taken
        return found

    def _is_cpu(self, broker: int, values: Sequence[float]) -> bool:
        if not self._doubts.is_fraction(broker, values):
            return False
        if not (are_alike := _alike(values, CPU_SLACK)):
            self._doubts.add(CPU, broker, "has different figures of it")
        return are_alike

    def _series(self, figure: str, query: Query) -> Iterable[tuple[int, Series]]:
        vector = self._vectors.get(query.text)
        for each in () if vector is None else vector.series:
            broker = self._instances.broker(each.labels)
            if broker is None:
                self._strangers[figure].add(each.labels.get("instance", "no instance"))
            else:
                yield broker, each

    def _match(self, figure: str, query: Query, brokers: Iterable[int]) -> None:
        self._matched += match(figure, list(brokers), f"Prometheus, {query.metric}")


def _alike(values: Sequence[float], slack: float) -> bool:
    """Return whether these are figures of one thing, none of them below 0."""
    least, most = min(values), max(values)
    return least >= -0.01 and (most <= ALIKE * least or most - least < slack)
