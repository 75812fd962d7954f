import pytest

from server.counters import Counters
from server.metrics.kafka_names import MOST_PARTITIONS, hidden_prefixes
from server.metrics.sources import Traffic
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


UNDER_REPLICATED = "kafka_cluster_partition_underreplicated"


def test_each_partition_tells_whether_it_is_under_replicated_and_adding_replicas_do_not_count() -> None:
    samples = scrape(cluster())
    found = [value(samples, UNDER_REPLICATED, topic="t", partition=number) for number in "012"]
    assert found == [0, 1, 0]


def test_a_large_cluster_shows_a_bounded_number_of_partitions_that_are_under_replicated() -> None:
    def shown(lacking: int) -> list[float]:
        rows = [partition(f"foo-{n}", [1, 2], isr=(1,) if n < lacking else (1, 2)) for n in range(1_101)]
        samples = scrape(InMemoryController().with_partitions(*rows).state)
        return [found for (name, _), found in samples.items() if name == UNDER_REPLICATED]

    assert (shown(2), shown(1_101)) == ([1, 1], [1] * MOST_PARTITIONS)


@pytest.mark.parametrize("active", [True, False])
def test_the_controller_is_active_while_it_serves(active: bool) -> None:
    name = "kafka_controller_kafkacontroller_activecontrollercount"
    assert value(scrape(active=active), name) == active


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
    stats.request(999, 234)
    samples = scrape(stats=stats)
    assert value(samples, "kafka_network_requestmetrics_errors_total", request="999", error="234") == 1


def test_reassignment_bytes_are_counted_by_broker() -> None:
    samples = scrape(traffic={3: Traffic(10, 20)})
    name = "kafka_server_brokertopicmetrics_reassignmentbytes"
    assert value(samples, f"{name}in_total", broker="3") == 10
    assert value(samples, f"{name}out_total", broker="3") == 20


def test_connections_queue_and_lag_are_shown_as_they_are_now() -> None:
    stats = Counters()
    stats.connection(1)
    stats.loop_lag(0.25)
    samples = scrape(stats=stats, queue_length=4)
    assert value(samples, "kafka_server_socket_server_metrics_connection_count") == 1
    assert value(samples, "kafka_controller_controllereventmanager_eventqueuesize") == 4
    assert value(samples, "reassignd_event_loop_lag_seconds") == 0.25


@pytest.mark.parametrize(
    ("choice", "backend", "shown"),
    [
        ("auto", "embedded", {"kafka_server", "kafka_controller"}),
        ("auto", "zookeeper", {"kafka_controller"}),
        ("auto", "upstream", set()),
        ("always", "upstream", {"kafka_server", "kafka_controller"}),
        ("never", "embedded", set()),
    ],
)
def test_kafka_s_names_are_exported_where_they_do_not_double_those_of_brokers(
    choice: str, backend: str, shown: set[str]
) -> None:
    names = {
        "kafka_controller": "kafka_controller_kafkacontroller_activecontrollercount",
        "kafka_server": "kafka_server_replicamanager_reassigningpartitions",
    }
    exported = {name for name, _ in scrape(hidden=hidden_prefixes(choice, backend))}
    assert {name for name, metric in names.items() if metric in exported} == shown
    assert "reassignd_active" in exported
