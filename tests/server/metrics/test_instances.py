from types import SimpleNamespace

from backends.upstream.rows import UpstreamCounters
from server.metrics.instances import INSTANCE_METRICS
from tests.server.scraping import cluster, scrape, value

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
    state.late_rows = 2
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
