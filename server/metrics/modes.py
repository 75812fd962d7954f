"""Metrics of one mode: of a gateway's upstream, of several instances, of ZooKeeper mode."""

from collections.abc import Callable

from server.metrics.metric import Metric, Samples, Summary, api_name, error_name, one_label
from server.metrics.sources import InstanceNumbers, Scrape


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
        "Requests to the upstream that failed, by API and kind: `unreachable`, `in_doubt` (no answer) or"
        " `other`.",
    ),
    Metric(
        "reassignd_upstream_rows",
        "counter",
        ("error",),
        _rows,
        "Rows of AlterPartitionReassignments that the upstream answered, by error; `NONE` for accepted ones.",
    ),
)


def _of_instances(read: Callable[[InstanceNumbers], float | Summary]) -> Callable[[Scrape], Samples]:
    """Return a reader without samples where there is no state topic."""

    def samples(scrape: Scrape) -> Samples:
        numbers = scrape.sources.instances
        return [] if numbers is None else [((), read(numbers))]

    return samples


def _held(scrape: Scrape) -> Samples:
    upstream = scrape.sources.upstream
    return [] if scrape.sources.instances is None or upstream is None else [((), upstream.held)]


def _late_rows(scrape: Scrape) -> Samples:
    numbers = scrape.sources.instances
    return [] if numbers is None else [((), numbers.earlier_late_rows + scrape.state.gateway.late_rows)]


INSTANCE_METRICS = (
    Metric(
        "reassignd_instance_active",
        "gauge",
        (),
        _of_instances(lambda numbers: numbers.active),
        "`state=topic`: 1 if this instance is the active one, else 0. The sum over all instances is 1.",
    ),
    Metric(
        "reassignd_instance_changes",
        "counter",
        (),
        _of_instances(lambda numbers: numbers.changes),
        "How often another instance became the active one, as this instance has seen it.",
    ),
    Metric(
        "reassignd_instance_lease_seconds",
        "gauge",
        (),
        _of_instances(lambda numbers: numbers.lease_seconds),
        "How long this instance is certainly the active one; 0 for a standby.",
    ),
    Metric(
        "reassignd_state_lag_records",
        "gauge",
        (),
        _of_instances(lambda numbers: numbers.lag),
        "Records of the state topic that this instance has not read yet.",
    ),
    Metric(
        "reassignd_state_commit_seconds",
        "summary",
        (),
        _of_instances(lambda numbers: Summary(numbers.batches, numbers.batch_seconds)),
        "Seconds until a batch in the state topic was acknowledged.",
    ),
    Metric(
        "reassignd_state_foreign_batches",
        "counter",
        (),
        _of_instances(lambda numbers: numbers.foreign_batches),
        "Batches in the state topic that are not those of the active instance. They are ignored. "
        "A few at a change of the active instance are normal; others are written by another program.",
    ),
    Metric(
        "reassignd_steps_held_by_lease",
        "counter",
        (),
        _held,
        "Writes to the upstream that waited until this instance was certainly the active one.",
    ),
    Metric(
        "reassignd_late_rows",
        "counter",
        (),
        _late_rows,
        "Rows that were sent again, because a row of an earlier active instance has arrived late.",
    ),
)


ZOOKEEPER_METRICS = (
    Metric(
        "reassignd_zookeeper_refused_documents",
        "counter",
        ("znode",),
        lambda r: one_label(r.sources.znodes.documents),
        "Znodes that were rejected because of their content or the time of their creation, "
        "by kind. Each is logged.",
    ),
    Metric(
        "reassignd_zookeeper_refused_rows",
        "counter",
        ("znode",),
        lambda r: one_label(r.sources.znodes.rows),
        "Rejected rows of plans by znode, by kind of znode.",
    ),
    Metric(
        "reassignd_zookeeper_terms",
        "counter",
        ("event",),
        lambda r: one_label(r.sources.znodes.terms),
        "Elections of this process as controller (`won`), and terms that ended without a shutdown (`lost`).",
    ),
)
