"""What the gateway costs and brings, before a real Kafka 4.1 on this machine: `python -m bench.gateway`.

A plan sent to Kafka directly and through the gateway; how full its window is; CPU while 10,000 partitions wait; what a
small relayed request costs more; and how long producers wait during a move, all at once and in windows.
"""

import argparse
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from os import sysconf
from pathlib import Path
from statistics import mean, median, quantiles
from threading import Event, Thread
from typing import NamedTuple
from urllib.request import urlopen

from bench.raw import RawConnection, encode
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
from protocol.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from tools.java import java_command
from tools.kafka_cluster import KafkaCluster, running_kafka
from tools.kafka_settings import Spec
from tools.processes import Reassignd

RATE = 12_000_000
"""Bytes a second that each broker may move: replicas must not share two cores with the producer's own."""
PARTITIONS, MEGABYTES = 24, 16
TOPIC, LOADED, WIDE = "bench", "loaded", "wide"
P_LIMIT = "reassignment.max.concurrent.partition.movements"
FULL_SPEED = {"replica.fetch.max.bytes": "1048576", "replica.fetch.response.max.bytes": "10485760"}
LIST_ALL = encode(ListPartitionReassignmentsRequest(), 0)


class Site(NamedTuple):
    """A cluster, and the gateway before it."""

    kafka: KafkaCluster
    gateway: Reassignd

    def configure(self, kind: int, name: str, **values: str | None) -> None:
        """Set configs through the gateway, delete those that are None; dots are underscores."""
        rows = [AlterableConfig(k.replace("_", "."), 1 if v is None else 0, v) for k, v in values.items()]
        connection = RawConnection(self.gateway.bootstrap)
        answer = connection.ask(IncrementalAlterConfigsRequest([AlterConfigsResource(kind, name, rows)]), 1)
        connection.close()
        assert answer.responses[0].error_code == 0, answer

    def limit(self, partitions: int | None) -> None:
        """P."""
        self.configure(4, "", **{P_LIMIT.replace(".", "_"): None if partitions is None else str(partitions)})

    def gauge(self, name: str) -> float:
        """A number of the gateway's metrics page."""
        page = urlopen(f"http://{self.gateway.http}/metrics").read().decode()
        return float(re.search(rf"^{name} (\S+)$", page, re.MULTILINE).group(1))  # type: ignore[union-attr]

    def cpu_seconds(self) -> float:
        """What the gateway's process has used."""
        fields = Path(f"/proc/{self.gateway.pid}/stat").read_text("ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / sysconf("SC_CLK_TCK")


@contextmanager
def site() -> Iterator[Site]:
    """Four brokers and a gateway."""
    with (
        tempfile.TemporaryDirectory() as folder,
        running_kafka(Spec(4, measured=True, settings=FULL_SPEED)) as kafka,
    ):
        gateway = Reassignd(
            Path(folder),
            {"gateway.ports": "4"},
            brokers=4,
            upstream=kafka.bootstrap,
        )
        gateway.start()
        try:
            yield Site(kafka, gateway)
        finally:
            gateway.kill()


def create(bootstrap: str, topic: str, partitions: int, replicas: tuple[int, ...]) -> None:
    """A topic with all replicas there."""
    rows = [CreatableReplicaAssignment(index, replicas) for index in range(partitions)]
    connection = RawConnection(bootstrap)
    answer = connection.ask(CreateTopicsRequest([CreatableTopic(topic, -1, -1, rows)], timeout_ms=100_000), 7)
    connection.close()
    assert answer.topics[0].error_code == 0, answer
    time.sleep(2 + partitions / 1_000)


def produce(bootstrap: str, topic: str, records: int, size: int, rate: int = -1, acks: str = "1") -> str:
    """What Kafka's own load generator says at its end."""
    options = f"--topic {topic} --num-records {records} --record-size {size} --throughput {rate}".split()
    properties = ["--producer-props", f"bootstrap.servers={bootstrap}", f"acks={acks}"]
    command = java_command(
        "tools-4.3", "org.apache.kafka.tools.ProducerPerformance", *options, *properties, heap_mb=256
    )
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout.strip().splitlines()[-1]


def move(bootstrap: str, topic: str, partitions: int, replicas: tuple[int, ...]) -> float:
    """Seconds from the request until nothing is listed any more."""
    connection = RawConnection(bootstrap)
    rows = [ReassignablePartition(index, replicas) for index in range(partitions)]
    begun = time.perf_counter()
    answer = connection.ask(AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(topic, rows)]), 1)
    assert {row.error_code for each in answer.responses for row in each.partitions} == {0}
    while connection.ask(ListPartitionReassignmentsRequest(), 0).topics:
        time.sleep(0.05)
    connection.close()
    return time.perf_counter() - begun


