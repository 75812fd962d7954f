"""A real Kafka cluster of four brokers with a gateway, and the operations of `bench.gateway` on them."""

import re
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.request import urlopen

from protocol.frames import decode_response, parse_response
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
from protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from protocol.messages.list_partition_reassignments_response import ListPartitionReassignmentsResponse
from protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from tools.java import java_command
from tools.kafka_cluster import KafkaCluster, running_kafka
from tools.kafka_settings import Spec
from tools.processes import Reassignd
from tools.raw_connection import RawConnection, encode, processor_seconds
from tools.waiting import wait_until

BATCH_BYTES = 160_000
P_LIMIT = "reassignment.max.concurrent.partition.movements"
FULL_SPEED = {
    "replica.fetch.max.bytes": "1048576",
    "replica.fetch.response.max.bytes": "10485760",
    # Replicas that moved away are removed soon: several moves a minute would fill the memory otherwise.
    "log.segment.delete.delay.ms": "1000",
}
LIST_ALL = encode(ListPartitionReassignmentsRequest(), 0)
LIST_KEY = 46


class Topic(NamedTuple):
    """A topic whose replicas are on two of the four brokers. The leaders alternate between the two."""

    name: str
    partitions: int
    record_bytes: int = 0
    records: int = 0

    @property
    def megabytes(self) -> float:
        """Size of one replica of all partitions."""
        return self.record_bytes * self.records / 1e6

    def replicas(self, there: bool) -> list[tuple[int, int]]:
        """Return the replicas of each partition: on brokers 3 and 4 if `there`, else on 1 and 2."""
        first, second = (3, 4) if there else (1, 2)
        return [(first, second) if index % 2 == 0 else (second, first) for index in range(self.partitions)]


class Site(NamedTuple):
    """A cluster and its gateway."""

    kafka: KafkaCluster
    gateway: Reassignd

    def relayed(self, broker: int) -> str:
        """Return HOST:PORT of the gateway's port for the broker."""
        host, _, own = self.gateway.bootstrap.rpartition(":")
        return f"{host}:{int(own) + broker}"

    def limit(self, partitions: int | None) -> None:
        """Set the limit P at the gateway; None removes it."""
        value = None if partitions is None else str(partitions)
        configure(self.gateway.bootstrap, 4, "", {P_LIMIT: value})

    def throttle(self, rate: int | None) -> None:
        """Set Kafka's replication throttle on all brokers directly.

        None removes it, so that reassignd may set its own.
        """
        value = None if rate is None else str(rate)
        rates: dict[str, str | None] = {
            f"{side}.replication.throttled.rate": value for side in ("leader", "follower")
        }
        for broker in self.kafka.brokers:
            configure(self.kafka.address(broker), 4, str(broker), rates)

    def gauge(self, name: str) -> float:
        """Return a metric of the gateway."""
        page = urlopen(f"http://{self.gateway.http}/metrics").read().decode()
        return float(re.search(rf"^{name} (\S+)$", page, re.MULTILINE).group(1))  # type: ignore[union-attr]

    def cpu_seconds(self) -> float:
        """Return the CPU time of the gateway's process."""
        return processor_seconds(self.gateway.pid)

    def create(self, topic: Topic) -> None:
        """Create the topic in sync, add its replicas to the throttle, and write its data."""
        rows = [CreatableReplicaAssignment(i, each) for i, each in enumerate(topic.replicas(there=False))]
        request = CreateTopicsRequest([CreatableTopic(topic.name, -1, -1, rows)], timeout_ms=100_000)
        connection = RawConnection(self.kafka.bootstrap)
        answer = connection.ask(request, 7)
        connection.close()
        assert answer.topics[0].error_code == 0, answer
        for broker in self.kafka.brokers:
            self._wait_for(topic, RawConnection(self.kafka.address(broker)))
        every: dict[str, str | None] = {
            f"{side}.replication.throttled.replicas": "*" for side in ("leader", "follower")
        }
        configure(self.kafka.bootstrap, 2, topic.name, every)
        if topic.records:
            load(self.kafka.bootstrap, topic.name, topic.records, topic.record_bytes).communicate()

    def _wait_for(self, topic: Topic, asked: RawConnection) -> None:
        wait_until(lambda: _in_sync(asked, topic), lambda: f"{topic.name} to be in sync", 0.1)
        asked.close()


