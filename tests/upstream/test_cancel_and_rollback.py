"""Cancel and rollback through the gateway, and the results of Kafka alone."""

from collections.abc import Iterator

import pytest

from protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignableTopic,
)
from tests.clients.cluster import Cluster, wait_for
from tests.reassignd.shell import Shell
from tools.processes import Reassignd
from tools.raw_connection import RawConnection


@pytest.fixture
def either(request: pytest.FixtureRequest, cluster: Cluster, direct: Cluster) -> Cluster:
    """The same Kafka cluster, through the gateway or directly."""
    return cluster if request.param == "gateway" else direct


@pytest.fixture
def connection(gateway: Reassignd) -> Iterator[RawConnection]:
    connection = RawConnection(gateway.bootstrap)
    yield connection
    connection.close()


@pytest.mark.tour
@pytest.mark.parametrize(
    ("either", "after"), [("gateway", [4, 1]), ("kafka", [1, 4])], indirect=["either"], ids=str
)
def test_cancel_restores_the_replica_order_which_kafka_loses(either: Cluster, after: list[int]) -> None:
    topic = either.create_topic([[4, 1]])
    either.hold(topic)
    either.move({f"{topic}-0": [2, 3]})
    either.admin.do("alter", moves={f"{topic}-0": None})
    either.release()
    either.wait_until_idle()
    either.wait_for_replicas(topic, [after])


@pytest.mark.parametrize(
    ("either", "after"), [("gateway", [1, 2]), ("kafka", [4, 1, 2])], indirect=["either"], ids=str
)
def test_cancel_after_a_new_order_leaves_no_extra_replica(either: Cluster, after: list[int]) -> None:
    topic = either.create_topic([[1, 2]])
    either.hold(topic)
    either.move({f"{topic}-0": [1, 4]})
    either.move({f"{topic}-0": [4, 3]})
    either.admin.do("alter", moves={f"{topic}-0": None})
    either.release()
    either.wait_until_idle()
    either.wait_for_replicas(topic, [after])


def two_moving_topics(cluster: Cluster) -> tuple[str, str]:
    """Create two topics with two partitions each, and hold the reassignments of all four in flight."""
    topics = [cluster.create_topic([[1, 2], [2, 1]]) for _ in range(2)]
    for topic in topics:
        cluster.hold(topic)
        cluster.move({f"{topic}-0": [3, 4], f"{topic}-1": [4, 3]})
    return topics[0], topics[1]


def cancel(connection: RawConnection, request: AlterPartitionReassignmentsRequest) -> set[str]:
    answer = connection.ask(request, 1)
    rows = {
        f"{topic.name}-{row.partition_index}": row.error_code
        for topic in answer.responses
        for row in topic.partitions
    }
    assert set(rows.values()) == {0}
    return set(rows)


def test_null_partitions_cancel_a_topic(cluster: Cluster, direct: Cluster, connection: RawConnection) -> None:
    first, second = two_moving_topics(cluster)
    rows = cancel(connection, AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(first, None)]))
    assert rows == {f"{first}-0", f"{first}-1"}
    direct.wait_for_replicas(first, [[1, 2], [2, 1]])
    assert set(direct.reassignments()) == {f"{second}-0", f"{second}-1"}


def test_null_topics_cancel_everything(cluster: Cluster, direct: Cluster, connection: RawConnection) -> None:
    topics = two_moving_topics(cluster)
    rows = cancel(connection, AlterPartitionReassignmentsRequest(topics=None))
    assert rows == {f"{topic}-{partition}" for topic in topics for partition in (0, 1)}
    for topic in topics:
        direct.wait_for_replicas(topic, [[1, 2], [2, 1]])
    assert direct.reassignments() == {}


@pytest.mark.tour
def test_rollback_includes_finished_partitions(cluster: Cluster, direct: Cluster, shell: Shell) -> None:
    originals = [[4, 1], [3, 2], [2, 1], [1, 4]]
    topic = cluster.create_topic(originals, filled=False)
    shell.ok("limits", "P=1")
    cluster.move({f"{topic}-{number}": [2, 3] for number in range(4)})
    (job,) = shell.json("status")["jobs"]
    shell.until(lambda: shell.json("job", str(job["id"]))["job"]["done"] > 0)
    shell.ok("rollback", str(job["id"]))
    cluster.wait_until_idle()
    wait_for(lambda: shell.moves()["ongoing"], 0)
    direct.wait_for_replicas(topic, originals)
