from backends.client.errors import RequestTimedOutError
from backends.upstream.rows import UpstreamCounters
from server.metrics.upstream import UPSTREAM_METRICS
from tests.server.scraping import scrape, value


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
