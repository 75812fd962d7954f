"""Metrics of several instances before one cluster, which share a state topic. A standby shows them too."""

from collections.abc import Callable

from server.metrics.metric import Metric, Samples, Summary
from server.metrics.sources import InstanceNumbers, Scrape


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
    return [] if numbers is None else [((), numbers.earlier_late_rows + scrape.state.late_rows)]


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
