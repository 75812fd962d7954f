"""A gateway in front of Kafka 2.4.

Only the controller serves reassignments, and Metadata does not list fenced brokers.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka.admin import ACL, ACLOperation, ACLPermissionType, ResourcePattern, ResourceType

from protocol.messages.alter_partition_reassignments_request import AlterPartitionReassignmentsRequest
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from protocol.messages.metadata_request import MetadataRequest
from tests.clients.cluster import Cluster, wait_for
from tests.clients.java_programs import JavaAdmin
from tests.clients.servers import Server
from tests.reassignd.shell import Shell
from tests.upstream.test_gateway_serves import ports_of
from tools.kafka_cluster import admin_client
from tools.processes import Reassignd
from tools.raw_connection import RawConnection
from tools.zookeeper_cluster import ZookeeperCluster, running_cluster

AUTHORIZER = {
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}
NO_MOVE = AlterPartitionReassignmentsRequest(timeout_ms=10_000)


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZookeeperCluster]:
    folder = tmp_path_factory.mktemp("older")
    with running_cluster(3, folder, release="2.4", settings=AUTHORIZER) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def before(older: ZookeeperCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reassignd]:
    gateway = Reassignd(tmp_path_factory.mktemp("before"), {}, len(older.brokers), older.bootstrap)
    gateway.start()
    yield gateway
    assert gateway.stop() == 0


def request_at(gateway: Reassignd, position: int, request: Any, version: int = 0) -> Any:
    """Send a request to one port of the gateway and return the response. Port 0 leads to any broker."""
    connection = RawConnection(ports_of(gateway)[position])
    answer = connection.ask(request, version)
    connection.close()
    return answer


def test_the_controller_is_that_of_the_upstream_and_every_port_serves_reassignments(
    older: ZookeeperCluster, before: Reassignd
) -> None:
    connection = RawConnection(older.bootstrap)
    controller = connection.ask(MetadataRequest(()), 1).controller_id
    connection.close()
    for position in range(4):
        assert request_at(before, position, MetadataRequest(()), 1).controller_id == controller
        assert request_at(before, position, NO_MOVE).error_code == 0
        assert request_at(before, position, ListPartitionReassignmentsRequest()).error_code == 0


def test_a_plan_is_executed_and_an_unlisted_broker_is_reported_as_missing(
    older: ZookeeperCluster, before: Reassignd, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = Shell(before, tmp_path, capsys)
    with JavaAdmin(before.bootstrap) as admin:
        cluster = Cluster(Server("reassignd", before.bootstrap), admin)
        topic = cluster.create_topic([[1, 2], [2, 1], [1, 2]])
        cluster.move({f"{topic}-{number}": [2, 3] for number in range(3)})
        cluster.wait_until_idle()
        cluster.wait_for_replicas(topic, [[2, 3]] * 3)
    older.kill_broker(3)
    wait_for(lambda: "missing: broker 3" in shell.ok("status"), True)


@pytest.mark.parametrize("request_", [NO_MOVE, ListPartitionReassignmentsRequest()], ids=["alter", "list"])
def test_requests_without_permission_are_refused_at_every_port(
    older: ZookeeperCluster, before: Reassignd, request_: Any
) -> None:
    """Must be the last test: it grants cluster rights to `stranger` only."""
    grant = ("User:stranger", "*", ACLOperation.ALTER, ACLPermissionType.ALLOW)
    with admin_client(older.bootstrap) as admin:  # Fails the second time, because the ACL exists.
        admin.create_acls([ACL(*grant, ResourcePattern(ResourceType.CLUSTER, "kafka-cluster"))])
    wait_for(lambda: [request_at(before, position, request_).error_code for position in (0, 1, 2)], [31] * 3)
