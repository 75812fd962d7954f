"""12,000 partitions in one call: Kafka alone takes 10,000 changes and refuses the rest, the gateway takes all of them."""

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
PARTITIONS = 4_000
"""Of each topic; more than 10,000 cannot be created in one call either."""
TOTAL = len(TOPICS) * PARTITIONS
MAX_RECORDS = 10_000
"""Records that Kafka's controller writes for one request."""
PATIENCE_SECONDS = 240

pytestmark = pytest.mark.timeout(3 * PATIENCE_SECONDS)


@pytest.fixture(scope="module")
def large() -> Iterator[KafkaCluster]:
    """A cluster of its own, Kafka 4.3: the others must not wait until so many partitions are deleted."""
    with running_kafka(Spec(4, "4.3", log_dirs=1, measured=True)) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def gateway(large: KafkaCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reassignd]:
    """Reassignd before it."""
    folder = tmp_path_factory.mktemp("large")
    yield from running(Reassignd(folder, {}, len(large.brokers), large.bootstrap))


@pytest.fixture
def direct(large: KafkaCluster) -> Iterator[RawConnection]:
    """Past the gateway, with all topics there."""
    connection = RawConnection(large.bootstrap)
    for topic in TOPICS:
        rows = [CreatableReplicaAssignment(number, (broker_of(number),)) for number in range(PARTITIONS)]
        made = connection.ask(CreateTopicsRequest([CreatableTopic(topic, -1, -1, rows)], 60_000), 5)
        assert made.topics[0].error_code == 0, made
    wait_for(lambda: shifts(connection), {0: TOTAL})
    yield connection
    connection.close()


def wait_for(probe: Callable[[], Any], expected: Any) -> float:
    """Looks until that is seen; how many seconds it took."""
    start = time.monotonic()
    while (seen := probe()) != expected and time.monotonic() - start < PATIENCE_SECONDS:
        time.sleep(0.5)
    assert seen == expected
    return time.monotonic() - start


def broker_of(number: int, shift: int = 0) -> int:
    """One of four brokers."""
    return (number + shift) % 4 + 1


def shift_partitions(connection: RawConnection, shift: int) -> Counter[int]:
    """Moves every partition so many brokers on, in one call; how many rows had which error."""
    rows = [ReassignablePartition(number, (broker_of(number, shift),)) for number in range(PARTITIONS)]
    topics = [ReassignableTopic(topic, rows) for topic in TOPICS]
    answer = connection.ask(AlterPartitionReassignmentsRequest(topics=topics), 0)
    assert answer.error_code == 0
    return Counter(row.error_code for topic in answer.responses for row in topic.partitions)


def shifts(connection: RawConnection) -> Counter[int]:
    """How many partitions are how many brokers from home."""
    seen = connection.ask(MetadataRequest([MetadataRequestTopic(name=topic) for topic in TOPICS]), 8)
    return Counter(
        (row.replica_nodes[0] - broker_of(row.partition_index)) % 4 if len(row.replica_nodes) == 1 else -1
        for topic in seen.topics
        for row in topic.partitions
    )


def test_all_rows_are_taken_and_carried_out_where_kafka_takes_10_000(
    gateway: Reassignd, shell: Shell, direct: RawConnection, record_property: Callable[[str, object], None]
) -> None:
    through = RawConnection(gateway.bootstrap)
    assert shift_partitions(through, 1) == {0: TOTAL}
    through.close()
    seconds = wait_for(lambda: shell.moves()["ongoing"], 0)
    record_property("seconds until all were moved", round(seconds, 1))
    wait_for(lambda: shifts(direct), {1: TOTAL})
    assert shift_partitions(direct, 2) == {0: MAX_RECORDS, -1: TOTAL - MAX_RECORDS}
