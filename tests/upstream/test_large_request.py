"""Reassignment of 10,200 partitions in one request.

Kafka refuses all rows after 10,000, the gateway accepts all.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

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
from protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from tests.reassignd.shell import Shell
from tests.upstream.conftest import running
from tools.kafka_cluster import KafkaCluster, running_kafka
from tools.kafka_settings import Spec
from tools.processes import Reassignd
from tools.raw_connection import RawConnection

TOPICS = ("large0", "large1", "large2")
PARTITIONS = 3_400
"""Partitions of each topic; Kafka does not create more than 10,000 in one request."""
TOTAL = len(TOPICS) * PARTITIONS
MAX_RECORDS = 10_000
"""Maximum number of records that Kafka's controller writes for one request."""
PATIENCE_SECONDS = 240

pytestmark = pytest.mark.timeout(3 * PATIENCE_SECONDS)


@pytest.fixture(scope="module")
def large() -> Iterator[KafkaCluster]:
    """A separate cluster of Kafka 4.3, because a deletion of so many partitions would delay other tests."""
    with running_kafka(Spec(2, "4.3", log_dirs=1, measured=True)) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def gateway(large: KafkaCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reassignd]:
    """A gateway in front of the cluster."""
    folder = tmp_path_factory.mktemp("large")
    yield from running(Reassignd(folder, {}, len(large.brokers), large.bootstrap))


@pytest.fixture
def direct(large: KafkaCluster) -> Iterator[RawConnection]:
    """A direct connection to the cluster; all topics exist."""
    connection = RawConnection(large.bootstrap)
    for topic in TOPICS:
        rows = [CreatableReplicaAssignment(number, (broker_of(number),)) for number in range(PARTITIONS)]
        created = connection.ask(CreateTopicsRequest([CreatableTopic(topic, -1, -1, rows)], 60_000), 5)
        assert created.topics[0].error_code == 0, created
    wait_for(lambda: shifts(connection), {0: TOTAL})
    yield connection
    connection.close()


def wait_for(probe: Callable[[], Any], expected: Any) -> float:
    """Call the probe until it returns the expected value, and return the seconds that this took."""
    start = time.monotonic()
    while (value := probe()) != expected and time.monotonic() - start < PATIENCE_SECONDS:
        time.sleep(0.5)
    assert value == expected
    return time.monotonic() - start


def broker_of(number: int, shift: int = 0) -> int:
    """Return the broker of a partition, `shift` brokers after its first one."""
    return (number + shift) % 2 + 1


def shift_partitions(connection: RawConnection, shift: int) -> Counter[int]:
    """Reassign every partition to the broker `shift` positions on, in one request.

    Returns the number of rows by error code.
    """
    rows = [ReassignablePartition(number, (broker_of(number, shift),)) for number in range(PARTITIONS)]
    topics = [ReassignableTopic(topic, rows) for topic in TOPICS]
    answer = connection.ask(AlterPartitionReassignmentsRequest(topics=topics), 0)
    assert answer.error_code == 0
    return Counter(row.error_code for topic in answer.responses for row in topic.partitions)


def shifts(connection: RawConnection) -> Counter[int]:
    """Return the number of partitions by shift; -1 for partitions with several replicas."""
    metadata = connection.ask(MetadataRequest([MetadataRequestTopic(name=topic) for topic in TOPICS]), 8)
    return Counter(
        (row.replica_nodes[0] - broker_of(row.partition_index)) % 2 if len(row.replica_nodes) == 1 else -1
        for topic in metadata.topics
        for row in topic.partitions
    )


def test_the_gateway_executes_all_rows_of_which_kafka_accepts_10_000(
    gateway: Reassignd, shell: Shell, direct: RawConnection, record_property: Callable[[str, object], None]
) -> None:
    through = RawConnection(gateway.bootstrap)
    assert shift_partitions(through, 1) == {0: TOTAL}
    through.close()
    seconds = wait_for(lambda: shell.moves()["ongoing"], 0)
    record_property("seconds until all were moved", round(seconds, 1))
    wait_for(lambda: shifts(direct), {1: TOTAL})
    assert shift_partitions(direct, 2) == {0: MAX_RECORDS, -1: TOTAL - MAX_RECORDS}
