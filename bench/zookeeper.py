"""Our controller against that of Kafka 3.9, on the same brokers and ZooKeeper in the same run: `python -m bench.zookeeper`.

A move of 200 partitions without limits, ordered by 45; fail-over after kill -9; taking over with 10,000 partitions in ZooKeeper; and
memory. Brokers are 3.9.1 at inter-broker protocol 2.4-IV0, with JVMs as Kafka's own script runs them.
"""

import argparse
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import median

from kafka import KafkaProducer

from bench.sinks import Sinks
from bench.takeovers import Arena, Takeover, arena, resident_mb, start
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
from tools.commander import Commander
from tools.raw_connection import RawConnection
from tools.waiting import wait_until
from tools.zookeeper_cluster import ZookeeperCluster, running_cluster

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
    """One line of the table: medians, and in brackets the least and the most."""

    def shown(values: Sequence[float]) -> str:
        digits = 0 if unit == "MB" else 2
        ends = f" ({min(values):.{digits}f}–{max(values):.{digits}f})" if len(values) > 1 else ""
        return f"{median(values):.{digits}f} {unit}{ends}"

    ratio = median(ours) / median(kafkas)
    print(f"| {what} | {shown(ours)} | {shown(kafkas)} | {ratio:.2f} | {wanted} |", flush=True)


# ---- the move ---------------------------------------------------------------------------------------------


@contextmanager
def moving_cluster() -> Iterator[tuple[ZookeeperCluster, Sinks, Commander]]:
    """Four brokers, whose office is watched."""
    with (
        running_cluster(4, measured=True, settings=FULL_SPEED) as cluster,
        Sinks(cluster.zookeeper, ()) as office,
    ):
        ours = Commander(cluster, OURS)
        wait_until(lambda: office.terms, lambda: "a controller")
        try:
            yield cluster, office, ours
        finally:
            if ours.runs:
                ours.kill()


def measure_move(rounds: int) -> None:
    """There and back again, by each controller in turn; the first round of each is not counted."""
    seconds: dict[str, list[float]] = {"ours": [], "kafka": []}
    with moving_cluster() as (cluster, office, ours):
        fill(cluster, f"127.0.0.1:{cluster.port(office.terms[-1].controller)}")
        for number in range(rounds + 1):
            for name in seconds:
                address = enter(name == "ours", cluster, office, ours)
                took = [move(address, targets) for targets in (THERE, HERE)]
                print(f"{name}: {took}", file=sys.stderr, flush=True)
                seconds[name] += took if number else []
    row(f"a move of {MOVING} partitions without limits", seconds["ours"], seconds["kafka"], "≤ 1.1")


def enter(by_us: bool, cluster: ZookeeperCluster, office: Sinks, ours: Commander) -> str:
    """Who is to rule does; where to ask."""
    if by_us and not ours.runs:
        ours.start()
    elif not by_us and ours.runs:
        ours.stop()
    wait_until(lambda: (office.terms[-1].controller == OURS) == by_us, lambda: "the other controller")
    address = ours.address if by_us else f"127.0.0.1:{cluster.port(office.terms[-1].controller)}"
    wait_until(lambda: listed(address) == 0, lambda: "the controller to answer")
    time.sleep(2)  # Brokers do what the new controller tells them, which moves nothing and is not measured.
    return address


def listed(address: str) -> int:
    """The error of an empty list, −1 when there is no answer."""
    try:
        connection = RawConnection(address)
        error: int = connection.ask(ListPartitionReassignmentsRequest(), 0).error_code
        connection.close()
    except OSError:
        return -1
    return error


def fill(cluster: ZookeeperCluster, controller: str) -> None:
    """The topic, with some data in each partition."""
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
    """Seconds from the request until nothing is listed any more."""
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


# ---- the office -------------------------------------------------------------------------------------------


class Taken:
    """What was measured of one kind of controller; memory in MB."""

    def __init__(self) -> None:
        self.kills: list[Takeover] = []
        self.starts: list[Takeover] = []
        self.memory: list[float] = []
        self.idle_memory: list[float] = []


def measure_takeovers(partitions: int, rounds: int) -> None:
    """Fail-over, start, and memory, Kafka's controller and ours in turn."""
    ours, kafkas = Taken(), Taken()
    with arena(partitions) as place:
        for _ in range(rounds):
            kill_kafkas(place, kafkas)
            kill_ours(place, ours)
            kafkas.starts.append(place.takeover(place.stop_ours, *place.cluster.brokers))
    named = f"with {partitions:,} partitions"
    lost = [[each.first for each in some.kills if each.first is not None] for some in (ours, kafkas)]
    row(
        f"fail-over {named}: loss of `/controller` to the first request of the next",
        lost[0],
        lost[1],
        "≤ 1.5",
    )
    if partitions == MANY:
        told = [[each.told for each in (*some.kills, *some.starts)] for some in (ours, kafkas)]
        row(
            f"start {named}: `/controller` won until a broker is told all",
            told[0],
            told[1],
            "≤ 1.5",
        )
        row(f"memory {named}, whole process", ours.memory, kafkas.memory, "< 1", "MB")
        row("the same, a broker that is not the controller", ours.memory, kafkas.idle_memory, "", "MB")


def kill_kafkas(place: Arena, taken: Taken) -> None:
    """Kill -9 of the broker in office; the other takes over, and both stand again afterwards."""
    killed = place.holder
    taken.kills.append(place.takeover(lambda: place.cluster.kill_broker(killed), *place.cluster.brokers))
    taken.memory.append(resident_mb(place.cluster.pid(place.holder)))
    start(place.cluster, killed)
    wait_until(lambda: place.registered(killed), lambda: "the broker that was killed")
    taken.idle_memory.append(resident_mb(place.cluster.pid(killed)))


def kill_ours(place: Arena, taken: Taken) -> None:
    """One of ours takes the office from Kafka; then kill -9 while the second stands by."""
    first, second = place.ours
    taken.starts.append(place.takeover(first.start, first.node_id))
    second.start()
    taken.kills.append(place.takeover(first.kill, second.node_id))
    taken.memory.append(resident_mb(second.pid))


def main() -> None:
    """Prints the table."""
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
