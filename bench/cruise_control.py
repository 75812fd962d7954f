"""What Cruise Control's API costs: `python -m bench.cruise_control [--partitions 200000]`.

An embedded cluster with so many partitions answers `state` and `user_tasks`, idle and with an open job of
all partitions, and lists them by `partition_load` and `kafka_cluster_state`. A second one with 10,000
partitions on 30 brokers makes a proposal. Times are medians of the clock and means of the server's CPU;
memory is the peak above that of the idle server.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import perf_counter

import httpx

from bench.large_requests import PARTITIONS_PER_TOPIC, alter, create
from bench.queued_partitions import FEW, Subject, forget_peak, resident_bytes, show
from controller.model.tasks import job_client_id
from protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from tools.raw_connection import processor_seconds

PREFIX = "/kafkacruisecontrol"
REPEATS = 40
ANSWER_MS, LISTED_MB, PROPOSAL_SECONDS = 50.0, 64.0, 3.0
"""What is wanted."""
SETTINGS = {"cruisecontrol.api": "on"}
CLIENT = httpx.Client(timeout=600)
"""A new one for each request would cost more than the answer."""
PROPOSED = 10_000
"""Partitions of the cluster of 30 brokers."""


def ask(subject: Subject, path: str) -> int:
    """Send a GET request; return the bytes of the answer, which is not kept."""
    size = 0
    with CLIENT.stream("GET", f"http://{subject.server.http}{PREFIX}/{path}") as answer:
        assert answer.status_code == 200, answer.read()
        for piece in answer.iter_raw():
            size += len(piece)
    return size


def answered(subject: Subject, path: str) -> tuple[float, float]:
    """Return the milliseconds of an answer: the median by the clock, and the mean of the server's CPU."""
    times = []
    before = processor_seconds(subject.server.pid)
    for _ in range(REPEATS):
        begun = perf_counter()
        ask(subject, path)
        times.append(1000 * (perf_counter() - begun))
    return median(times), 1000 * (processor_seconds(subject.server.pid) - before) / REPEATS


def answers(subject: Subject, partitions: int, when: str) -> Iterator[bool]:
    """Measure what clients poll."""
    for path in ("state", "state?substates=executor", "user_tasks"):
        ask(subject, path)
        clock, processor = answered(subject, path)
        show(f"{path}, {when}: ms of CPU", partitions, processor)
        yield show(f"{path}, {when}: ms", partitions, clock, ANSWER_MS)


def lists(subject: Subject, partitions: int) -> Iterator[bool]:
    """Measure what has a row for each partition."""
    pid = subject.server.pid
    for path in ("load?populate_disk_info=true", "partition_load", "kafka_cluster_state?verbose=true"):
        ask(subject, path)
        idle = resident_bytes(pid)
        forget_peak(pid)
        before, begun = processor_seconds(pid), perf_counter()
        size = ask(subject, path)
        show(f"{path}: MB", partitions, size / 1e6)
        show(f"{path}: s", partitions, perf_counter() - begun)
        show(f"{path}: s of CPU", partitions, processor_seconds(pid) - before)
        above = (resident_bytes(pid, "VmHWM") - idle) / 1e6
        yield show(f"{path}: MB of memory above idle, at most", partitions, above, LISTED_MB)


def measure_large(partitions: int, folder: Path) -> Iterator[bool]:
    """Measure the cluster with many partitions."""
    topics = partitions // PARTITIONS_PER_TOPIC
    subject = Subject(folder, SETTINGS)
    subject.start()
    try:
        create(subject.connection, topics)
        subject.limit(FEW)
        subject.wait_until_idle()
        yield from answers(subject, partitions, "idle")
        yield from lists(subject, partitions)
        # As an execution of this API sends it.
        subject.connection.timed(alter(topics, (1, 3), client_id=job_client_id("bench")))
        subject.wait_until_idle()
        yield from answers(subject, partitions, "one job")
    finally:
        subject.server.kill()


def measure_proposal(folder: Path) -> Iterator[bool]:
    """Measure a proposal that gives replicas to three new ones of thirty brokers."""
    subject = Subject(folder, SETTINGS, 30)
    subject.start()
    try:
        for topic in range(PROPOSED // PARTITIONS_PER_TOPIC):
            rows = [
                CreatableReplicaAssignment(index, tuple((topic + index + step) % 27 + 1 for step in range(3)))
                for index in range(PARTITIONS_PER_TOPIC)
            ]
            request = CreateTopicsRequest([CreatableTopic(f"bench-{topic}", -1, -1, rows)])
            [created] = subject.connection.ask(request, 7).topics
            assert created.error_code == 0, created.error_message
        subject.wait_until_idle()
        seconds, computing = [], []
        for repeat in range(3):
            begun = perf_counter()
            answer = CLIENT.post(f"http://{subject.server.http}{PREFIX}/rebalance?json=true&reason={repeat}")
            while answer.status_code == 202:
                answer = CLIENT.send(answer.request)
            seconds.append(perf_counter() - begun)
            assert answer.status_code == 200, answer.text
            result = answer.json()
            assert result["summary"]["numReplicaMovements"] > 0
            computing.append(result["goalSummary"][0]["optimizationTimeMs"] / 1000)
        show("of which its proposal is computed: s", PROPOSED, median(computing))
        what = "a rebalance of 30 brokers, three of them new: s"
        yield show(what, PROPOSED, median(seconds), PROPOSAL_SECONDS)
    finally:
        subject.server.kill()


def main() -> int:
    """Print the table. Return 1 if a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.cruise_control", description=__doc__)
    parser.add_argument("--partitions", type=int, default=200_000, help="a multiple of 1,000")
    options = parser.parse_args()
    print("| what | partitions | measured | wanted |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        passed = list(measure_proposal(Path(folder) / "small"))
        passed += measure_large(options.partitions, Path(folder) / "large")
    return int(not all(passed))


if __name__ == "__main__":
    sys.exit(main())
