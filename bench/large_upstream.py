"""A large simulated upstream, and a gateway in front of it: `python -m bench.large_upstream`.

The upstream is a process of its own, which only answers: 500 brokers, 200,000 partitions with three replicas
in topics of 100, and moves that never end. Measured are the first poll of everything, the memory per
partition, and the share of a core that the gateway takes while 10,000 partitions move.
"""

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple, cast

from bench.queued_partitions import resident_bytes
from common.garbage_collector import collect_young_only
from protocol.apis import ApiKey
from protocol.codec.wire import codec
from protocol.frames import (
    Connection,
    RequestFrame,
    decode_request,
    encode_response,
    frame_response,
)
from protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol.messages.alter_partition_reassignments_response import (
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from protocol.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from protocol.messages.describe_cluster_response import DescribeClusterBroker, DescribeClusterResponse
from protocol.messages.describe_configs_response import DescribeConfigsResponse
from protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from protocol.messages.describe_log_dirs_response import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from protocol.messages.list_partition_reassignments_response import (
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from protocol.messages.metadata_request import MetadataRequest
from protocol.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from tools.ports import free_ports
from tools.processes import Reassignd
from tools.raw_connection import RawConnection, encode, processor_seconds

HOST, CLUSTER = "127.0.0.1", "simulated"
PER_TOPIC = 100
VERSIONS = {
    ApiKey.METADATA: (0, 12),
    ApiKey.DESCRIBE_CONFIGS: (0, 4),
    ApiKey.DESCRIBE_LOG_DIRS: (0, 4),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: (0, 0),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: (0, 0),
    ApiKey.DESCRIBE_CLUSTER: (0, 2),
    ApiKey.API_VERSIONS: (0, 3),
}
BYTES = 1_000_000
READY_SECONDS = 300
SETTLE_SECONDS, MEASURED_SECONDS = 15, 40


class Size(NamedTuple):
    """The size of the upstream."""

    brokers: int
    partitions: int
    moving: int

    def replicas(self, number: int) -> tuple[int, int, int]:
        """Return the replicas of the partition with this number, counted over all topics."""
        first = number % self.brokers
        return first + 1, (first + 1) % self.brokers + 1, (first + 2) % self.brokers + 1


def topic_name(topic: int) -> str:
    """Return the name of a topic."""
    return f"topic-{topic:05}"


class SimulatedUpstream:
    """Answers the requests of a gateway. A reassignment that is requested is listed from then on."""

    def __init__(self, size: Size, first_port: int) -> None:
        self.size = size
        self._ports = {broker: first_port + broker - 1 for broker in range(1, size.brokers + 1)}
        self._topics = {
            topic_name(number // PER_TOPIC): self._topic(number)
            for number in range(0, size.partitions, PER_TOPIC)
        }
        self._moves: dict[str, dict[int, OngoingPartitionReassignment]] = {}
        self._kept: dict[tuple[Hashable, int], bytes] = {}
        """Encoded answers."""

    def answer(self, frame: RequestFrame, broker: int) -> bytes:
        """Return the frame that answers the request."""
        if frame.api_key == ApiKey.METADATA:
            names = [topic.name for topic in decode_request(frame, MetadataRequest).topics or ()]
            known = [self._topics[name] for name in names if name in self._topics]
            whole = decode_request(frame, MetadataRequest).topics is None
            return self._kept_answer(
                frame, ("metadata", tuple(names), whole), lambda: self._metadata(known, whole)
            )
        if frame.api_key == ApiKey.LIST_PARTITION_REASSIGNMENTS:
            return self._kept_answer(frame, "moves", self._listing)
        if frame.api_key == ApiKey.DESCRIBE_CLUSTER:
            return self._kept_answer(frame, "cluster", self._cluster)
        if frame.api_key == ApiKey.ALTER_PARTITION_REASSIGNMENTS:
            return encode_response(
                frame, self._alter(decode_request(frame, AlterPartitionReassignmentsRequest))
            )
        if frame.api_key == ApiKey.DESCRIBE_LOG_DIRS:
            return encode_response(
                frame, self._log_dirs(decode_request(frame, DescribeLogDirsRequest), broker)
            )
        if frame.api_key == ApiKey.DESCRIBE_CONFIGS:
            return encode_response(frame, DescribeConfigsResponse())
        ranges = [ApiVersion(key, *versions) for key, versions in VERSIONS.items()]
        return encode_response(frame, ApiVersionsResponse(api_keys=ranges))

    def _kept_answer(self, frame: RequestFrame, key: Hashable, make: Callable[[], NamedTuple]) -> bytes:
        place = key, frame.api_version
        if place not in self._kept:
            response = make()
            self._kept[place] = codec(type(response), frame.api_version).encode(response)
        return frame_response(frame, self._kept[place])

    def _topic(self, first: int) -> MetadataResponseTopic:
        rows = []
        for number in range(PER_TOPIC):
            replicas = self.size.replicas(first + number)
            rows.append(MetadataResponsePartition(0, number, replicas[0], 5, replicas, replicas))
        return MetadataResponseTopic(0, topic_name(first // PER_TOPIC), (first + 1).to_bytes(16), False, rows)

    def _metadata(self, topics: Sequence[MetadataResponseTopic], whole: bool) -> MetadataResponse:
        brokers = [MetadataResponseBroker(each, HOST, port) for each, port in self._ports.items()]
        return MetadataResponse(0, brokers, CLUSTER, 1, list(self._topics.values()) if whole else topics)

    def _cluster(self) -> DescribeClusterResponse:
        brokers = [DescribeClusterBroker(each, HOST, port) for each, port in self._ports.items()]
        return DescribeClusterResponse(cluster_id=CLUSTER, controller_id=1, brokers=brokers)

    def _listing(self) -> ListPartitionReassignmentsResponse:
        topics = [OngoingTopicReassignment(name, list(rows.values())) for name, rows in self._moves.items()]
        return ListPartitionReassignmentsResponse(error_message=None, topics=topics)

    def _alter(self, request: AlterPartitionReassignmentsRequest) -> AlterPartitionReassignmentsResponse:
        self._kept = {key: body for key, body in self._kept.items() if key[0] != "moves"}
        answers = []
        for topic in request.topics or ():
            for number, target in topic.partitions or ():
                if target is not None:
                    before = self._topics[topic.name].partitions[number].replica_nodes
                    adding = tuple(each for each in target if each not in before)
                    removing = tuple(each for each in before if each not in target)
                    row = OngoingPartitionReassignment(number, (*target, *removing), adding, removing)
                    self._moves.setdefault(topic.name, {})[number] = row
            rows = [ReassignablePartitionResponse(number) for number, _ in topic.partitions or ()]
            answers.append(ReassignableTopicResponse(topic.name, rows))
        return AlterPartitionReassignmentsResponse(responses=answers)

    def _log_dirs(self, request: DescribeLogDirsRequest, broker: int) -> DescribeLogDirsResponse:
        topics = []
        for topic in request.topics or ():
            held = self._topics[topic.topic].partitions
            rows = [
                DescribeLogDirsPartition(number, BYTES)
                for number in topic.partitions
                if broker in held[number].replica_nodes
            ]
            topics.append(DescribeLogDirsTopic(topic.topic, rows))
        result = DescribeLogDirsResult(0, "/data", topics, BYTES**2, BYTES**2 // 2)
        return DescribeLogDirsResponse(results=[result])


class _Session(asyncio.Protocol):
    """A connection of the gateway to a broker."""

    _transport: asyncio.Transport

    def __init__(self, upstream: SimulatedUpstream, broker: int) -> None:
        self._upstream, self._broker, self._connection = upstream, broker, Connection()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        for frame in self._connection.receive_data(data):
            answer = self._upstream.answer(frame, self._broker)
            self._transport.write(self._connection.send_encoded(frame, answer))


async def serve(size: Size, first_port: int) -> None:
    """Serve the upstream until the process is killed."""
    upstream, loop = SimulatedUpstream(size, first_port), asyncio.get_running_loop()
    for broker in range(1, size.brokers + 1):
        await loop.create_server(partial(_Session, upstream, broker), HOST, first_port + broker - 1)
    print("ready", flush=True)
    await asyncio.Event().wait()


@contextmanager
def running_upstream(size: Size) -> Iterator[str]:
    """Run the upstream in its own process. Yield its bootstrap address."""
    port = free_ports(size.brokers)
    command = [sys.executable, "-m", "bench.large_upstream", "--serve", str(port)]
    command += ["--brokers", str(size.brokers), "--partitions", str(size.partitions)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield f"{HOST}:{port}"
    finally:
        process.kill()
        process.wait()


def started(size: Size, folder: Path, bootstrap: str) -> tuple[Reassignd, float, float]:
    """Start a gateway. Return it, the seconds until it is ready, and its CPU seconds until then."""
    ports = {"gateway.ports": str(size.brokers), "log.level": "WARN"}
    gateway = Reassignd(folder, ports, size.brokers, bootstrap)
    begun = time.perf_counter()
    gateway.start(READY_SECONDS)
    return gateway, time.perf_counter() - begun, processor_seconds(gateway.pid)


def plan(size: Size) -> bytes:
    """Return a request that moves one replica of each of the first `size.moving` partitions."""
    topics = []
    for topic in range(size.moving // PER_TOPIC):
        rows = []
        for number in range(PER_TOPIC):
            first, second, third = size.replicas(topic * PER_TOPIC + number)
            rows.append(ReassignablePartition(number, (first, second, third % size.brokers + 1)))
        topics.append(ReassignableTopic(topic_name(topic), rows))
    return encode(AlterPartitionReassignmentsRequest(topics=topics), 0)


def listed(connection: RawConnection) -> int:
    """Return the number of partitions that the gateway has started."""
    answer = connection.ask(ListPartitionReassignmentsRequest(), 0)
    return sum(len(topic.partitions) for topic in answer.current_batch or ())


def measure(size: Size) -> None:
    """Print one row per number."""
    small = Size(size.brokers, PER_TOPIC, 0)
    with tempfile.TemporaryDirectory() as folder, running_upstream(small) as bootstrap:
        gateway, empty_seconds, empty_cpu = started(small, Path(folder), bootstrap)
        time.sleep(SETTLE_SECONDS)
        empty = resident_bytes(gateway.pid)
        gateway.kill()
    with tempfile.TemporaryDirectory() as folder, running_upstream(size) as bootstrap:
        gateway, ready, cpu = started(size, Path(folder), bootstrap)
        show("start until ready, s", ready)
        show("the same with 100 partitions, s", empty_seconds)
        show("first poll of everything, CPU s", cpu - empty_cpu, 5)
        time.sleep(SETTLE_SECONDS)
        show("bytes of memory per partition", (resident_bytes(gateway.pid) - empty) / size.partitions, 1024)
        show("% of a core, nothing moves", busy(gateway))
        connection = RawConnection(gateway.bootstrap)
        taken, _ = connection.timed(plan(size))
        show("submit, s", taken)
        begun = time.perf_counter()
        while listed(connection) < size.moving:
            time.sleep(1)
        show("until all move, s", time.perf_counter() - begun)
        time.sleep(SETTLE_SECONDS)
        show(f"% of a core, {size.moving:,} move", busy(gateway), 5)
        gateway.kill()


def busy(gateway: Reassignd) -> float:
    """Return the percentage of a core that the gateway uses."""
    before, begun = processor_seconds(gateway.pid), time.perf_counter()
    time.sleep(MEASURED_SECONDS)
    return 100 * (processor_seconds(gateway.pid) - before) / (time.perf_counter() - begun)


def show(what: str, value: float, most: float | None = None) -> None:
    """Print a row."""
    print(f"| {what} | {value:,.3g} | {'' if most is None else f'≤ {most:g}'} |", flush=True)


def main() -> None:
    """Print the table, or serve the upstream."""
    parser = argparse.ArgumentParser(prog="python -m bench.large_upstream", description=__doc__)
    parser.add_argument("--brokers", type=int, default=500)
    parser.add_argument("--partitions", type=int, default=200_000, help="a multiple of 100")
    parser.add_argument("--moving", type=int, default=10_000, help="a multiple of 100")
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    size = Size(options.brokers, options.partitions, options.moving)
    if options.serve is not None:
        collect_young_only()
        asyncio.run(serve(size, options.serve))
        return
    print("| what | measured | wanted |\n|---|---|---|")
    measure(size)


if __name__ == "__main__":
    main()
