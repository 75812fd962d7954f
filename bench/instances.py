"""Take-overs between instances that share a state topic.

`python -m bench.instances [--rows 100000] [--keys 1000000]`.

Two instances run before a real cluster of three brokers. The state topic has the results of an ended plan
(`--rows`), and a plan of 300 partitions runs. Measured are the take-overs after kill -9, after SIGTERM and by
a hand-over, each until the other instance is active; the latency of orders and lists through the standby
beside the active instance; and the cold start of an instance alone with `--keys` records.
"""

import argparse
import os
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from statistics import median
from typing import NamedTuple

import uvloop

from backends.state_topic.state_rows import Meta
from bench.state_topic import SETTINGS, connected, topic_writer
from controller.model.cluster import Ending, Finished, Job, JobKind, Record
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
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from protocol.messages.metadata_request import MetadataRequest
from tools.instances import Instance
from tools.kafka_cluster import KafkaCluster, running_kafka
from tools.kafka_settings import Spec
from tools.raw_connection import RawConnection, encode

ORDERS = 200
SESSION_MS = 6000
PARTITIONS, PER_TOPIC, PER_COMMIT = 300, 100, 100_000
TOPIC = "moved"
POLL_SECONDS, TAKE_OVER_SECONDS, START_SECONDS = 0.01, 60.0, 240.0
ACTIVE = "role: active"


class Row(NamedTuple):
    """Seconds of one kind of change, with the target."""

    name: str
    seconds: list[float]
    target: float

    def show(self) -> bool:
        """Print the row; return whether the median reaches the target."""
        typical, longest = median(self.seconds), max(self.seconds)
        missed = "" if typical < self.target else " **missed**"
        print(
            f"| {self.name} | {typical:.2f} s | {longest:.2f} s | < {self.target:g} s{missed} |", flush=True
        )
        return typical < self.target


def ended_plan(rows: int) -> list[Record]:
    """Return the records of a job that has ended: one result for each partition."""
    job = Job(1, JobKind.PLAN, 1, "User:bench", None, rows, ended_ms=int(time.time() * 1000))
    results = [
        Finished(1, f"ended-{row // PER_TOPIC}", row % PER_TOPIC, (1, 2, 3), (2, 3, 1), Ending.DONE)
        for row in range(rows)
    ]
    return [job, *results]


async def fill(kafka: KafkaCluster, topic: str, rows: int) -> None:
    """Write the records of an ended plan as the first active instance."""
    async with connected(kafka, topic) as log, topic_writer(log) as (store, writer):
        identifier = RawConnection(kafka.bootstrap).ask(MetadataRequest(()), 9).cluster_id or ""
        await writer.commit([Meta(cluster_id="bench", upstream_cluster_id=identifier).encode()])
        records = ended_plan(rows)
        for start in range(0, len(records), PER_COMMIT):
            await store.commit(records[start : start + PER_COMMIT])


def order(partitions: int, replicas: tuple[int, ...] | None) -> AlterPartitionReassignmentsRequest:
    """Return an order, or a cancel, for the first partitions of the topic."""
    rows = [ReassignablePartition(number, replicas) for number in range(partitions)]
    return AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(TOPIC, rows)])


def start_plan(kafka: KafkaCluster, active: Instance) -> None:
    """Create the topic on broker 1, and order it to broker 2. A pause keeps the plan as it is."""
    post(active, "/v1/pause")
    rows = [CreatableReplicaAssignment(number, (1,)) for number in range(PARTITIONS)]
    RawConnection(kafka.bootstrap).ask(CreateTopicsRequest([CreatableTopic(TOPIC, -1, -1, rows)], 60_000), 7)
    answer = RawConnection(active.bootstrap).ask(order(PARTITIONS, (2,)), 1)
    assert {row.error_code for each in answer.responses for row in each.partitions} == {0}, answer


class Pair:
    """The instances; `active` is the one that decides."""

    def __init__(self, kafka: KafkaCluster, folder: Path, topic: str) -> None:
        more = {"gateway_session_timeout_ms": str(SESSION_MS)}
        self.instances = [
            Instance(kafka, folder, name, topic, None, None, **more) for name in ("first", "second")
        ]
        for instance in self.instances:
            instance.start(START_SECONDS)

    @property
    def active(self) -> Instance:
        """The active instance."""
        return next(each for each in self.instances if role(each) == ACTIVE)

    @property
    def standby(self) -> Instance:
        """The other one."""
        return next(each for each in self.instances if role(each) != ACTIVE)

    def change(self, end: Callable[[Instance], object]) -> float:
        """End the term of the active instance; return the seconds until the other one is active."""
        former, following = self.active, self.standby
        begun = time.perf_counter()
        end(former)
        while role(following) != ACTIVE:
            assert time.perf_counter() < begun + TAKE_OVER_SECONDS, following.log[-2000:]
            time.sleep(POLL_SECONDS)
        seconds = time.perf_counter() - begun
        if end is not hand_over:
            if former.runs:
                former.wait()
            former.start(START_SECONDS)
        # The standby must follow, and know the active instance.
        while role(former) != "role: standby":
            time.sleep(POLL_SECONDS)
        time.sleep(1)
        return seconds


