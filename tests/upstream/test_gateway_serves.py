"""The gateway in front of a real Kafka: addresses in responses, reassignment requests, and readiness."""

import asyncio
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest
from kafka import KafkaAdminClient

from protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol.messages.api_versions_request import ApiVersionsRequest
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from protocol.messages.metadata_request import MetadataRequest
from tests.clients.cluster import Cluster, wait_for
from tools.kafka_cluster import KafkaCluster, admin_client
from tools.ports import free_port
from tools.processes import Reassignd
from tools.raw_connection import RawConnection

ALTER_PARTITION_REASSIGNMENTS, LIST_PARTITION_REASSIGNMENTS = 45, 46


def ports_of(gateway: Reassignd, brokers: int = 4) -> list[str]:
    """Return the addresses of the gateway: the first port, then one port for each broker."""
    host, _, first = gateway.bootstrap.partition(":")
    return [f"{host}:{int(first) + position}" for position in range(brokers + 1)]


def readiness(gateway: Reassignd) -> tuple[int, str]:
    """Return the status and text of /readyz."""
    try:
        with urllib.request.urlopen(f"http://{gateway.http}/readyz", timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()
    except OSError as error:
        return 0, str(error)


@contextmanager
def gateway_admin(gateway: Reassignd, position: int = 0) -> Iterator[KafkaAdminClient]:
    """kafka-python's admin client at one port of the gateway."""
    with admin_client(ports_of(gateway)[position]) as admin:
        yield admin


@pytest.mark.parametrize("position", [0, 1, 4])
def test_every_port_reports_all_brokers_at_gateway_ports_and_a_controller(
    gateway: Reassignd, kafka: KafkaCluster, position: int
) -> None:
    with gateway_admin(gateway, position) as admin:
        described = admin.describe_cluster()
    assert described["controller_id"] in kafka.brokers
    addresses = {row["broker_id"]: f"{row['host']}:{row['port']}" for row in described["brokers"]}
    assert addresses == dict(zip(kafka.brokers, ports_of(gateway)[1:], strict=True))


@pytest.mark.tour
def test_metadata_has_the_ports_of_the_gateway(gateway: Reassignd) -> None:
    connection = RawConnection(gateway.bootstrap)
    answer = connection.ask(MetadataRequest(None), 12)
    connection.close()
    assert answer.controller_id in {row.node_id for row in answer.brokers}
    assert sorted(f"{row.host}:{row.port}" for row in answer.brokers) == sorted(ports_of(gateway)[1:])


def test_api_versions_include_reassignments(gateway: Reassignd) -> None:
    connection = RawConnection(gateway.bootstrap)
    answer = connection.ask(ApiVersionsRequest("test", "1"), 3)
    connection.close()
    served = {row.api_key: (row.min_version, row.max_version) for row in answer.api_keys}
    assert served[ALTER_PARTITION_REASSIGNMENTS] == (0, 1)
    assert served[LIST_PARTITION_REASSIGNMENTS] == (0, 0)


def test_only_the_cluster_default_has_the_configs_of_reassignd(cluster: Cluster) -> None:
    rows = cluster.admin.do("configs", type="BROKER", name="")
    assert rows["reassignment.cancel.mode"]["value"] == "rollback"
    of_one = cluster.admin.do("configs", type="BROKER", name="2")
    assert not any(name.startswith("reassignment.") for name in of_one)


@pytest.mark.parametrize("position", range(5))
def test_every_port_accepts_and_lists_reassignments(
    gateway: Reassignd, cluster: Cluster, direct: Cluster, position: int
) -> None:
    topic = cluster.create_topic([[1, 2]])
    cluster.hold(topic)
    row = ReassignableTopic(topic, [ReassignablePartition(0, (3, 4))])
    connection = RawConnection(ports_of(gateway)[position])
    answer = connection.ask(AlterPartitionReassignmentsRequest(topics=[row]), 0)
    assert answer.responses[0].partitions[0].error_code == 0
    listed = connection.ask(ListPartitionReassignmentsRequest(), 0)
    connection.close()
    assert [topic_row.name for topic_row in listed.topics] == [topic]


@pytest.mark.tour
def test_the_upstream_executes_a_reassignment(cluster: Cluster, direct: Cluster) -> None:
    a, b, c, d = direct.brokers
    topic = cluster.create_topic([[d, a], [a, b]])
    cluster.move({f"{topic}-0": [b, c], f"{topic}-1": [d, c]})
    cluster.wait_until_idle()
    direct.wait_for_replicas(topic, [[b, c], [d, c]])
    assert [row["leader"] for row in direct.partitions(topic).values()] == [b, d]


def test_a_new_topic_can_be_reassigned_at_once(cluster: Cluster, direct: Cluster) -> None:
    for number in range(20):
        topic = f"brand-new-{number}"
        direct.admin.do("create", topic=topic, assignment=[[1, 2]])
        cluster.move({f"{topic}-0": [2, 1]})
    cluster.wait_until_idle()


@asynccontextmanager
async def delayed_proxy(port: int, to: str) -> AsyncIterator[None]:
    """Listen on a port and forward its connections to a broker."""
    host, _, actual = to.partition(":")

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(host, int(actual))
        await asyncio.gather(pass_on(reader, back), pass_on(there, writer))

    async with await asyncio.start_server(serve, "127.0.0.1", port):
        yield


async def test_the_gateway_waits_for_an_upstream_that_is_down(kafka: KafkaCluster, tmp_path: Path) -> None:
    closed = free_port()
    gateway = Reassignd(tmp_path, {}, len(kafka.brokers), f"127.0.0.1:{closed}")
    gateway.launch()
    waiting = f"waiting for the upstream: cannot connect to 127.0.0.1:{closed}"
    await asyncio.to_thread(wait_for, lambda: waiting in readiness(gateway)[1], True)
    assert readiness(gateway)[0] == 503
    async with delayed_proxy(closed, kafka.bootstrap):
        await asyncio.to_thread(wait_for, lambda: readiness(gateway)[0], 200)
        assert await asyncio.to_thread(gateway.stop) == 0


def test_a_second_process_with_the_same_data_directory_is_refused(
    gateway: Reassignd, kafka: KafkaCluster
) -> None:
    second = Reassignd(gateway.data_dir, {}, len(kafka.brokers), kafka.bootstrap)
    with pytest.raises(RuntimeError, match="did not start"):
        second.start()
    assert readiness(gateway)[0] == 200
