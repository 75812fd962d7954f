"""Metrics of the measured load. There are none while `reassignment.load.sampling` is off."""

from server.metrics.metric import Metric, Samples
from server.metrics.sources import Scrape


def _bytes(scrape: Scrape) -> Samples:
    load = scrape.sources.load
    for row in () if load is None else load.by_broker():
        rates = {"in": row.rates.bytes_in, "out": row.rates.bytes_out, "replication": row.replication_in}
        for kind, rate in rates.items():
            if rate is not None:
                yield (str(row.broker), kind), rate


def _coverage(scrape: Scrape) -> Samples:
    load = scrape.sources.load
    for row in () if load is None else load.by_broker():
        yield (str(row.broker),), row.coverage


def _cpu(scrape: Scrape) -> Samples:
    load = scrape.sources.load
    for row in () if load is None else load.by_broker():
        if row.cpu is not None:
            yield (str(row.broker),), row.cpu


LOAD_METRICS = (
    Metric(
        "reassignd_broker_load_bytes_per_second",
        "gauge",
        ("broker", "kind"),
        _bytes,
        "Bytes per second of the last minutes, by kind: what producers write to the partitions that a broker"
        " leads (`in`), what consumers read of them (`out`), and what its followers fetch (`replication`)."
        " Without samples while `reassignment.load.sampling` is off, and for what is not known.",
    ),
    Metric(
        "reassignd_broker_load_coverage",
        "gauge",
        ("broker",),
        _coverage,
        "Fraction of the partitions that a broker leads of which the bytes in are known.",
    ),
    Metric(
        "reassignd_broker_load_cpu_ratio",
        "gauge",
        ("broker",),
        _cpu,
        "Fraction of a broker's CPU that is in use, as another Prometheus tells"
        " (`reassignment.load.prometheus.url`), or Cruise Control's metrics topic"
        " (`reassignment.load.metrics.topic`). Without samples where it is not known.",
    ),
)
