"""12,000 partitions in one call: Kafka alone takes 10,000 changes and refuses the rest, the gateway takes all of them."""

import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from bench.raw import RawConnection
from protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from protocol.messages.delete_topics_request import DeleteTopicsRequest
from protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from tests.clients.cluster import wait_for
from tests.reassignd.shell import Shell
from tools.kafka_cluster import KafkaCluster
from tools.processes import Reassignd

TOPICS = ("large0", "large1", "large2")
PARTITIONS = 4_000
"""Of each topic; more than 10,000 cannot be created in one call either."""
TOGETHER = len(TOPICS) * PARTITIONS
MOST = 10_000
"""Records that Kafka's controller writes for one request."""
PATIENCE_SECONDS = 150

pytestmark = pytest.mark.timeout(400)


@pytest.fixture
def past(kafka: KafkaCluster) -> Iterator[RawConnection]:
    """Past the gateway, with the large topics there."""
    connection = RawConnection(kafka.bootstrap)
    for topic in TOPICS:
        rows = [CreatableReplicaAssignment(number, (home(number),)) for number in range(PARTITIONS)]
        made = connection.ask(CreateTopicsRequest([CreatableTopic(topic, -1, -1, rows)], 60_000), 5)
        assert made.topics[0].error_code == 0, made
    wait_for(lambda: shifts(connection), Counter({0: TOGETHER}))
    yield connection
    connection.ask(DeleteTopicsRequest(topic_names=TOPICS, timeout_ms=60_000), 5)
    connection.close()


def home(number: int, shift: int = 0) -> int:
    """One of four brokers."""
    return (number + shift) % 4 + 1


def moved_by(connection: RawConnection, shift: int) -> Counter[int]:
    """Moves every partition so many brokers on, in one call; how many rows had which error."""
    rows = [ReassignablePartition(number, (home(number, shift),)) for number in range(PARTITIONS)]
    topics = [ReassignableTopic(topic, rows) for topic in TOPICS]
    answer = connection.ask(AlterPartitionReassignmentsRequest(topics=topics), 0)
    assert answer.error_code == 0
    return Counter(row.error_code for topic in answer.responses for row in topic.partitions)


def shifts(connection: RawConnection) -> Counter[int]:
    """How many partitions are how many brokers from home."""
    seen: Any = connection.ask(MetadataRequest([MetadataRequestTopic(name=topic) for topic in TOPICS]), 8)
    return Counter(
        (row.replica_nodes[0] - home(row.partition_index)) % 4 if len(row.replica_nodes) == 1 else -1
        for topic in seen.topics
        for row in topic.partitions
    )


def test_all_rows_are_taken_and_carried_out_where_kafka_takes_10_000(
    gateway: Reassignd, shell: Shell, past: RawConnection, record_property: Any
) -> None:
    through = RawConnection(gateway.bootstrap)
    began = time.monotonic()
    assert moved_by(through, 1) == {0: TOGETHER}
    record_property("seconds until answered", round(time.monotonic() - began, 1))
    deadline = began + PATIENCE_SECONDS
    while shell.moves()["ongoing"] and time.monotonic() < deadline:
        time.sleep(0.5)
    record_property("seconds until moved", round(time.monotonic() - began, 1))
    assert shifts(past) == {1: TOGETHER}
    through.close()
    assert moved_by(past, 2) == {0: MOST, -1: TOGETHER - MOST}
