"""Metrics of the cluster that reassignd works on: brokers, and the health of partitions."""

from itertools import islice

from server.metrics.metric import Metric, Samples, gauge, one_label
from server.metrics.sources import Scrape


def _brokers(scrape: Scrape) -> Samples:
    online = len(scrape.state.live)
    return one_label({"online": online, "offline": len(scrape.state.brokers) - online})


def _moving_partitions(scrape: Scrape) -> Samples:
    """Whether each moving partition is under-replicated, for the first ones up to the configured number."""
    state = scrape.state
    keys = islice(state.in_flight, scrape.sources.moving_partitions)
    return [((key.topic, str(key.partition)), int(key in state.under_replicated)) for key in keys]


CLUSTER_METRICS = (
    Metric(
        "reassignd_brokers",
        "gauge",
        ("state",),
        _brokers,
        "Brokers that are registered, by state: `online` or `offline`.",
    ),
    gauge("reassignd_partitions", lambda r: r.counts.partitions, "Partitions of all topics."),
    gauge("reassignd_offline_partitions", lambda r: r.counts.offline, "Partitions without a leader."),
    gauge(
        "reassignd_under_replicated_partitions",
        lambda r: r.counts.under_replicated,
        "Partitions with a replica that is not in the ISR, adding replicas not counted (KIP-352).",
    ),
    gauge(
        "reassignd_under_min_isr_partitions",
        lambda r: r.counts.under_min_isr,
        "Partitions with fewer in-sync replicas than min.insync.replicas.",
    ),
    Metric(
        "reassignd_moving_partition_under_replicated",
        "gauge",
        ("topic", "partition"),
        _moving_partitions,
        "1 if a moving partition is under-replicated, adding replicas not counted (KIP-352). Only with "
        "`metrics.moving.partitions`.",
    ),
)
