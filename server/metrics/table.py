"""The table of metrics: name, type, labels, how to read the value, and description.

A metric that Kafka has too is named after its MBean, by the usual rules of the JMX exporter:
`kafka.server:type=ReplicaManager,name=UnderReplicatedPartitions` becomes
`kafka_server_replicamanager_underreplicatedpartitions`. docs/metrics.md is generated from the table.

By KIP-352, adding replicas do not count as under-replicated, and ReassignedCount is a metric.
"""

import platform
from collections.abc import Callable, Iterable
from typing import NamedTuple

from common.error_codes import ErrorCode
from controller.model.names import TopicPartition
from controller.state.state import State
from controller.views.jobs import totals
from protocol.apis import ApiKey
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


def _blocked(state: State, key: TopicPartition) -> bool:
    reassignment = state.reassignments.get(key)
    return reassignment is not None and bool(reassignment.blocked)


def _gauge(name: str, read: Callable[[Scrape], float], doc: str) -> Metric:
    return Metric(name, "gauge", (), lambda scrape: [((), read(scrape))], doc)


def _counter(name: str, read: Callable[[Scrape], float], doc: str) -> Metric:
    return Metric(name, "counter", (), lambda scrape: [((), read(scrape))], doc)


def _requests(scrape: Scrape) -> Samples:
    return [((_api_name(key),), count) for key, count in scrape.stats.requests.items()]


def _relayed_bytes(scrape: Scrape) -> Samples:
    relayed = scrape.sources.relayed
    directions = (("in", relayed.bytes_in), ("out", relayed.bytes_out))
    return [
        ((_api_name(key), direction), size) for direction, sizes in directions for key, size in sizes.items()
    ]


def _errors(scrape: Scrape) -> Samples:
    return [((_api_name(key), _error_name(code)), n) for (key, code), n in scrape.stats.errors.items()]


def _times(scrape: Scrape) -> Samples:
    stats = scrape.stats
    return [
        ((_api_name(key),), Summary(count, stats.request_seconds[key] * 1000))
        for key, count in stats.timed.items()
    ]


def _decisions(scrape: Scrape) -> Samples:
    stats = scrape.stats
    return [((event,), Summary(n, stats.decision_seconds[event])) for event, n in stats.decisions.items()]


def _commits(scrape: Scrape) -> Samples:
    return [((), Summary(scrape.stats.commits, scrape.stats.commit_seconds))]


def _build(scrape: Scrape) -> Samples:
    return [((scrape.sources.version, platform.python_version()), 1)]


