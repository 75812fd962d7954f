"""What `/metrics` shows: the table's numbers, read when they are asked for, and the process's own."""

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from controller.views.reassignments import counts
from server.metrics.sources import Reading, Sources
from server.metrics.table import METRICS, Metric, Samples, Summary, exposed_name

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics(Collector):
    """Reads the table's numbers from `sources` at each scrape, and tells about the process as well."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)
        ProcessCollector(registry=self._registry)

    def collect(self) -> Iterator[Family]:
        """One family a row."""
        state, stats = self._sources.state, self._sources.stats
        reading = Reading(self._sources, state, stats, counts(state), self._sources.traffic())
        for metric in METRICS:
            yield _family(metric, metric.read(reading))

    def page(self) -> bytes:
        """The text of `/metrics`."""
        return generate_latest(self._registry)


def _family(metric: Metric, samples: Samples) -> Family:
    family = Family(metric.name, metric.doc, metric.kind)
    for values, number in samples:
        labels = dict(zip(metric.labels, values, strict=True))
        if isinstance(number, Summary):
            family.add_sample(f"{metric.name}_count", labels, number.times)
            family.add_sample(f"{metric.name}_sum", labels, number.total)
        else:
            family.add_sample(exposed_name(metric), labels, number)
    return family