def role(instance: Instance) -> str:
    """Return the line of `/readyz` that tells the role; empty if there is none."""
    connection = HTTPConnection(instance.http, timeout=30)
    try:
        connection.request("GET", "/readyz")
        lines = connection.getresponse().read().decode().splitlines()
    except (OSError, HTTPException):
        return ""
    finally:
        connection.close()
    return lines[1] if len(lines) > 1 else ""


def terminate(instance: Instance) -> None:
    """Send SIGTERM without waiting for the end."""
    os.kill(instance.pid, 15)


def hand_over(instance: Instance) -> None:
    """Ask the active instance to hand over."""
    request = urllib.request.Request(
        f"http://{instance.http}/v1/instances/hand-over", data=b"", method="POST"
    )
    urllib.request.urlopen(request, timeout=30).read()


def post(instance: Instance, path: str) -> None:
    """Send a request without a body."""
    request = urllib.request.Request(f"http://{instance.http}{path}", data=b"", method="POST")
    urllib.request.urlopen(request, timeout=30).read()


def take_overs(pair: Pair, rows: int, rounds: int) -> Iterator[bool]:
    """Measure each kind of change `rounds` times."""
    print(f"\nsession {SESSION_MS / 1000:g} s, {rows:,} rows, {PARTITIONS} partitions paused\n")
    print("| change | median | longest | wanted |\n|---|---|---|---|")
    for name, end, target in (
        ("SIGTERM", terminate, 0.5),
        ("hand-over", hand_over, 0.5),
        ("kill -9", Instance.kill, SESSION_MS / 1000 + 1),
    ):
        yield Row(name, [pair.change(end) for _ in range(rounds)], target).show()


def latencies(pair: Pair) -> None:
    """Print the medians of lists, orders and cancels through both instances, which are asked in turn."""
    frames = {
        "list, all": encode(ListPartitionReassignmentsRequest(), 0),
        "order of one partition": encode(order(1, (3,)), 1),
        "cancel of one partition": encode(order(1, None), 1),
    }
    connections = [RawConnection(each.bootstrap) for each in (pair.active, pair.standby)]
    for connection in connections:
        answer = connection.ask(order(1, (3,)), 1)
        assert [row.error_code for row in answer.responses[0].partitions] == [0], answer
    print("\n| request | active | standby | ratio |\n|---|---|---|---|")
    times: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in frames}
    for _ in range(ORDERS):
        for place, connection in enumerate(connections):
            for name, frame in frames.items():
                times[name][place].append(connection.timed(frame)[0] * 1000)
    for name, (here, there) in times.items():
        own, other = median(here), median(there)
        print(f"| {name} | {own:.2f} ms | {other:.2f} ms | {other / own:.2f} |", flush=True)


def cold_start(kafka: KafkaCluster, folder: Path, keys: int) -> bool:
    """Measure the start of an instance alone."""
    topic = "__reassignd_cold"
    uvloop.run(fill(kafka, topic, keys))
    instance = Instance(kafka, folder, "cold", topic)
    begun = time.perf_counter()
    line = instance.start(START_SECONDS)
    seconds = time.perf_counter() - begun
    assert line.rstrip().endswith("active"), line
    instance.kill()
    return Row(f"cold start with {keys:,} records", [seconds], 30.0).show()


@contextmanager
def pair_of(kafka: KafkaCluster, folder: Path, topic: str) -> Iterator[Pair]:
    """Run two instances, and end them."""
    pair = Pair(kafka, folder, topic)
    try:
        yield pair
    finally:
        for instance in pair.instances:
            instance.kill()


def measure(kafka: KafkaCluster, folder: Path, rows: int, keys: int, rounds: int) -> Iterator[bool]:
    """Run all measurements."""
    topic = "__reassignd_bench"
    if rows:
        uvloop.run(fill(kafka, topic, rows))
    with pair_of(kafka, folder, topic) as pair:
        start_plan(kafka, pair.active)
        latencies(pair)
        yield from take_overs(pair, rows, rounds)
    if keys:
        yield cold_start(kafka, folder, keys)


def main() -> int:
    """Start the cluster and measure. Return 1 if a target is missed."""
    options = argparse.ArgumentParser(prog="python -m bench.instances")
    options.add_argument("--rows", type=int, default=100_000)
    options.add_argument("--keys", type=int, default=1_000_000)
    options.add_argument("--rounds", type=int, default=5)
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-instances-") as name:
        print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        with running_kafka(Spec(3, "4.1", apart=True, measured=True, settings=SETTINGS)) as kafka:
            passed = list(measure(kafka, Path(name), arguments.rows, arguments.keys, arguments.rounds))
        print(f"load {os.getloadavg()[0]:.1f} at the end")
    return int(not all(passed))


if __name__ == "__main__":
    raise SystemExit(main())
