"""A cluster with TLS between brokers and controller, and SASL_SSL for the controller's requests."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from backends.client.channel import connector
from backends.client.handshake import ClientSettings
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from protocol.messages.metadata_request import MetadataRequest
from protocol.messages.metadata_response import MetadataResponse
from reassignd.config.command_config import load
from tests.zookeeper.load import Load
from tests.zookeeper.scenarios import REASSIGN, submit
from tests.zookeeper.site import Site, wait_for
from tools import certificates
from tools.kafka_settings import client_properties
from tools.ports import free_ports
from tools.zookeeper_cluster import ZookeeperCluster

LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required user_admin=admin-secret;"


class Secured(ZookeeperCluster):
    """Listeners: PLAINTEXT for clients, SSL for brokers, SASL_SSL with PLAIN for reassignd."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, 3, protocol="3.9")
        self._ports = free_ports(2 * len(self.brokers))
        certificates.make(folder, ["broker", "admin"])

    def properties(self, broker: int) -> dict[str, str]:
        plain = super().properties(broker)
        first_port = self._ports + 2 * broker
        return {
            **plain,
            "listeners": f"{plain['listeners']},SSL://127.0.0.1:{first_port - 2}"
            f",SASL_SSL://127.0.0.1:{first_port - 1}",
            "inter.broker.listener.name": "SSL",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.folder / "ca.pem"),
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self.folder / "broker.pem"),
            "listener.name.sasl_ssl.sasl.enabled.mechanisms": "PLAIN",
            "listener.name.sasl_ssl.plain.sasl.jaas.config": LOGIN,
        }


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("secured")
    cluster = Secured(folder)
    config = folder / "command.properties"
    config.write_text(client_properties("SASL_SSL", "admin", "PLAIN", folder))
    ports = free_ports(2)
    overrides = {
        "zookeeper.command.config": str(config),
        "zookeeper.listener.name": "SSL",
        "zookeeper.listeners": f"PLAINTEXT:PLAINTEXT://127.0.0.1:{ports}"
        f",SASL_SSL:SASL_SSL://127.0.0.1:{ports + 1}",
        "listener.tls.certificate.file": str(folder / "broker.pem"),
    }
    with ExitStack() as stack:
        stack.enter_context(cluster)
        site = Site(cluster, **overrides)
        site.commander.start()
        stack.callback(site.commander.stop)
        site.wait_for_controller(1000)
        stack.callback(site.admin.close)
        yield site


def test_data_moves_and_brokers_reach_their_controller_over_tls(secured: Site) -> None:
    """With this inter-broker protocol a replica joins the ISR only if its leader reaches the controller."""
    secured.create_znode("/brokers/topics/foo", {"version": 3, "partitions": {"0": [1, 2]}})
    secured.wait_for_replicas("foo", [[1, 2]])
    with Load(secured.cluster.bootstrap, "foo", 1) as load:
        submit(secured, "foo", {0: [3, 2]})
        wait_for(lambda: secured.has_znode(REASSIGN), False)
    load.check()
    secured.wait_for_replicas("foo", [[3, 2]])
    secured.wait_for_hosts("foo", 0, {2, 3})


def test_clients_of_the_plaintext_listener_find_the_controller(secured: Site) -> None:
    topic = secured.create_topic([[1, 2]])
    secured.reassign(topic, {0: [2, 3]})
    secured.wait_for_replicas(topic, [[2, 3]])


async def test_clients_of_the_sasl_ssl_listener_log_in_to_the_controller(secured: Site) -> None:
    connect = connector(ClientSettings(security=load(secured.folder / "command.properties")))
    registered = secured.znode("/brokers/ids/1")["endpoints"]
    [broker_port] = [
        int(endpoint.rpartition(":")[2]) for endpoint in registered if endpoint.startswith("SASL_SSL:")
    ]
    channel = await connect("127.0.0.1", broker_port)
    metadata: MetadataResponse = await channel.request(MetadataRequest(topics=[]), 4)
    channel.close()
    [port] = [broker.port for broker in metadata.brokers if broker.node_id == metadata.controller_id]
    channel = await connect("127.0.0.1", port)
    assert (await channel.request(ListPartitionReassignmentsRequest(), 0)).error_code == 0
    channel.close()


def test_a_broker_performs_a_controlled_shutdown(secured: Site) -> None:
    secured.cluster.stop_broker(1)
    secured.cluster.start_broker(1)
    secured.cluster.wait_for_broker(1)
    assert "Controlled shutdown request returned successfully" in secured.cluster.log(1)
