"""Cost of invalid and oversized requests: `python -m bench.oversized_requests`.

Each request is sent to a new server, while another client lists one partition every 5 ms. `--only NAME`
selects the requests whose name contains NAME.
"""

import argparse
import socket
import struct
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any, NamedTuple

from bench.api_speed import SLOW_EMBEDDED
from bench.large_requests import Bystander
from protocol.messages.alter_configs_request import AlterConfigsRequest
from protocol.messages.alter_configs_request import AlterConfigsResource as ReplacedResource
from protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol.messages.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from protocol.messages.delete_topics_request import DeleteTopicsRequest
from protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.describe_log_dirs_request import DescribableLogDirTopic, DescribeLogDirsRequest
from protocol.messages.describe_topic_partitions_request import DescribeTopicPartitionsRequest, TopicRequest
from protocol.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from protocol.messages.find_coordinator_request import FindCoordinatorRequest
from protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol.messages.list_partition_reassignments_request import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from tools.processes import Reassignd
from tools.raw_connection import RawConnection, address, encode, processor_seconds

PATIENCE_SECONDS = 120
SAMPLE_SECONDS = 0.05
TOPIC = 2


class Case(NamedTuple):
    """A request and its description."""

    name: str
    request: Any
    version: int


def cases() -> Iterator[Case]:
    """Yield the oversized requests. They are built one at a time, since some have millions of rows."""
    topics = AlterPartitionReassignmentsRequest(topics=[ReassignableTopic("", ())] * 6_600_000)
    yield Case("45: 6.6 million unknown topics, 20 MB", topics, 1)
    rows = [ReassignablePartition(index, ()) for index in range(700_000)]
    yield Case("45: 700,000 partitions of an unknown topic, 4 MB", alter("no-such-topic", rows), 1)
    yield Case("45: the same, of a name of 30 KB", alter("x" * 30_000, rows[:20_000]), 1)
    indexes = ListPartitionReassignmentsTopics("foo", tuple(range(5_000_000)))
    yield Case("46: 5 million partitions, 20 MB", ListPartitionReassignmentsRequest(topics=[indexes]), 0)
    keys = FindCoordinatorRequest(coordinator_keys=[f"group-{n}" for n in range(300_000)])
    yield Case("10: 300,000 keys", keys, 4)
    described = [DescribeConfigsResource(TOPIC, f"t{n}", None) for n in range(300_000)]
    yield Case("32: 300,000 topics", DescribeConfigsRequest(described), 4)
    same = [DescribeConfigsResource(4, "1", None)] * 10_000
    yield Case("32: one broker 10,000 times", DescribeConfigsRequest(same, include_documentation=True), 4)
    replaced = [ReplacedResource(TOPIC, f"t{n}", ()) for n in range(300_000)]
    yield Case("33: 300,000 topics", AlterConfigsRequest(replaced), 2)
    changed = [AlterConfigsResource(4, "", [AlterableConfig(f"no.such.{n}", 0, "1")]) for n in range(300_000)]
    yield Case("44: 300,000 unknown configs", IncrementalAlterConfigsRequest(changed), 1)
    names = [TopicRequest(f"t{n}") for n in range(1_000_000)]
    yield Case("75: a million names", DescribeTopicPartitionsRequest(names), 0)
    asked = [MetadataRequestTopic(name=f"t{n}") for n in range(1_000_000)]
    yield Case("3: a million names", MetadataRequest(asked), 12)
    yield Case("20: a million names", DeleteTopicsRequest(topic_names=[f"t{n}" for n in range(1_000_000)]), 5)
    elected = ElectLeadersRequest(topic_partitions=[TopicPartitions("foo", tuple(range(2_000_000)))])
    yield Case("43: 2 million partitions", elected, 2)
    offsets = [ListOffsetsPartition(n) for n in range(500_000)]
    yield Case("2: 500,000 partitions", ListOffsetsRequest(topics=[ListOffsetsTopic("foo", offsets)]), 7)
    dirs = DescribeLogDirsRequest([DescribableLogDirTopic("foo", tuple(range(2_000_000)))])
    yield Case("35: 2 million partitions", dirs, 4)
    small = [CreatableTopic(f"t{n}", 0, 1) for n in range(300_000)]
    yield Case("19: 300,000 topics", CreateTopicsRequest(small), 7)
    grown = CreatePartitionsRequest([CreatePartitionsTopic("bench-0", 2**31 - 1, None)])
    yield Case("37: 2,147,483,647 partitions", grown, 3)
    yield Case("19: 2,147,483,647 partitions", CreateTopicsRequest([CreatableTopic("much", 2**31 - 1, 1)]), 7)


