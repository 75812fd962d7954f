from types import SimpleNamespace

from backends.client.errors import RequestTimedOutError
from backends.upstream.outcomes import UpstreamCounters
from server.metrics.modes import INSTANCE_METRICS, UPSTREAM_METRICS
from server.metrics.sources import Znodes
from tests.server.scraping import cluster, scrape, value


def test_polls_are_counted_with_their_duration_and_the_time_of_the_last() -> None:
    counters = UpstreamCounters()
    counters.polled(0.25, 5_000)
    counters.failed_polls += 1
    samples = scrape(upstream=counters)
    assert value(samples, "reassignd_upstream_polls_total", result="ok") == 1
    assert value(samples, "reassignd_upstream_polls_total", result="failed") == 1
    assert value(samples, "reassignd_upstream_poll_seconds_sum") == 0.25
    assert value(samples, "reassignd_upstream_last_poll_timestamp_seconds") == 5


def test_the_time_of_the_last_poll_is_absent_before_the_first() -> None:
    names = {name for name, _ in scrape(upstream=UpstreamCounters())}
    assert "reassignd_upstream_last_poll_timestamp_seconds" not in names


def test_failed_requests_and_rows_are_counted_by_kafka_s_names() -> None:
    counters = UpstreamCounters()
    counters.failed(45, RequestTimedOutError("late"))
    counters.rows[39] += 2
    samples = scrape(upstream=counters)
    api = "AlterPartitionReassignments"
    assert value(samples, "reassignd_upstream_errors_total", request=api, kind="in_doubt") == 1
    assert value(samples, "reassignd_upstream_rows_total", error="INVALID_REPLICA_ASSIGNMENT") == 2


def test_without_an_upstream_nothing_is_shown() -> None:
    shown = {name for name, _ in scrape()}
    assert not [m for m in UPSTREAM_METRICS if any(name.startswith(m.name) for name in shown)]


NUMBERS = SimpleNamespace(
    active=True,
    changes=2,
    lease_seconds=3.5,
    lag=7,
    batches=4,
    batch_seconds=0.5,
    foreign_batches=1,
    earlier_late_rows=3,
)


def test_an_instance_shows_its_role_its_lease_and_the_topic() -> None:
    counters = UpstreamCounters()
    counters.held = 6
    state = cluster()
    state.gateway.late_rows = 2
    samples = scrape(state, instances=NUMBERS, upstream=counters)
    assert value(samples, "reassignd_instance_active") == 1
    assert value(samples, "reassignd_instance_changes_total") == 2
    assert value(samples, "reassignd_instance_lease_seconds") == 3.5
    assert value(samples, "reassignd_state_lag_records") == 7
    assert value(samples, "reassignd_state_commit_seconds_count") == 4
    assert value(samples, "reassignd_state_commit_seconds_sum") == 0.5
    assert value(samples, "reassignd_state_foreign_batches_total") == 1
    assert value(samples, "reassignd_steps_held_by_lease_total") == 6
    assert value(samples, "reassignd_late_rows_total") == 5


def test_without_a_state_topic_nothing_is_shown() -> None:
    shown = {name for name, _ in scrape(upstream=UpstreamCounters())}
    assert not [m for m in INSTANCE_METRICS if any(name.startswith(m.name) for name in shown)]


def test_rejected_znodes_are_counted_by_kind() -> None:
    samples = scrape(znodes=Znodes({"topic": 2}, {"reassign_partitions": 5}, {"won": 3, "lost": 2}))
    assert value(samples, "reassignd_zookeeper_refused_documents_total", znode="topic") == 2
    assert value(samples, "reassignd_zookeeper_refused_rows_total", znode="reassign_partitions") == 5
    assert value(samples, "reassignd_zookeeper_terms_total", event="lost") == 2
