"""The text of `/metrics`: the table of all metrics, read at each scrape, and the metrics of the process.

docs/metrics.md is generated from the table.
"""

from collections.abc import Iterator, Sequence

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from controller.views.reassignments import counts
from server.metrics.kafka_names import KAFKA_METRICS
from server.metrics.load import LOAD_METRICS
from server.metrics.metric import Metric, Samples, Summary, exposed_name
from server.metrics.modes import INSTANCE_METRICS, UPSTREAM_METRICS, ZOOKEEPER_METRICS
from server.metrics.moves import CLUSTER_METRICS, MOVE_METRICS, PACE_METRICS
from server.metrics.serving import ACTIVE, BUILD, SERVING_METRICS, build
from server.metrics.sources import Scrape, Sources

METRICS = (
    *MOVE_METRICS,
    *PACE_METRICS,
    *CLUSTER_METRICS,
    *LOAD_METRICS,
    *UPSTREAM_METRICS,
    *SERVING_METRICS,
    *INSTANCE_METRICS,
    *ZOOKEEPER_METRICS,
    *KAFKA_METRICS,
)


CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class _Page(Collector):
    """A Prometheus collector whose page has the metrics of the process, too."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)
        ProcessCollector(registry=self._registry)

    def page(self) -> bytes:
        """Return the text of `/metrics`."""
        return generate_latest(self._registry)


class Metrics(_Page):
    """Reads the metrics of the table from `sources` at each scrape."""

    def __init__(self, sources: Sources, metrics: Sequence[Metric] = METRICS) -> None:
        super().__init__()
        self._sources, self._metrics = sources, metrics

    def collect(self) -> Iterator[Family]:
        """Yield one metric family for each row of the table that is not hidden."""
        state, stats = self._sources.state, self._sources.stats
        scrape = Scrape(self._sources, state, stats, counts(state), self._sources.traffic())
        for metric in self._metrics:
            if not metric.name.startswith(self._sources.hidden):
                yield _family(metric, metric.read(scrape))


class MetricsWithoutCluster(_Page):
    """The metrics of a process that serves no cluster, such as one that waits for Kafka at its start.

    Alerts about `reassignd_active` need its 0, since a missing series matches no rule.
    """

    def __init__(self, version: str) -> None:
        super().__init__()
        self._version = version

    def collect(self) -> Iterator[Family]:
        """Yield `reassignd_active`, which is 0, and `reassignd_build_info`."""
        yield _family(ACTIVE, [((), 0)])
        yield _family(BUILD, build(self._version))


def _family(metric: Metric, samples: Samples) -> Family:
    family = Family(metric.name, metric.doc, metric.kind)
    for values, value in samples:
        labels = dict(zip(metric.labels, values, strict=True))
        if isinstance(value, Summary):
            family.add_sample(f"{metric.name}_count", labels, value.observations)
            family.add_sample(f"{metric.name}_sum", labels, value.total)
        else:
            family.add_sample(exposed_name(metric), labels, value)
    return family