def measure_plan(at: Site) -> None:
    """The same plan there and back again, in turn to Kafka and to the gateway."""
    seconds: dict[str, list[float]] = {"direct": [], "gateway": []}
    places = {"direct": at.kafka.bootstrap, "gateway": at.gateway.bootstrap}
    for turn in range(6):
        name = ("direct", "gateway")[turn % 2]
        seconds[name].append(move(places[name], TOPIC, PARTITIONS, (3, 4) if turn % 2 == 0 else (1, 2)))
    direct, gateway = (median(each) for each in seconds.values())
    print(
        f"| plan of {PARTITIONS} partitions, {PARTITIONS * MEGABYTES} MB, no limits | {gateway:.1f} s |",
        end="",
    )
    print(f" direct: {direct:.1f} s, ratio {gateway / direct:.2f} | ≤ 1.1 |", flush=True)


def measure_window(at: Site, window: int = 4) -> None:
    """How much of the window is taken while enough waits."""
    at.limit(window)
    taken, over = [0.0], Event()

    def watch() -> None:
        while not over.wait(0.1):
            moving, queued = at.gauge("reassignd_moving_partitions"), at.gauge("reassignd_queued_partitions")
            if queued:
                taken.append(moving)

    watching = Thread(target=watch)
    watching.start()
    seconds = move(at.gateway.bootstrap, TOPIC, PARTITIONS, (3, 4))
    over.set()
    watching.join()
    at.limit(None)
    move(at.gateway.bootstrap, TOPIC, PARTITIONS, (1, 2))
    share = mean(taken[1:]) / window
    print(
        f"| window of {window} taken, moves of {seconds * window / PARTITIONS:.1f} s | {share:.1%} | | ≥ 95 % |",
        flush=True,
    )


def measure_relay(at: Site) -> None:
    """ListOffsets to a leader, directly and through its port."""
    ask = ListOffsetsRequest(-1, 0, [ListOffsetsTopic(TOPIC, [ListOffsetsPartition(0, -1, -1)])])
    frame = encode(ask, 7)
    host, _, port = at.gateway.bootstrap.rpartition(":")
    broker = RawConnection(at.kafka.bootstrap), RawConnection(f"{host}:{int(port) + 1}")
    times = [[connection.timed(frame)[0] * 1000 for _ in range(2_000)][500:] for connection in broker]
    direct, relayed = map(median, times)
    p99 = quantiles(times[1], n=100)[98]
    print(
        f"| small relayed request | {relayed:.2f} ms, p99 {p99:.2f} | direct: {direct:.2f} ms, {relayed - direct:.2f} more | ≤ 1 ms more |",
        flush=True,
    )


