"""The three levels of cancelling in KIP-455: a partition, a topic, everything.

Kafka supports only the first.
"""

from collections.abc import Iterator

import pytest

from protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from tests.clients.cluster import Cluster
from tools.raw_connection import RawConnection


@pytest.fixture
def connection(cluster: Cluster) -> Iterator[RawConnection]:
    connection = RawConnection(cluster.bootstrap)
    yield connection
    connection.close()


def two_moving_topics(cluster: Cluster) -> tuple[str, str]:
    """Create two topics with two partitions each, and start a reassignment of all four."""
    a, b, c, d = cluster.brokers[:4]
    first, second = (cluster.create_topic([[a, b], [b, a]]) for _ in range(2))
    for topic in (first, second):
        cluster.hold(topic)
        cluster.move({f"{topic}-0": [c, d], f"{topic}-1": [d, c]})
    return first, second


def cancel(
    connection: RawConnection, cluster: Cluster, request: AlterPartitionReassignmentsRequest
) -> set[str]:
    """Send the cancel and return the partitions in the response. Kafka closes the connection instead."""
    if cluster.kind == "kafka":
        with pytest.raises(ConnectionError):
            connection.ask(request, 1)
        return set()
    answer = connection.ask(request, 1)
    assert answer.error_code == 0
    assert {row.error_code for topic in answer.responses for row in topic.partitions} == {0}
    return {f"{topic.name}-{row.partition_index}" for topic in answer.responses for row in topic.partitions}


def test_null_replicas_cancel_one_partition(cluster: Cluster, connection: RawConnection) -> None:
    first, second = two_moving_topics(cluster)
    rows = [ReassignablePartition(1, None)]
    answer = connection.ask(AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(first, rows)]), 0)
    assert [row.error_code for topic in answer.responses for row in topic.partitions] == [0]
    cluster.expect_reassignments({f"{first}-0", f"{second}-0", f"{second}-1"})


def test_null_partitions_cancel_a_topic(cluster: Cluster, connection: RawConnection) -> None:
    first, second = two_moving_topics(cluster)
    request = AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(first, None)])
    whole = {f"{first}-0", f"{first}-1"}
    assert cancel(connection, cluster, request) == {"reassignd": whole, "kafka": set()}[cluster.kind]
    others = {f"{second}-0", f"{second}-1"}
    cluster.expect_reassignments({"reassignd": others, "kafka": others | whole}[cluster.kind])


def test_null_topics_cancel_everything(cluster: Cluster, connection: RawConnection) -> None:
    everything = {f"{topic}-{partition}" for topic in two_moving_topics(cluster) for partition in (0, 1)}
    request = AlterPartitionReassignmentsRequest(topics=None)
    assert cancel(connection, cluster, request) == {"reassignd": everything, "kafka": set()}[cluster.kind]
    cluster.expect_reassignments({"reassignd": set(), "kafka": everything}[cluster.kind])