def allowed() -> Iterator[Case]:
    """Yield requests that are as large as the bounds allow."""
    keys = FindCoordinatorRequest(coordinator_keys=[f"group-{n}" for n in range(10_000)])
    yield Case("10: 10,000 keys", keys, 4)
    described = [DescribeConfigsResource(TOPIC, f"t{n}", None) for n in range(20_000)]
    yield Case("32: 20,000 topics", DescribeConfigsRequest(described), 4)
    replaced = [ReplacedResource(TOPIC, f"t{n}", ()) for n in range(20_000)]
    yield Case("33: 20,000 topics", AlterConfigsRequest(replaced), 2)
    configs = [AlterableConfig(f"no.such.{n}", 0, "1") for n in range(19_999)]
    changed = IncrementalAlterConfigsRequest([AlterConfigsResource(4, "", configs)])
    yield Case("44: 19,999 configs of one resource", changed, 1)
    unknown = [AlterConfigsResource(4, f"{n}", [AlterableConfig("no.such", 0, "1")]) for n in range(10_000)]
    yield Case("44: 10,000 brokers", IncrementalAlterConfigsRequest(unknown), 1)
    names = [TopicRequest(f"t{n}") for n in range(100_000)]
    yield Case("75: 100,000 names", DescribeTopicPartitionsRequest(names), 0)
    asked = [MetadataRequestTopic(name=f"t{n}") for n in range(100_000)]
    yield Case("3: 100,000 names", MetadataRequest(asked), 12)
    deleted = DeleteTopicsRequest(topic_names=[f"t{n}" for n in range(10_000)])
    yield Case("20: 10,000 names", deleted, 5)
    elected = ElectLeadersRequest(topic_partitions=[TopicPartitions("foo", tuple(range(200_000)))])
    yield Case("43: 200,000 partitions", elected, 2)
    offsets = [ListOffsetsPartition(n) for n in range(19_999)]
    yield Case("2: 19,999 partitions", ListOffsetsRequest(topics=[ListOffsetsTopic("foo", offsets)]), 7)
    dirs = DescribeLogDirsRequest([DescribableLogDirTopic("foo", tuple(range(100_000)))])
    yield Case("35: 100,000 partitions", dirs, 4)
    small = [CreatableTopic(f"t{n}", 1, 3) for n in range(10_000)]
    yield Case("19: 10,000 topics", CreateTopicsRequest(small), 7)
    yield Case("19: 10,000 partitions", CreateTopicsRequest([CreatableTopic("much", 10_000, 3)]), 7)
    wrong = [CreatableTopic(f"t{n}", 0, 3) for n in range(50_000)]
    yield Case("19: 50,000 topics without partitions", CreateTopicsRequest(wrong), 7)


def alter(topic: str, rows: list[ReassignablePartition]) -> AlterPartitionReassignmentsRequest:
    """Return a request for partitions of one topic."""
    return AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(topic, rows)])


class MemorySampler:
    """Samples the resident memory of a process in a thread. `before` and `peak` are in MB."""

    def __init__(self, pid: int) -> None:
        self._pid, self._ended = pid, Event()
        self.before = self.peak = resident_mb(pid)
        self._thread = Thread(target=self._sample)
        self._thread.start()

    def _sample(self) -> None:
        while not self._ended.wait(SAMPLE_SECONDS):
            self.peak = max(self.peak, resident_mb(self._pid))

    def end(self) -> None:
        """Stop the thread."""
        self._ended.set()
        self._thread.join()


def resident_mb(pid: int) -> float:
    """Return the resident memory of a process in MB (Linux)."""
    lines = Path(f"/proc/{pid}/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


def outcome_of(bootstrap: str, frame: bytes) -> str:
    """Send the frame; return the size of the answer, "closed" or "no answer"."""
    with socket.create_connection(address(bootstrap), timeout=PATIENCE_SECONDS) as connection:
        try:
            connection.sendall(frame)
            head = connection.recv(4)
            if not head:
                return "closed"
            left = size = struct.unpack(">i", head)[0]
            while left:
                left -= len(connection.recv(min(left, 1 << 20))) or left
        except TimeoutError:
            return "no answer"
        except OSError:
            return "closed"
    return f"{size / 1e6:.2f} MB"


def measure(case: Case, folder: Path) -> None:
    """Print one row."""
    frame = encode(case.request, case.version)
    server = Reassignd(folder, SLOW_EMBEDDED)
    server.start()
    try:
        setup = RawConnection(server.bootstrap)
        setup.ask(CreateTopicsRequest([CreatableTopic("bench-0", 1, 1)]), 7)
        setup.close()
        sampler, used = MemorySampler(server.pid), processor_seconds(server.pid)
        outcome = ""

        def send() -> float:
            nonlocal outcome
            begun = time.perf_counter()
            outcome = outcome_of(server.bootstrap, frame)
            return time.perf_counter() - begun

        seconds, waits = 0.0, [float("inf")]
        with suppress(OSError):
            seconds, waits = Bystander(server.bootstrap).during(send)
        sampler.end()
        used = processor_seconds(server.pid) - used
        print(
            f"| {case.name} | {seconds:.2f} | {used:.2f} | {sampler.peak - sampler.before:.0f}"
            f" | {max(waits):.0f} | {outcome} |",
            flush=True,
        )
    finally:
        server.kill()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.oversized_requests", description=__doc__)
    parser.add_argument("--only", default="", help="send the requests whose name contains this text")
    parser.add_argument(
        "--allowed", action="store_true", help="send requests that are as large as the bounds allow"
    )
    options = parser.parse_args()
    print(
        "| request | s | processor, s | memory, MB | others' longest wait, ms | answer"
        " |\n|---|---|---|---|---|---|"
    )
    for case in allowed() if options.allowed else cases():
        if options.only in case.name:
            with tempfile.TemporaryDirectory() as folder:
                measure(case, Path(folder))


if __name__ == "__main__":
    main()
