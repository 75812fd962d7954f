"""One row of the table of metrics, and the forms that rows have in common."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from common.error_codes import ErrorCode
from server.metrics.sources import Scrape


class Summary(NamedTuple):
    """The number of observations and their total."""

    observations: int
    total: float


Samples = Iterable[tuple[tuple[str, ...], float | Summary]]
"""Label values in the order of the metric's labels, and the value."""


class Metric(NamedTuple):
    """One row of the table.

    `kind` is the Prometheus type; values of summaries are `Summary`, others are numbers.
    """

    name: str
    kind: str
    labels: tuple[str, ...]
    read: Callable[[Scrape], Samples]
    doc: str


def gauge(name: str, read: Callable[[Scrape], float], doc: str) -> Metric:
    """Return a gauge without labels."""
    return Metric(name, "gauge", (), lambda scrape: [((), read(scrape))], doc)


def optional_gauge(name: str, read: Callable[[Scrape], float | None], doc: str) -> Metric:
    """Return a gauge without labels that has no sample while its value is None."""

    def samples(scrape: Scrape) -> Samples:
        value = read(scrape)
        return [] if value is None else [((), value)]

    return Metric(name, "gauge", (), samples, doc)


def counter(name: str, read: Callable[[Scrape], float], doc: str) -> Metric:
    """Return a counter without labels."""
    return Metric(name, "counter", (), lambda scrape: [((), read(scrape))], doc)


def one_label(values: Mapping[str, float] | Mapping[int, float]) -> Samples:
    """Return a sample for each value; its key is the only label."""
    return [((str(label),), value) for label, value in values.items()]


def exposed_name(metric: Metric) -> str:
    """Return the metric's name in a scrape."""
    return metric.name + {"counter": "_total", "info": "_info"}.get(metric.kind, "")


def error_name(code: int) -> str:
    """Return Kafka's name of the error; the number if it is unknown."""
    try:
        return ErrorCode(code).name
    except ValueError:
        return str(code)