def measure_waiting(at: Site, waiting: int) -> None:
    """CPU with many that wait and some that move slowly."""
    create(at.kafka.bootstrap, WIDE, waiting, (1,))
    at.limit(PARTITIONS)
    throttle(at, 200_000)
    connection = RawConnection(at.gateway.bootstrap)
    for topic, count, replicas in ((TOPIC, PARTITIONS, (3, 4)), (WIDE, waiting, (2,))):
        rows = [ReassignablePartition(index, replicas) for index in range(count)]
        connection.ask(AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(topic, rows)]), 1)
    time.sleep(15)
    before, begun = at.cpu_seconds(), time.perf_counter()
    time.sleep(20)
    share = (at.cpu_seconds() - before) / (time.perf_counter() - begun)
    moving, queued = at.gauge("reassignd_moving_partitions"), at.gauge("reassignd_queued_partitions")
    print(
        f"| CPU while {queued:,.0f} wait and {moving:.0f} move | {share:.1%} of a core | | ≤ 10 % |",
        flush=True,
    )
    connection.ask(AlterPartitionReassignmentsRequest(topics=None), 1)
    throttle(at, RATE)
    while connection.ask(ListPartitionReassignmentsRequest(), 0).topics:
        time.sleep(0.5)
    connection.close()
    at.limit(None)


def measure_producers(at: Site) -> None:
    """Latencies of a producer with acks=all while the plan runs: all at once, and in windows."""
    create(at.kafka.bootstrap, LOADED, 8, (1, 2))
    throttle(at, 2**40)
    idle = produce(at.kafka.bootstrap, LOADED, 3_000, 1_000, 300, "all")
    print(f"| producer, idle | {percentiles(idle)} | | |", flush=True)
    targets = [(3, 4), (1, 2)]
    for turn, window in enumerate((None, 10, 5, 2)):
        at.limit(window)
        with ThreadPoolExecutor(1) as load:
            said = load.submit(produce, at.kafka.bootstrap, LOADED, 4_500, 1_000, 300, "all")
            time.sleep(3)
            seconds = move(at.gateway.bootstrap, TOPIC, PARTITIONS, targets[turn % 2])
        name = "all at once" if window is None else f"window {window}"
        print(
            f"| producer, {name} | {percentiles(said.result())} | the move took {seconds:.1f} s | |",
            flush=True,
        )
    at.limit(None)


def percentiles(line: str) -> str:
    """Of the load generator's last line."""
    found = re.findall(r"(\d+) ms (50th|99th)", line)
    longest = re.search(r"([\d.]+) ms max latency", line)
    return ", ".join(f"{name} {ms} ms" for ms, name in found) + (
        f", max {longest.group(1)} ms" if longest else ""
    )


def throttle(at: Site, rate: int) -> None:
    """Kafka's own, set by hand on all brokers: what we set ourselves is not measured here."""
    for broker in at.kafka.brokers:
        rates = {f"{side}_replication_throttled_rate": str(rate) for side in ("leader", "follower")}
        host, _, port = at.gateway.bootstrap.rpartition(":")
        connection = RawConnection(f"{host}:{int(port) + broker}")
        rows = [AlterableConfig(name.replace("_", "."), 0, value) for name, value in rates.items()]
        request = IncrementalAlterConfigsRequest([AlterConfigsResource(4, str(broker), rows)])
        answer = connection.ask(request, 1)
        connection.close()
        assert answer.responses[0].error_code == 0, answer


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.gateway", description=__doc__)
    parser.add_argument(
        "--waiting", type=int, default=10_000, help="partitions that wait while CPU is measured"
    )
    parser.add_argument("--only", help="plan, window, relay, waiting or producers")
    options = parser.parse_args()
    parts: dict[str, Callable[[Site], None]] = {
        "relay": measure_relay,
        "plan": measure_plan,
        "window": measure_window,
        "producers": measure_producers,
        "waiting": lambda at: measure_waiting(at, options.waiting),
    }
    print("| what | gateway | beside | wanted |\n|---|---|---|---|")
    with site() as at:
        create(at.kafka.bootstrap, TOPIC, PARTITIONS, (1, 2))
        produce(at.kafka.bootstrap, TOPIC, PARTITIONS * MEGABYTES * 100, 10_000)
        every = {f"{side}_replication_throttled_replicas": "*" for side in ("leader", "follower")}
        at.configure(2, TOPIC, **every)
        throttle(at, RATE)
        for name, measure in parts.items():
            if options.only in {None, name}:
                measure(at)


if __name__ == "__main__":
    main()
