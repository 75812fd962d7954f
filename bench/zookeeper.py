"""reassignd's controller compared with Kafka 3.9's, with the same brokers and ZooKeeper.

`python -m bench.zookeeper`.

Measured are a move of 200 partitions without limits (API 45), fail-over after kill -9, the start of a
controller with 10,000 partitions in ZooKeeper, and memory. The brokers are 3.9.1 at inter-broker protocol
2.4-IV0, with the JVM options of Kafka's script.
"""

import argparse
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import median

from kafka import KafkaProducer

from bench.fake_brokers import FakeBrokers
from bench.takeovers import Takeover, TakeoverRun, resident_mb, start, started_run
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
from tools.raw_connection import RawConnection
from tools.waiting import wait_until
from tools.zookeeper_cluster import ZookeeperCluster, running_cluster
from tools.zookeeper_controller import ControllerProcess

TOPIC, OURS = "bench", 1000
MOVING, RECORDS, RECORD_BYTES = 200, 10, 10_000
MANY, FEW = 10_000, 200
FULL_SPEED = {
    "replica.fetch.max.bytes": "1048576",
    "replica.fetch.response.max.bytes": "10485760",
    "replica.fetch.wait.max.ms": "500",
    "replica.lag.time.max.ms": "30000",
}
HERE, THERE = ((1, 2), (2, 1)), ((3, 4), (4, 3))


def row(what: str, ours: Sequence[float], kafkas: Sequence[float], wanted: str, unit: str = "s") -> None:
    """Print a row of the table: medians, with minimum and maximum in brackets."""

    def shown(values: Sequence[float]) -> str:
        digits = 0 if unit == "MB" else 2
        ends = f" ({min(values):.{digits}f}–{max(values):.{digits}f})" if len(values) > 1 else ""
        return f"{median(values):.{digits}f} {unit}{ends}"

    ratio = median(ours) / median(kafkas)
    print(f"| {what} | {shown(ours)} | {shown(kafkas)} | {ratio:.2f} | {wanted} |", flush=True)


# ---- the move ---------------------------------------------------------------------------------------------


@contextmanager
def moving_cluster() -> Iterator[tuple[ZookeeperCluster, FakeBrokers, ControllerProcess]]:
    """Start four brokers, and record their controller's elections."""
    with (
        running_cluster(4, measured=True, settings=FULL_SPEED) as cluster,
        FakeBrokers(cluster.zookeeper, ()) as fake_brokers,
    ):
        ours = ControllerProcess(cluster, OURS)
        wait_until(lambda: fake_brokers.terms, lambda: "a controller")
        try:
            yield cluster, fake_brokers, ours
        finally:
            if ours.runs:
                ours.kill()


def measure_move(rounds: int) -> None:
    """Move the partitions and back, with each controller in turn. The first round of each is not counted."""
    seconds: dict[str, list[float]] = {"ours": [], "kafka": []}
    with moving_cluster() as (cluster, fake_brokers, ours):
        fill(cluster, f"127.0.0.1:{cluster.port(fake_brokers.terms[-1].controller)}")
        for number in range(rounds + 1):
            for name in seconds:
                address = change_controller(name == "ours", cluster, fake_brokers, ours)
                durations = [move(address, targets) for targets in (THERE, HERE)]
                print(f"{name}: {durations}", file=sys.stderr, flush=True)
                seconds[name] += durations if number else []
    row(f"a move of {MOVING} partitions without limits", seconds["ours"], seconds["kafka"], "≤ 1.1")


def change_controller(
    by_us: bool, cluster: ZookeeperCluster, fake_brokers: FakeBrokers, ours: ControllerProcess
) -> str:
    """Make reassignd or a broker the controller; return its address."""
    if by_us and not ours.runs:
        ours.start()
    elif not by_us and ours.runs:
        ours.stop()
    wait_until(lambda: (fake_brokers.terms[-1].controller == OURS) == by_us, lambda: "the other controller")
    address = ours.address if by_us else f"127.0.0.1:{cluster.port(fake_brokers.terms[-1].controller)}"
    wait_until(lambda: listed(address) == 0, lambda: "the controller to answer")
    time.sleep(2)  # Brokers process the new controller's first commands, which are not measured.
    return address


def listed(address: str) -> int:
    """Return the error code of a List request, -1 without an answer."""
    try:
        connection = RawConnection(address)
        error: int = connection.ask(ListPartitionReassignmentsRequest(), 0).error_code
        connection.close()
    except OSError:
        return -1
    return error


