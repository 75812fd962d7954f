"""Requests with 100,000 partitions and more, and the latency of another client meanwhile.

`python -m bench.large_requests`.
"""

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from time import perf_counter, sleep

from bench.api_speed import SLOW_EMBEDDED, summary
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
from protocol.messages.list_partition_reassignments_request import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from tools.processes import Reassignd
from tools.raw_connection import CLIENT_ID, RawConnection, encode, processor_seconds

WITHOUT_SPARK = {"planner.spark.min.partitions": "0", "log.level": "WARN"}
"""Spark plans large jobs on all cores, which would be measured too."""

PARTITIONS_PER_TOPIC = 1_000
TOPICS_PER_REQUEST = 10
SAMPLE_SECONDS = 0.5
NEARLY_IDLE, IDLE_SECONDS = 0.1, 120


def alter(topics: int, replicas: tuple[int, ...] | None, first: int = 0, client_id: str = CLIENT_ID) -> bytes:
    """Return an encoded order of `replicas` for all partitions of `topics` topics from `first` on."""
    rows = [ReassignablePartition(index, replicas) for index in range(PARTITIONS_PER_TOPIC)]
    named = [ReassignableTopic(f"bench-{topic}", rows) for topic in range(first, first + topics)]
    return encode(AlterPartitionReassignmentsRequest(topics=named), 1, client_id)


def create(connection: RawConnection, topics: int) -> None:
    """Create the topics, with all replicas on brokers 1 and 2."""
    rows = [CreatableReplicaAssignment(index, (1, 2)) for index in range(PARTITIONS_PER_TOPIC)]
    for begin in range(0, topics, TOPICS_PER_REQUEST):
        names = [f"bench-{topic}" for topic in range(begin, min(topics, begin + TOPICS_PER_REQUEST))]
        request = CreateTopicsRequest([CreatableTopic(name, -1, -1, rows) for name in names])
        answer = connection.ask(request, 7)
        assert {topic.error_code for topic in answer.topics} == {0}


class Bystander:
    """Another client, which lists one partition every 5 ms and records the latencies in ms."""

    def __init__(self, bootstrap: str) -> None:
        one = ListPartitionReassignmentsTopics("bench-0", (0,))
        self._frame = encode(ListPartitionReassignmentsRequest(topics=(one,)), 0)
        self._bootstrap = bootstrap

    def during(self, work: Callable[[], float]) -> tuple[float, list[float]]:
        """Call `work`; return its result, and the latencies during the call."""
        ended, waits = Event(), [0.0, 0.0]  # A call may end before the first request.

        def ask() -> None:
            connection = RawConnection(self._bootstrap)
            while not ended.wait(0.005):
                waits.append(connection.timed(self._frame)[0] * 1000)
            connection.close()

        asking = Thread(target=ask)
        asking.start()
        try:
            return work(), waits
        finally:
            ended.set()
            asking.join()


def measure(partitions: int, data_dir: Path) -> None:
    """Print one row per operation."""
    topics = partitions // PARTITIONS_PER_TOPIC
    server = Reassignd(data_dir, {**SLOW_EMBEDDED, **WITHOUT_SPARK})
    begun = perf_counter()
    server.start()
    print(f"| ready | | {(perf_counter() - begun) * 1000:.0f} | | ≤ 1000 ms |", flush=True)
    try:
        connection = RawConnection(server.bootstrap)
        create(connection, topics)
        wait_until_idle(server.pid)
        bystander = Bystander(server.bootstrap)
        limit = f"≤ {partitions / 50_000:.0f} s; others' p99 ≤ 100 ms"
        listing = encode(ListPartitionReassignmentsRequest(), 0)
        steps = (
            ("alter", alter(topics, (1, 3)), limit),
            ("same target again", alter(topics, (1, 3)), ""),
            ("list all", listing, "others' p99 ≤ 100 ms"),
            ("list all, unchanged", listing, "≤ 50 ms for 100,000"),
        )
        for name, frame, wanted in steps:
            if name == "list all, unchanged":
                wait_until_unchanged(connection, listing)
            show(name, partitions, bystander, connection, frame, wanted)
        wait_until_idle(server.pid)
        show("cancel", partitions, bystander, connection, alter(topics, None), "")
    finally:
        server.kill()


def wait_until_unchanged(connection: RawConnection, listing: bytes) -> None:
    """Wait until two consecutive listings are equal: all steps that can start have started."""
    previous, latest = b"", connection.timed(listing)[1]
    while latest[8:] != previous[8:]:
        previous, latest = latest, connection.timed(listing)[1]


def wait_until_idle(pid: int) -> None:
    """Wait until the process is nearly idle: its brokers have the commands of earlier requests.

    It waits for IDLE_SECONDS at most.
    """
    deadline = perf_counter() + IDLE_SECONDS
    while busy_share(pid) > NEARLY_IDLE and perf_counter() < deadline:
        pass


def busy_share(pid: int) -> float:
    """Return the share of one core that the process uses, over SAMPLE_SECONDS."""
    before = processor_seconds(pid)
    sleep(SAMPLE_SECONDS)
    return (processor_seconds(pid) - before) / SAMPLE_SECONDS


def show(
    name: str, partitions: int, bystander: Bystander, connection: RawConnection, frame: bytes, wanted: str
) -> None:
    """Send the frame once; print its latency and those of the other client."""
    seconds, waits = bystander.during(lambda: connection.timed(frame)[0])
    others = summary(waits)
    print(
        f"| {name} | {partitions:,} | {seconds * 1000:,.0f} | {others.median:.1f}, {others.p99:.1f}", end=""
    )
    print(f" | {wanted} |", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.large_requests", description=__doc__)
    parser.add_argument("--sizes", default="100000,1000000", help="partitions per request")
    options = parser.parse_args()
    print("| request | partitions | ms | others: median, p99 ms | wanted |\n|---|---|---|---|---|")
    for size in options.sizes.split(","):
        with tempfile.TemporaryDirectory() as folder:
            measure(int(size), Path(folder))


if __name__ == "__main__":
    main()
