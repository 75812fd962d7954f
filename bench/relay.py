"""Cost of relaying: requests to one Kafka, directly and through the gateway: `python -m bench.relay`.

The requests are a small relayed one, one whose answer is rewritten, a List, and a large Fetch. The throughput
of Fetch is also given per second of the gateway's CPU time. `bench.gateway` includes these measurements.
"""

import statistics
import tempfile
from collections.abc import Mapping
from pathlib import Path
from struct import pack
from time import perf_counter
from typing import NamedTuple

from kafka import KafkaProducer

from protocol.codec.schema import Request
from protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from protocol.messages.describe_cluster_request import DescribeClusterRequest
from protocol.messages.list_groups_request import ListGroupsRequest
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from tools.kafka_cluster import running_kafka
from tools.kafka_settings import Spec
from tools.processes import Reassignd
from tools.raw_connection import CORRELATION_ID, RawConnection, encode, processor_seconds

TOPIC = "relayed"
MESSAGE = 500_000
MESSAGES = 64
WARM_UP = 50
FETCHED = 1_500_000_000
"""Approximate number of bytes received in each measurement of large answers."""
LARGE = (1_000_000, 5_000_000)


class Small(NamedTuple):
    """A small request and its name in the table."""

    name: str
    request: Request[NamedTuple]
    version: int


SMALL = (
    Small("ListGroups (passes)", ListGroupsRequest(), 4),
    Small("DescribeCluster (rewritten)", DescribeClusterRequest(), 1),
    Small("List (asked, then ours)", ListPartitionReassignmentsRequest(), 0),
)


class Times(NamedTuple):
    """Latencies in milliseconds."""

    p50: float
    p99: float


class Flow(NamedTuple):
    """Bytes per second, and bytes per second of the gateway's CPU time."""

    rate: float
    per_core: float


def small(servers: Mapping[str, str], kind: Small, rounds: int) -> dict[str, Times]:
    """Return the latencies by server name. Each round sends one request to each of the `servers`."""
    frame = encode(kind.request, kind.version)
    connections = {name: RawConnection(bootstrap) for name, bootstrap in servers.items()}
    times: dict[str, list[float]] = {name: [] for name in servers}
    for number in range(rounds + WARM_UP):
        for name, connection in connections.items():
            seconds, _ = connection.timed(frame)
            if number >= WARM_UP:
                times[name].append(seconds * 1000)
    for connection in connections.values():
        connection.close()
    return {
        name: Times(statistics.median(samples), statistics.quantiles(samples, n=100)[98])
        for name, samples in times.items()
    }


def large(bootstrap: str, topic: str, size: int, pid: int) -> Flow:
    """Fetch `size` bytes of the topic's first partition repeatedly. `pid` is the gateway's process."""
    frame = fetch(topic, size)
    connection = RawConnection(bootstrap)
    connection.timed(frame)
    begun, cpu = perf_counter(), processor_seconds(pid)
    received = sum(len(connection.timed(frame)[1]) for _ in range(FETCHED // size))
    seconds, cpu = perf_counter() - begun, processor_seconds(pid) - cpu
    connection.close()
    assert received > FETCHED / 2, "the answers are smaller than requested"
    return Flow(received / seconds, received / max(cpu, 0.01))


def fetch(topic: str, max_bytes: int) -> bytes:
    """Return a Fetch request of version 4 for the first partition, from offset 0."""
    name = topic.encode()
    partition = pack(">iqi", 0, 0, max_bytes)
    topics = pack(">ih", 1, len(name)) + name + pack(">i", 1) + partition
    body = pack(">iiiib", -1, 1000, 1, max_bytes, 0) + topics
    header = pack(">hhih", 1, 4, CORRELATION_ID, 5) + b"bench"
    return pack(">i", len(header) + len(body)) + header + body


def _fill(bootstrap: str) -> None:
    """Create a topic with one partition of zeros."""
    connection = RawConnection(bootstrap)
    created = CreatableTopic(TOPIC, -1, -1, [CreatableReplicaAssignment(0, (1,))], ())
    connection.ask(CreateTopicsRequest([created]), 5)
    connection.close()
    producer = KafkaProducer(bootstrap_servers=bootstrap, acks="all", max_request_size=2 * MESSAGE)
    for _ in range(MESSAGES):
        producer.send(TOPIC, value=bytes(MESSAGE), partition=0)
    producer.flush()
    producer.close()


def main() -> None:
    """Start Kafka and a gateway, and print the table."""
    print("| what | gateway | direct | more | wanted |\n|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder, running_kafka(Spec(1, measured=True)) as kafka:
        _fill(kafka.bootstrap)
        gateway = Reassignd(Path(folder), {}, 1, kafka.bootstrap)
        gateway.start()
        host, _, own = gateway.bootstrap.rpartition(":")
        servers = {"direct": kafka.bootstrap, "gateway": f"{host}:{int(own) + 1}"}
        for kind in SMALL:
            times = small(servers, kind, 2_000)
            direct, relayed = times["direct"], times["gateway"]
            more = f"{relayed.p50 - direct.p50:.2f} | ≤ 1 |"
            print(f"| {kind.name}, ms | {relayed.p50:.2f}, p99 {relayed.p99:.2f} | {direct.p50:.2f} | {more}")
        for size in (1_000_000, 25_000_000):
            flow, straight = (
                large(servers[name], TOPIC, size, gateway.pid) for name in ("gateway", "direct")
            )
            cpu = f"{flow.per_core / 1e6:,.0f} MB for a second of CPU"
            rates = f"{flow.rate / 1e6:,.0f} MB/s, {cpu} | {straight.rate / 1e6:,.0f} MB/s"
            print(f"| Fetch of {size / 1e6:.0f} MB | {rates} | | |", flush=True)
        gateway.stop()


if __name__ == "__main__":
    main()
