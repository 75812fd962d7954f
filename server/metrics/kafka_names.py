"""Metrics that Kafka has too, under the names that the JMX exporter gives to Kafka's MBeans.

`kafka.server:type=ReplicaManager,name=UnderReplicatedPartitions` becomes
`kafka_server_replicamanager_underreplicatedpartitions`. By KIP-352, adding replicas do not count as
under-replicated, and ReassignedCount is a metric.

In front of brokers that export the same names, these metrics would double sums over all targets, so they are
hidden there (`hidden_prefixes`). All of them exist as `reassignd_…` too, except the traffic of simulated
brokers.
"""

from itertools import islice

from server.metrics.metric import Metric, Samples, Summary, api_name, gauge, one_label
from server.metrics.serving import errors, requests
from server.metrics.sources import Scrape

PREFIX = "kafka_"
REPLICA_MANAGER = "kafka_server_replicamanager_"
PARTITION = "kafka_cluster_partition_"

MOST_PARTITIONS = 1_000
"""Partitions that have samples of their own."""


def hidden_prefixes(choice: str, backend: str) -> tuple[str, ...]:
    """Return the prefixes of the names that are not exported.

    `choice` is `always`, `never` or `auto`. With `auto` a gateway has none of Kafka's names, because the
    brokers export them. In ZooKeeper mode reassignd is a controller and has those of a controller, but those
    of replicas belong to the brokers.
    """
    if choice == "never":
        return (PREFIX,)
    if choice == "always":
        return ()
    return {"upstream": (PREFIX,), "zookeeper": (REPLICA_MANAGER, PARTITION)}.get(backend, ())


def _times(scrape: Scrape) -> Samples:
    stats = scrape.stats
    return [
        ((api_name(key),), Summary(count, stats.request_seconds[key] * 1000))
        for key, count in stats.timed.items()
    ]


def _bytes_in(scrape: Scrape) -> Samples:
    return one_label({broker: each.bytes_in for broker, each in scrape.traffic.items()})


def _bytes_out(scrape: Scrape) -> Samples:
    return one_label({broker: each.bytes_out for broker, each in scrape.traffic.items()})


def _under_replicated(scrape: Scrape) -> Samples:
    """Return a sample for each partition; in a large cluster only for those that are under-replicated."""
    state = scrape.state
    found = state.cluster.under_replicated
    if scrape.counts.partitions > MOST_PARTITIONS:
        return [((key.topic, str(key.partition)), 1) for key in islice(sorted(found), MOST_PARTITIONS)]
    partitions = state.cluster.all_partitions()
    return [((each.topic, str(each.partition)), each.key in found) for each in partitions]


KAFKA_METRICS = (
    gauge(
        "kafka_controller_kafkacontroller_activecontrollercount",
        lambda r: r.sources.active(),
        "1 while this process is the controller and serves, else 0.",
    ),
    gauge(
        "kafka_controller_kafkacontroller_activebrokercount",
        lambda r: len(r.state.cluster.live),
        "Brokers that are registered and online.",
    ),
    gauge(
        "kafka_controller_kafkacontroller_fencedbrokercount",
        lambda r: len(r.state.cluster.brokers) - len(r.state.cluster.live),
        "Brokers that are registered and offline.",
    ),
    gauge(
        "kafka_controller_kafkacontroller_globaltopiccount",
        lambda r: len(r.state.cluster.topics),
        "Number of topics.",
    ),
    gauge(
        "kafka_controller_kafkacontroller_globalpartitioncount",
        lambda r: r.counts.partitions,
        "Number of partitions.",
    ),
    gauge(
        "kafka_controller_kafkacontroller_offlinepartitionscount",
        lambda r: r.counts.offline,
        "Partitions without a leader.",
    ),
    gauge(
        "kafka_controller_controllereventmanager_eventqueuesize",
        lambda r: r.sources.queue_length(),
        "Events in the queue of the controller.",
    ),
    gauge(
        "kafka_server_replicamanager_underreplicatedpartitions",
        lambda r: r.counts.under_replicated,
        "Partitions with a replica that is not in the ISR, adding replicas not counted (KIP-352).",
    ),
    Metric(
        "kafka_cluster_partition_underreplicated",
        "gauge",
        ("topic", "partition"),
        _under_replicated,
        "1 if a replica of the partition is not in the ISR, adding replicas not counted (KIP-352), else 0."
        f" In a cluster of more than {MOST_PARTITIONS:,} partitions only the first {MOST_PARTITIONS:,} that"
        " are 1.",
    ),
    gauge(
        "kafka_server_replicamanager_underminisrpartitioncount",
        lambda r: r.counts.under_min_isr,
        "Partitions with fewer in-sync replicas than min.insync.replicas.",
    ),
    gauge(
        "kafka_server_replicamanager_atminisrpartitioncount",
        lambda r: r.counts.at_min_isr,
        "Under-replicated partitions with exactly min.insync.replicas in-sync replicas.",
    ),
    gauge(
        "kafka_server_replicamanager_reassigningpartitions",
        lambda r: r.counts.reassigning,
        "Partitions with an ongoing reassignment: moving, queued or waiting.",
    ),
    gauge(
        "kafka_server_replicamanager_reassignedcount",
        lambda r: r.counts.reassigned_replicas,
        "Replicas that are being added (ReassignedCount of KIP-352).",
    ),
    Metric(
        "kafka_server_brokertopicmetrics_reassignmentbytesin",
        "counter",
        ("broker",),
        _bytes_in,
        "Bytes that the broker received for reassignments (ReassignmentBytesInPerSec).",
    ),
    Metric(
        "kafka_server_brokertopicmetrics_reassignmentbytesout",
        "counter",
        ("broker",),
        _bytes_out,
        "Bytes that the broker sent for reassignments (ReassignmentBytesOutPerSec).",
    ),
    Metric(
        "kafka_network_requestmetrics_requests",
        "counter",
        ("request",),
        requests,
        "Requests, by API.",
    ),
    Metric(
        "kafka_network_requestmetrics_errors",
        "counter",
        ("request", "error"),
        errors,
        "Responses with an error code at the top level, by API and error.",
    ),
    Metric(
        "kafka_network_requestmetrics_totaltimems",
        "summary",
        ("request",),
        _times,
        "Milliseconds from a request to its response, by API.",
    ),
    gauge(
        "kafka_server_socket_server_metrics_connection_count",
        lambda r: r.stats.connections,
        "Open client connections on all listeners.",
    ),
)
