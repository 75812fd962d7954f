"""Admin clients of five Kafka releases and four languages, through the gateway."""

import pytest

from tests.clients.cluster import Cluster
from tests.clients.tours import CLIENTS, Client, expected, tour


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_a_client_creates_configures_moves_and_deletes(cluster: Cluster, client: Client) -> None:
    if not client.needs():
        pytest.skip(f"{client.name} is left out: `python -m tools.other_clients` tells why")
    a, b, c, d = cluster.brokers[:4]
    lines = tour(client, cluster.bootstrap, f"tour-{client.name}", (a, b), (c, d))
    assert lines == expected(client, cluster.brokers, (a, b), (c, d))