def fill(cluster: ZookeeperCluster, controller: str) -> None:
    """Create the topic, with some data in each partition."""
    rows = [CreatableReplicaAssignment(index, HERE[index % 2]) for index in range(MOVING)]
    connection = RawConnection(controller)
    answer = connection.ask(CreateTopicsRequest([CreatableTopic(TOPIC, -1, -1, rows)], timeout_ms=60_000), 4)
    connection.close()
    assert answer.topics[0].error_code == 0, answer
    wait_until(lambda: all(cluster.hosts(TOPIC, n) == {1, 2} for n in range(MOVING)), lambda: "the replicas")
    producer = KafkaProducer(bootstrap_servers=cluster.bootstrap, acks="all")
    for _ in range(RECORDS):
        for partition in range(MOVING):
            producer.send(TOPIC, b"".ljust(RECORD_BYTES), partition=partition)
    producer.flush()
    producer.close()


def move(address: str, targets: Sequence[tuple[int, ...]]) -> float:
    """Return the seconds from the request until no reassignment is listed."""
    connection = RawConnection(address)
    rows = [ReassignablePartition(index, targets[index % 2]) for index in range(MOVING)]
    begun = time.perf_counter()
    answer = connection.ask(AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(TOPIC, rows)]), 0)
    assert {each.error_code for topic in answer.responses for each in topic.partitions} == {0}
    while (listing := connection.ask(ListPartitionReassignmentsRequest(), 0)).topics:
        time.sleep(0.02)
    assert listing.error_code == 0, listing
    connection.close()
    return time.perf_counter() - begun


# ---- the fake brokers --------------------------------------------------------------------------------------


class Measurements:
    """Measurements of one kind of controller. Memory is in MB."""

    def __init__(self) -> None:
        self.kills: list[Takeover] = []
        self.starts: list[Takeover] = []
        self.memory: list[float] = []
        self.idle_memory: list[float] = []


def measure_takeovers(partitions: int, rounds: int) -> None:
    """Measure fail-over, start and memory, of Kafka's controller and of reassignd in turn."""
    ours, kafkas = Measurements(), Measurements()
    with started_run(partitions) as run:
        for _ in range(rounds):
            kill_kafka(run, kafkas)
            kill_ours(run, ours)
            kafkas.starts.append(run.takeover(run.stop_reassignd, *run.cluster.brokers))
    named = f"with {partitions:,} partitions"
    lost = [[each.first for each in some.kills if each.first is not None] for some in (ours, kafkas)]
    row(
        f"fail-over {named}: loss of `/controller` to the first request of the next",
        lost[0],
        lost[1],
        "≤ 1.5",
    )
    if partitions == MANY:
        complete = [[each.complete for each in (*some.kills, *some.starts)] for some in (ours, kafkas)]
        row(
            f"start {named}: `/controller` won until a broker knows all partitions",
            complete[0],
            complete[1],
            "≤ 1.5",
        )
        row(f"memory {named}, whole process", ours.memory, kafkas.memory, "< 1", "MB")
        row("the same, a broker that is not the controller", ours.memory, kafkas.idle_memory, "", "MB")


def kill_kafka(run: TakeoverRun, measured: Measurements) -> None:
    """Kill the controller broker, measure the takeover by the other one, and restart the killed broker."""
    killed = run.controller
    measured.kills.append(run.takeover(lambda: run.cluster.kill_broker(killed), *run.cluster.brokers))
    measured.memory.append(resident_mb(run.cluster.pid(run.controller)))
    start(run.cluster, killed)
    wait_until(lambda: run.registered(killed), lambda: "the broker that was killed")
    measured.idle_memory.append(resident_mb(run.cluster.pid(killed)))


def kill_ours(run: TakeoverRun, measured: Measurements) -> None:
    """Start reassignd, which becomes the controller; start a second process.

    Kill the first and measure the takeover.
    """
    first, second = run.controllers
    measured.starts.append(run.takeover(first.start, first.node_id))
    second.start()
    measured.kills.append(run.takeover(first.kill, second.node_id))
    measured.memory.append(resident_mb(second.pid))


def main() -> None:
    """Print the table."""
    parts: dict[str, Callable[[], None]] = {
        "move": lambda: measure_move(options.rounds),
        "failover": lambda: measure_takeovers(FEW, options.rounds),
        "start": lambda: measure_takeovers(MANY, options.rounds),
    }
    parser = argparse.ArgumentParser(prog="python -m bench.zookeeper", description=__doc__)
    parser.add_argument("--only", choices=[*parts])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    print("| what | reassignd | Kafka 3.9 | ratio | wanted |\n|---|---|---|---|---|", flush=True)
    for name, measure in parts.items():
        if options.only in {None, name}:
            measure()


if __name__ == "__main__":
    main()
