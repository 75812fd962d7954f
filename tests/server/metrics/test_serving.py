import pytest

from controller.modes import EMBEDDED
from controller.state.state import State
from server.counters import Counters, RelayCounters
from server.metrics.exposition import METRICS, Metrics, MetricsWithoutCluster
from server.metrics.metric import exposed_name
from server.metrics.sources import Sources
from tests.server.scraping import scrape, value


def test_decisions_and_commits_are_summed_up() -> None:
    stats = Counters()
    stats.decisions["AlterReassignments"] = 2
    stats.decision_seconds["AlterReassignments"] = 0.75
    stats.committed_changes, stats.commit_seconds = 7, 0.125
    samples = scrape(stats=stats)
    assert value(samples, "reassignd_decision_seconds_count", event="AlterReassignments") == 2
    assert value(samples, "reassignd_decision_seconds_sum", event="AlterReassignments") == 0.75
    assert value(samples, "reassignd_store_commit_seconds_sum") == 0.125
    assert value(samples, "reassignd_store_changes_total") == 7


def test_the_build_is_described_by_labels() -> None:
    names = {name: dict(labels) for name, labels in scrape()}
    assert names["reassignd_build_info"]["version"] == "1.2.3"


def test_requests_are_counted_under_names_of_reassignd_too() -> None:
    stats = Counters()
    stats.request(46, 31, 0.25)
    samples = scrape(stats=stats)
    api = "ListPartitionReassignments"
    assert value(samples, "reassignd_requests_total", request=api) == 1
    denied = "CLUSTER_AUTHORIZATION_FAILED"
    assert value(samples, "reassignd_request_errors_total", request=api, error=denied) == 1
    assert value(samples, "reassignd_request_seconds_sum", request=api) == 0.25


def test_relayed_bytes_are_counted_by_api_and_direction() -> None:
    relayed = RelayCounters()
    relayed.request(3, 40)
    relayed.answer(3, 500)
    relayed.hidden_brokers = {7, 8}
    samples = scrape(relayed=relayed)
    assert value(samples, "reassignd_relayed_requests_total", request="Metadata") == 1
    assert value(samples, "reassignd_hidden_brokers") == 2
    assert value(samples, "reassignd_relayed_bytes_total", request="Metadata", direction="out") == 500


@pytest.mark.parametrize("active", [True, False])
def test_the_process_is_active_while_it_serves(active: bool) -> None:
    assert value(scrape(active=active), "reassignd_active") == active


def test_audit_entries_are_counted_by_action() -> None:
    assert value(scrape(audited={"cancel": 2}), "reassignd_audit_entries_total", action="cancel") == 2


def test_the_process_has_metrics() -> None:
    assert value(scrape(), "process_resident_memory_bytes") > 0


def test_every_row_of_the_table_is_exposed_under_its_name_once() -> None:
    names = [exposed_name(metric) for metric in METRICS]
    assert len(set(names)) == len(names)
    families = (
        Metrics(Sources("1", State(mode=EMBEDDED), Counters(), lambda: 0, dict, lambda: True)).page().decode()
    )
    assert all(f"# TYPE {name} " in families for name in names)


def test_a_process_without_a_cluster_says_that_it_is_not_active_and_which_version_it_is() -> None:
    lines = MetricsWithoutCluster("1.2.3").page().decode().splitlines()
    assert "reassignd_active 0.0" in lines
    [build] = [line for line in lines if line.startswith("reassignd_build_info")]
    assert 'version="1.2.3"' in build
    assert any(line.startswith("process_start_time_seconds ") for line in lines)
