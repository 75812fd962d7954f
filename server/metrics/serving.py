"""Metrics of this process: requests, connections, decisions, the store, the audit log."""

import platform

from server.metrics.metric import Metric, Samples, Summary, api_name, counter, error_name, gauge, one_label
from server.metrics.sources import Scrape


def requests(scrape: Scrape) -> Samples:
    """Return the number of requests by API."""
    return [((api_name(key),), count) for key, count in scrape.stats.requests.items()]


def errors(scrape: Scrape) -> Samples:
    """Return the number of responses with an error code at the top level, by API and error."""
    return [((api_name(key), error_name(code)), n) for (key, code), n in scrape.stats.errors.items()]


def _times(scrape: Scrape) -> Samples:
    stats = scrape.stats
    return [((api_name(key),), Summary(n, stats.request_seconds[key])) for key, n in stats.timed.items()]


def _relayed_requests(scrape: Scrape) -> Samples:
    return [((api_name(key),), count) for key, count in scrape.sources.relayed.requests.items()]


def _relayed_bytes(scrape: Scrape) -> Samples:
    relayed = scrape.sources.relayed
    directions = (("in", relayed.bytes_in), ("out", relayed.bytes_out))
    return [
        ((api_name(key), direction), size) for direction, sizes in directions for key, size in sizes.items()
    ]


def _decisions(scrape: Scrape) -> Samples:
    stats = scrape.stats
    return [((event,), Summary(n, stats.decision_seconds[event])) for event, n in stats.decisions.items()]


def _commits(scrape: Scrape) -> Samples:
    return [((), Summary(scrape.stats.commits, scrape.stats.commit_seconds))]


def build(version: str) -> Samples:
    """Return the sample of `BUILD`."""
    return [((version, platform.python_version()), 1)]


ACTIVE = gauge(
    "reassignd_active",
    lambda r: r.sources.active(),
    "1 while this process serves requests, else 0.",
)
BUILD = Metric(
    "reassignd_build",
    "info",
    ("version", "python"),
    lambda r: build(r.sources.version),
    "Version of reassignd and Python; always 1.",
)

SERVING_METRICS = (
    ACTIVE,
    Metric(
        "reassignd_requests",
        "counter",
        ("request",),
        requests,
        "Requests that reassignd answered itself, by API.",
    ),
    Metric(
        "reassignd_request_errors",
        "counter",
        ("request", "error"),
        errors,
        "Responses with an error code at the top level, by API and error.",
    ),
    Metric(
        "reassignd_request_seconds",
        "summary",
        ("request",),
        _times,
        "Seconds from a request to its response, by API.",
    ),
    Metric(
        "reassignd_relayed_requests",
        "counter",
        ("request",),
        _relayed_requests,
        "Requests of clients that were relayed to a broker (gateway and ZooKeeper mode), by API.",
    ),
    Metric(
        "reassignd_relayed_bytes",
        "counter",
        ("request", "direction"),
        _relayed_bytes,
        "Bytes of relayed requests (in) and responses (out), by API.",
    ),
    gauge(
        "reassignd_hidden_brokers",
        lambda r: len(r.sources.relayed.hidden_brokers),
        "Brokers that clients of a gateway do not see, because their ports cannot be opened. The log has the"
        " reasons.",
    ),
    gauge(
        "reassignd_connections",
        lambda r: r.stats.connections,
        "Open client connections on all Kafka listeners.",
    ),
    gauge(
        "reassignd_queued_events",
        lambda r: r.sources.queue_length(),
        "Events in the queue of the controller.",
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
    counter(
        "reassignd_store_changes",
        lambda r: r.stats.committed_changes,
        "Records that were written or deleted.",
    ),
    Metric(
        "reassignd_audit_entries",
        "counter",
        ("action",),
        lambda r: one_label(r.sources.audited),
        "Entries of the audit log since the start, by action.",
    ),
    gauge(
        "reassignd_event_loop_lag_seconds",
        lambda r: r.stats.loop_lag_seconds,
        "Delay of the last timer of the event loop.",
    ),
    BUILD,
)