METRICS = (
    _gauge(
        "kafka_controller_kafkacontroller_activecontrollercount",
        lambda r: r.sources.active(),
        "1 while this process is the controller and serves, else 0.",
    ),
    _gauge(
        "kafka_controller_kafkacontroller_activebrokercount",
        lambda r: len(r.state.live),
        "Brokers that are registered and online.",
    ),
    _gauge(
        "kafka_controller_kafkacontroller_fencedbrokercount",
        lambda r: len(r.state.brokers) - len(r.state.live),
        "Brokers that are registered and offline.",
    ),
    _gauge(
        "kafka_controller_kafkacontroller_globaltopiccount",
        lambda r: len(r.state.topics),
        "Number of topics.",
    ),
    _gauge(
        "kafka_controller_kafkacontroller_globalpartitioncount",
        lambda r: r.counts.partitions,
        "Number of partitions.",
    ),
    _gauge(
        "kafka_controller_kafkacontroller_offlinepartitionscount",
        lambda r: r.counts.offline,
        "Partitions without a leader.",
    ),
    _gauge(
        "kafka_controller_controllereventmanager_eventqueuesize",
        lambda r: r.sources.queue_length(),
        "Events in the queue of the controller.",
    ),
    _gauge(
        "kafka_server_replicamanager_underreplicatedpartitions",
        lambda r: r.counts.under_replicated,
        "Partitions with a replica that is not in the ISR, adding replicas not counted (KIP-352).",
    ),
    _gauge(
        "kafka_server_replicamanager_underminisrpartitioncount",
        lambda r: r.counts.under_min_isr,
        "Partitions with fewer in-sync replicas than min.insync.replicas.",
    ),
    _gauge(
        "kafka_server_replicamanager_atminisrpartitioncount",
        lambda r: r.counts.at_min_isr,
        "Under-replicated partitions with exactly min.insync.replicas in-sync replicas.",
    ),
    _gauge(
        "kafka_server_replicamanager_reassigningpartitions",
        lambda r: r.counts.reassigning,
        "Partitions with an ongoing reassignment: moving, queued or waiting.",
    ),
    _gauge(
        "kafka_server_replicamanager_reassignedcount",
        lambda r: r.counts.reassigned_replicas,
        "Replicas that are being added (ReassignedCount of KIP-352).",
    ),
    Metric(
        "kafka_server_brokertopicmetrics_reassignmentbytesin",
        "counter",
        ("broker",),
        lambda r: [((str(broker),), each.bytes_in) for broker, each in r.traffic.items()],
        "Bytes that the broker received for reassignments (ReassignmentBytesInPerSec).",
    ),
    Metric(
        "kafka_server_brokertopicmetrics_reassignmentbytesout",
        "counter",
        ("broker",),
        lambda r: [((str(broker),), each.bytes_out) for broker, each in r.traffic.items()],
        "Bytes that the broker sent for reassignments (ReassignmentBytesOutPerSec).",
    ),
    Metric(
        "kafka_network_requestmetrics_requests",
        "counter",
        ("request",),
        _requests,
        "Requests, by API.",
    ),
    Metric(
        "kafka_network_requestmetrics_errors",
        "counter",
        ("request", "error"),
        _errors,
        "Responses with an error code at the top level, by API and error.",
    ),
    Metric(
        "kafka_network_requestmetrics_totaltimems",
        "summary",
        ("request",),
        _times,
        "Milliseconds from a request to its response, by API.",
    ),
    Metric(
        "reassignd_relayed_requests",
        "counter",
        ("request",),
        lambda r: [((_api_name(key),), n) for key, n in r.sources.relayed.requests.items()],
        "Requests of clients that were relayed to a broker (gateway and ZooKeeper mode), by API.",
    ),
    Metric(
        "reassignd_relayed_bytes",
        "counter",
        ("request", "direction"),
        _relayed_bytes,
        "Bytes of relayed requests (in) and responses (out), by API.",
    ),
    _gauge(
        "kafka_server_socket_server_metrics_connection_count",
        lambda r: r.stats.connections,
        "Open client connections on all listeners.",
    ),
    _gauge(
        "reassignd_moving_partitions", lambda r: totals(r.state).moving, "Partitions with a step in flight."
    ),
    _gauge(
        "reassignd_queued_partitions",
        lambda r: totals(r.state).queued,
        "Partitions that cannot start their next step because of a limit, an earlier job or a pause.",
    ),
    _gauge(
        "reassignd_waiting_partitions",
        lambda r: totals(r.state).waiting,
        "Partitions that cannot start their next step because of an offline broker, a missing leader or the schedule.",
    ),
    _gauge(
        "reassignd_outside_of_schedule",
        lambda r: int(not r.state.opening.is_open),
        "1 while the schedule lets no step start.",
    ),
    _gauge(
        "reassignd_blocked_partitions",
        lambda r: sum(1 for key in r.state.waiting if _blocked(r.state, key)),
        "Partitions that someone else moved or cancelled in the upstream; an operator must decide.",
    ),
    _gauge(
        "reassignd_foreign_reassignments",
        lambda r: len(r.state.external),
        "Partitions that the upstream reassigns and that reassignd did not submit.",
    ),
    _gauge(
        "reassignd_health_guard_holds",
        lambda r: int(r.state.backlog.usage.held is not None),
        "1 while the health guard starts no new steps, or one at a time.",
    ),
    Metric(
        "reassignd_decision_seconds",
        "summary",
        ("event",),
        _decisions,
        "Seconds that decisions of the controller took, by event.",
    ),
    Metric(
        "reassignd_store_commit_seconds",
        "summary",
        (),
        _commits,
        "Seconds from a decision until its records were durable.",
    ),
    _counter(
        "reassignd_store_changes",
        lambda r: r.stats.committed_changes,
        "Records that were written or deleted.",
    ),
    Metric(
        "reassignd_audit_entries",
        "counter",
        ("action",),
        lambda r: [((action,), n) for action, n in r.sources.audited.items()],
        "Entries of the audit log since the start, by action.",
    ),
    Metric(
        "reassignd_zookeeper_refused_documents",
        "counter",
        ("znode",),
        lambda r: [((kind,), n) for kind, n in r.sources.znodes.documents.items()],
        "Znodes that were rejected because of their content or the time of their creation, "
        "by kind. Each is logged.",
    ),
    Metric(
        "reassignd_zookeeper_refused_rows",
        "counter",
        ("znode",),
        lambda r: [((kind,), n) for kind, n in r.sources.znodes.rows.items()],
        "Rejected rows of plans by znode, by kind of znode.",
    ),
    Metric(
        "reassignd_zookeeper_terms",
        "counter",
        ("event",),
        lambda r: [((event,), n) for event, n in r.sources.znodes.terms.items()],
        "Elections of this process as controller (`won`), and terms that ended without a shutdown (`lost`).",
    ),
    _gauge(
        "reassignd_event_loop_lag_seconds",
        lambda r: r.stats.loop_lag_seconds,
        "Delay of the last timer of the event loop.",
    ),
    Metric(
        "reassignd_build", "info", ("version", "python"), _build, "Version of reassignd and Python; always 1."
    ),
)


def exposed_name(metric: Metric) -> str:
    """Return the metric's name in a scrape."""
    return metric.name + {"counter": "_total", "info": "_info"}.get(metric.kind, "")


def _api_name(key: int) -> str:
    """Return Kafka's name of the API, such as `AlterPartitionReassignments`; the number if it is unknown."""
    try:
        return ApiKey(key).name.title().replace("_", "")
    except ValueError:
        return str(key)


def _error_name(code: int) -> str:
    try:
        return ErrorCode(code).name
    except ValueError:
        return str(code)
