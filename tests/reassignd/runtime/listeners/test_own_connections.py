"""Connections of simulated brokers within the process."""

import pytest

from protocol.messages.alter_partition_request import AlterPartitionRequest
from reassignd.embedded import EmbeddedCluster
from server.dispatch.authorizer import CLUSTER

SECURED = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}


async def test_brokers_need_no_credentials_and_no_acl() -> None:
    async with EmbeddedCluster(2, settings=SECURED) as cluster:
        host, _, port = cluster.bootstrap_servers.split(",")[0].rpartition(":")
        channel = await cluster._adapter._connect_to_itself(host, int(port))
        response = await channel.request(AlterPartitionRequest(1, -1), 2)
        channel.close()
    assert CLUSTER.name == "kafka-cluster"
    assert response.error_code == 0


async def test_a_stopped_broker_refuses_them() -> None:
    async with EmbeddedCluster(2, settings=SECURED) as cluster:
        host, _, port = cluster.bootstrap_servers.split(",")[1].rpartition(":")
        await cluster.stop_broker(2)
        with pytest.raises(ConnectionRefusedError):
            await cluster._adapter._connect_to_itself(host, int(port))
