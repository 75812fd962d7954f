"""What a gateway costs its clients: `python -m bench.relay`, against the same Kafka, directly and through the gateway.

A small request that is relayed, the empty List that asks the upstream, and a large Fetch, whose bytes a second are also
given for each second of processor time that the gateway took.
"""

import argparse
import os
import statistics
import tempfile
from pathlib import Path
from struct import pack
from time import perf_counter

from kafka import KafkaProducer

from bench.raw import CORRELATION_ID, RawConnection, encode
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

TOPIC = "relayed"
MESSAGE = 500_000
MESSAGES = 64
SMALL = (
    ("ListGroups (passes)", ListGroupsRequest(), 4),
    ("DescribeCluster (rewritten)", DescribeClusterRequest(), 1),
    ("List (asked, then ours)", ListPartitionReassignmentsRequest(), 0),
)


def fetch(max_bytes: int) -> bytes:
    """A Fetch request of version 4, for the first partition from its beginning."""
    name = TOPIC.encode()
    partition = pack(">iqi", 0, 0, max_bytes)
    topics = pack(">ih", 1, len(name)) + name + pack(">i", 1) + partition
    body = pack(">iiiib", -1, 1000, 1, max_bytes, 0) + topics
    header = pack(">hhih", 1, 4, CORRELATION_ID, 5) + b"bench"
    return pack(">i", len(header) + len(body)) + header + body


def fill(bootstrap: str) -> None:
    """One partition of random bytes on the broker that is asked."""
    connection = RawConnection(bootstrap)
    created = CreatableTopic(TOPIC, -1, -1, [CreatableReplicaAssignment(0, (1,))], ())
    connection.ask(CreateTopicsRequest([created]), 5)
    connection.close()
    producer = KafkaProducer(bootstrap_servers=bootstrap, acks="all", max_request_size=2 * MESSAGE)
    for _ in range(MESSAGES):
        producer.send(TOPIC, value=os.urandom(MESSAGE), partition=0)
    producer.flush()
    producer.close()


def small(places: dict[str, str], rounds: int) -> None:
    """Milliseconds of small requests, taken by turns."""
    for name, request, version in SMALL:
        frame = encode(request, version)
        connections = {place: RawConnection(at) for place, at in places.items()}
        times: dict[str, list[float]] = {place: [] for place in places}
        for turn in range(rounds + 50):
            for place, connection in connections.items():
                seconds, _ = connection.timed(frame)
                if turn >= 50:
                    times[place].append(seconds * 1000)
        for place, all_ in times.items():
            p99 = statistics.quantiles(all_, n=100)[98]
            print(f"{name:30} {place:8} p50 {statistics.median(all_):6.3f} ms   p99 {p99:6.2f} ms")
            connections[place].close()


def large(places: dict[str, str], pid: int, rounds: int) -> None:
    """Megabytes a second of large answers."""
    for size in (1_000_000, 25_000_000):
        frame = fetch(size)
        for place, at in places.items():
            connection = RawConnection(at)
            connection.timed(frame)
            begun, cpu = perf_counter(), processor_seconds(pid)
            received = sum(len(connection.timed(frame)[1]) for _ in range(rounds * 25_000_000 // size))
            seconds, cpu = perf_counter() - begun, processor_seconds(pid) - cpu
            connection.close()
            text = (
                f"Fetch of {size / 1e6:4.0f} MB               {place:8} {received / seconds / 1e6:7.0f} MB/s"
            )
            used = f", {received / cpu / 1e6:.0f} MB for a second of its processor" if cpu else ""
            print(text + (used if place == "gateway" else ""))


def processor_seconds(pid: int) -> float:
    """What the process has used (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Starts Kafka and a gateway, and prints what is measured."""
    options = argparse.ArgumentParser(prog="python -m bench.relay")
    options.add_argument("--rounds", type=int, default=1000)
    rounds = options.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder, running_kafka(Spec(1, measured=True)) as kafka:
        fill(kafka.bootstrap)
        gateway = Reassignd(Path(folder), {}, 1, kafka.bootstrap)
        gateway.start()
        host, _, own = gateway.bootstrap.rpartition(":")
        places = {"direct": kafka.bootstrap, "gateway": f"{host}:{int(own) + 1}"}
        small(places, rounds)
        large(places, gateway.pid, max(rounds // 25, 4))
        gateway.stop()


if __name__ == "__main__":
    main()
