"""Metrics of a gateway's requests to its upstream."""

from server.metrics.api_names import api_name
from server.metrics.metric import Metric, Samples, Summary, error_name
from server.metrics.sources import Scrape


def _polls(scrape: Scrape) -> Samples:
    upstream = scrape.sources.upstream
    if upstream is not None:
        yield ("ok",), upstream.polls
        yield ("failed",), upstream.failed_polls


def _poll_seconds(scrape: Scrape) -> Samples:
    upstream = scrape.sources.upstream
    return [] if upstream is None else [((), Summary(upstream.polls, upstream.poll_seconds))]


def _last_poll(scrape: Scrape) -> Samples:
    upstream = scrape.sources.upstream
    known = upstream is not None and upstream.last_poll_ms
    return [((), upstream.last_poll_ms / 1000)] if upstream is not None and known else []


def _errors(scrape: Scrape) -> Samples:
    upstream = scrape.sources.upstream
    errors = {} if upstream is None else upstream.errors
    return [((api_name(key), kind), count) for (key, kind), count in errors.items()]


def _rows(scrape: Scrape) -> Samples:
    upstream = scrape.sources.upstream
    rows = {} if upstream is None else upstream.rows
    return [((error_name(code),), count) for code, count in rows.items()]


UPSTREAM_METRICS = (
    Metric(
        "reassignd_upstream_polls",
        "counter",
        ("result",),
        _polls,
        "Polls of the upstream (gateway mode), by result: `ok` or `failed`.",
    ),
    Metric(
        "reassignd_upstream_poll_seconds",
        "summary",
        (),
        _poll_seconds,
        "Seconds that successful polls of the upstream took.",
    ),
    Metric(
        "reassignd_upstream_last_poll_timestamp_seconds",
        "gauge",
        (),
        _last_poll,
        "Unix time of the end of the last successful poll; `time()` minus this is its age.",
    ),
    Metric(
        "reassignd_upstream_errors",
        "counter",
        ("request", "kind"),
        _errors,
        "Requests to the upstream that failed, by API and kind: `unreachable`, `in_doubt` (no answer) or `other`.",
    ),
    Metric(
        "reassignd_upstream_rows",
        "counter",
        ("error",),
        _rows,
        "Rows of AlterPartitionReassignments that the upstream answered, by error; `NONE` for accepted ones.",
    ),
)