@contextmanager
def site(settings: Mapping[str, str] = FULL_SPEED) -> Iterator[Site]:
    """Start four brokers with these settings, and a gateway."""
    spec = Spec(4, measured=True, settings=settings)
    with tempfile.TemporaryDirectory() as folder, running_kafka(spec) as kafka:
        gateway = Reassignd(Path(folder), {"gateway.ports": "4"}, 4, kafka.bootstrap)
        gateway.start()
        try:
            yield Site(kafka, gateway)
        finally:
            gateway.kill()


def configure(bootstrap: str, kind: int, name: str, values: dict[str, str | None]) -> None:
    """Set configs of a resource; delete those that are None."""
    rows = [AlterableConfig(each, 1 if value is None else 0, value) for each, value in values.items()]
    connection = RawConnection(bootstrap)
    answer = connection.ask(IncrementalAlterConfigsRequest([AlterConfigsResource(kind, name, rows)]), 1)
    connection.close()
    assert answer.responses[0].error_code == 0, answer


def load(bootstrap: str, topic: str, records: int, size: int, rate: int = -1) -> "subprocess.Popen[str]":
    """Start Kafka's load generator, with acks=all."""
    options = f"--topic {topic} --num-records {records} --record-size {size} --throughput {rate}".split()
    properties = [
        "--producer-props",
        f"bootstrap.servers={bootstrap}",
        "acks=all",
        f"batch.size={BATCH_BYTES}",
    ]
    main = "org.apache.kafka.tools.ProducerPerformance"
    command = java_command("tools-4.3", main, *options, *properties, heap_mb=256)
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def listed(connection: RawConnection) -> int:
    """Return the number of ongoing reassignments."""
    _, answer = connection.timed(LIST_ALL)
    response = decode_response(parse_response(answer, LIST_KEY, 0), ListPartitionReassignmentsResponse)
    assert response.error_code == 0, response
    return sum(len(topic.partitions) for topic in response.topics)


def submit(connection: RawConnection, *orders: tuple[Topic, bool]) -> None:
    """Reassign each topic to brokers 3 and 4, or back."""
    topics = [
        ReassignableTopic(
            topic.name, [ReassignablePartition(i, each) for i, each in enumerate(topic.replicas(there))]
        )
        for topic, there in orders
    ]
    answer = connection.ask(AlterPartitionReassignmentsRequest(topics=topics), 1)
    assert {row.error_code for each in answer.responses for row in each.partitions} == {0}, answer


def cancel_all(connection: RawConnection) -> None:
    """Cancel all reassignments and wait until they have ended."""
    connection.ask(AlterPartitionReassignmentsRequest(topics=None), 1)
    wait_until(lambda: not listed(connection), lambda: "all cancellations to end", 0.2)


def move(bootstrap: str, topic: Topic, there: bool) -> float:
    """Return the seconds from the request until no reassignment is listed."""
    connection = RawConnection(bootstrap)
    begun = time.perf_counter()
    submit(connection, (topic, there))
    wait_until(lambda: not listed(connection), lambda: f"{topic.name} to have moved", 0.05)
    connection.close()
    return time.perf_counter() - begun


def _in_sync(connection: RawConnection, topic: Topic) -> bool:
    request = MetadataRequest([MetadataRequestTopic(name=topic.name)], allow_auto_topic_creation=False)
    (seen,) = connection.ask(request, 9).topics
    rows = [
        row for row in seen.partitions if row.leader_id >= 0 and set(row.isr_nodes) == set(row.replica_nodes)
    ]
    return len(rows) == topic.partitions
