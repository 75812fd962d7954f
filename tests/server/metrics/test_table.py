import pytest

from server.metrics.sources import Traffic, Znodes
from server.metrics.stats import Counters
from tests.builders import InMemoryController, partition
from tests.server.scraping import cluster, scrape, value


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("kafka_controller_kafkacontroller_activebrokercount", 2),
        ("kafka_controller_kafkacontroller_fencedbrokercount", 1),
        ("kafka_controller_kafkacontroller_globaltopiccount", 1),
        ("kafka_controller_kafkacontroller_globalpartitioncount", 3),
        ("kafka_controller_kafkacontroller_offlinepartitionscount", 1),
        ("kafka_server_replicamanager_underreplicatedpartitions", 1),
        ("kafka_server_replicamanager_underminisrpartitioncount", 1),
        ("kafka_server_replicamanager_atminisrpartitioncount", 0),
        ("kafka_server_replicamanager_reassigningpartitions", 1),
        ("kafka_server_replicamanager_reassignedcount", 1),
    ],
)
def test_the_cluster_is_shown_in_kafka_s_gauges(name: str, expected: float) -> None:
    assert value(scrape(cluster()), name) == expected


@pytest.mark.parametrize("active", [True, False])
def test_the_controller_is_active_while_it_serves(active: bool) -> None:
    name = "kafka_controller_kafkacontroller_activecontrollercount"
    assert value(scrape(active=active), name) == active


def test_moving_waiting_and_queued_partitions_are_separate_metrics() -> None:
    controller = InMemoryController().with_partitions(*(partition(f"foo-{n}", (1, 2)) for n in range(3)))
    controller.with_limits(partitions=1).stop(6)
    controller.alter({"foo-0": (3, 4), "foo-1": (3, 4), "foo-2": (6, 1)})
    samples = scrape(controller.state)
    for phase in ("moving", "queued", "waiting"):
        assert value(samples, f"reassignd_{phase}_partitions") == 1, phase


def test_requests_and_errors_are_named_as_kafka_names_them() -> None:
    stats = Counters()
    stats.request(45, 0)
    stats.request(45, 31)
    samples = scrape(stats=stats)
    api = "AlterPartitionReassignments"
    assert value(samples, "kafka_network_requestmetrics_requests_total", request=api) == 2
    denied = "CLUSTER_AUTHORIZATION_FAILED"
    assert value(samples, "kafka_network_requestmetrics_errors_total", request=api, error=denied) == 1


def test_request_times_are_summed_up_in_milliseconds() -> None:
    stats = Counters()
    stats.request(46, 0, 0.25)
    samples = scrape(stats=stats)
    name, api = "kafka_network_requestmetrics_totaltimems", "ListPartitionReassignments"
    assert value(samples, f"{name}_count", request=api) == 1
    assert value(samples, f"{name}_sum", request=api) == 250


def test_unknown_apis_and_errors_are_shown_by_number() -> None:
    stats = Counters()
    stats.request(999, 1234)
    samples = scrape(stats=stats)
    assert value(samples, "kafka_network_requestmetrics_errors_total", request="999", error="1234") == 1


def test_reassignment_bytes_are_counted_by_broker() -> None:
    samples = scrape(traffic={3: Traffic(10, 20)})
    name = "kafka_server_brokertopicmetrics_reassignmentbytes"
    assert value(samples, f"{name}in_total", broker="3") == 10
    assert value(samples, f"{name}out_total", broker="3") == 20


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


def test_connections_queue_and_lag_are_shown_as_they_are_now() -> None:
    stats = Counters()
    stats.connection(1)
    stats.loop_lag(0.25)
    samples = scrape(stats=stats, queue_length=4)
    assert value(samples, "kafka_server_socket_server_metrics_connection_count") == 1
    assert value(samples, "kafka_controller_controllereventmanager_eventqueuesize") == 4
    assert value(samples, "reassignd_event_loop_lag_seconds") == 0.25


def test_the_build_is_described_by_labels() -> None:
    names = {name: dict(labels) for name, labels in scrape()}
    assert names["reassignd_build_info"]["version"] == "1.2.3"


def test_rejected_znodes_are_counted_by_kind() -> None:
    samples = scrape(znodes=Znodes({"topic": 2}, {"reassign_partitions": 5}, {"won": 3, "lost": 2}))
    assert value(samples, "reassignd_zookeeper_refused_documents_total", znode="topic") == 2
    assert value(samples, "reassignd_zookeeper_refused_rows_total", znode="reassign_partitions") == 5
    assert value(samples, "reassignd_zookeeper_terms_total", event="lost") == 2
