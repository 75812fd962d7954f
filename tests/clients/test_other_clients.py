"""Admin clients of five Kafka releases and four languages."""

import pytest
from confluent_kafka import Message, Producer

from tests.clients.cluster import Cluster
from tests.clients.tours import CLIENTS, Client, expected, tour


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_a_client_creates_configures_moves_and_deletes(cluster: Cluster, client: Client) -> None:
    if not client.needs():
        pytest.skip(f"{client.name} is left out: `python -m tools.other_clients` tells why")
    a, b, c, d = cluster.brokers[:4]
    lines = tour(client, cluster.bootstrap, f"tour-{client.name}", (a, b), (c, d))
    assert lines == expected(client, cluster.brokers, (a, b), (c, d))


def test_the_embedded_cluster_refuses_records_with_an_error(cluster: Cluster) -> None:
    if not cluster.server.embedded:
        pytest.skip("a real Kafka stores records")
    errors: list[str] = []

    def delivered(error: object, _message: Message) -> None:
        errors.append(str(error))

    topic = cluster.create_topic([[cluster.brokers[0]]])
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    producer.produce(topic, b"value", on_delivery=delivered)
    assert producer.flush(30) == 0
    assert len(errors) == 1
    assert "INVALID_REQUEST" in errors[0]
