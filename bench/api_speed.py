"""How fast 45 and 46 are answered, against a real Kafka in the same run: `python -m bench.api_speed`.

Every partition that is asked to move keeps moving until it is cancelled: on Kafka because its new replica is on a broker that
was killed, on reassignd because its simulated network is slow. `--bootstrap HOST:PORT --target ID` measures one server that
runs already, on which moves to that broker do not end.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import NamedTuple

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
from protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from tools.kafka_cluster import running_kafka
from tools.kafka_settings import SMALL_FETCHES, Spec
from tools.processes import Reassignd
from tools.raw_connection import RawConnection, encode, requests_per_second

TOPIC = "bench"
SETTLE_SECONDS = 1.0
"""Before an alter, on both servers: what followed from the cancel before it, such as telling the brokers, is over."""
WANTED = {("alter", 1): 0.5, ("alter", 1000): 0.7, ("alter", 4000): 1.0, ("list all", 4000): 1.0}
"""The greatest ratio of our time to Kafka's."""

SLOW_EMBEDDED = {"embedded.network.bytes.per.second": "1000", "embedded.partition.bytes": "1000000000"}


class Subject(NamedTuple):
    """A server under measure; replicas stay on `stays`, and moves to `target` do not end."""

    name: str
    bootstrap: str
    stays: int
    leaves: int
    target: int


class Times(NamedTuple):
    """Milliseconds of one operation."""

    median: float
    p99: float


Results = dict[tuple[str, int], Times]
Rates = dict[int, float]


def rounds(partitions: int) -> int:
    """How often an operation is measured: large ones need fewer times, and fewer to warm up."""
    return max(10, min(200, 20_000 // partitions))


def measure_requests(subject: Subject, sizes: list[int], *, calm: bool) -> Results:
    """Alter, the same target again, list, cancel: as many rounds as `rounds` says, after half as many to warm up.

    If `calm`, a request is sent only when the server has done what followed from the one before.
    """
    results: Results = {}
    connection = RawConnection(subject.bootstrap)
    create_topic(connection, subject, max(sizes))
    for size in sizes:
        frames = {
            "alter": encode(alter(size, (subject.stays, subject.target)), 1),
            "same target again": encode(alter(size, (subject.stays, subject.target)), 1),
            "list all": encode(ListPartitionReassignmentsRequest(), 0),
            "cancel": encode(alter(size, None), 1),
        }
        check(connection, subject, size)
        times: dict[str, list[float]] = {name: [] for name in frames}
        for _ in range(rounds(size) + rounds(size) // 2):
            for name, frame in frames.items():
                if calm:
                    connection.wait_until_calm()
                    if name == "alter":
                        time.sleep(SETTLE_SECONDS)
                times[name].append(connection.timed(frame)[0] * 1000)
        for name, taken in times.items():
            results[name, size] = summary(taken[rounds(size) // 2 :])
    connection.close()
    return results


def measure_rates(subject: Subject, seconds: float) -> Rates:
    """Answers a second to a List of one idle partition, by number of connections."""
    one = ListPartitionReassignmentsTopics(TOPIC, (0,))
    frame = encode(ListPartitionReassignmentsRequest(topics=(one,)), 0)
    return {n: requests_per_second(subject.bootstrap, frame, n, seconds) for n in (1, 16)}


def summary(taken: list[float]) -> Times:
    """Median and 99th percentile."""
    return Times(median(taken), quantiles(taken, n=100, method="inclusive")[98])


def alter(partitions: int, replicas: tuple[int, ...] | None) -> AlterPartitionReassignmentsRequest:
    """The same replicas, or a cancel, for so many partitions of the topic."""
    rows = [ReassignablePartition(index, replicas) for index in range(partitions)]
    return AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(TOPIC, rows)])


def create_topic(connection: RawConnection, subject: Subject, partitions: int) -> None:
    """Creates the topic and returns when every partition has its leader."""
    replicas = (subject.stays, subject.leaves)
    assignments = [CreatableReplicaAssignment(index, replicas) for index in range(partitions)]
    topic = CreatableTopic(TOPIC, -1, -1, assignments)
    (created,) = connection.ask(CreateTopicsRequest([topic], timeout_ms=100_000), 7).topics
    assert created.error_code == 0, created.error_message
    leaderless = True
    while leaderless:
        time.sleep(0.2)
        (described,) = connection.ask(MetadataRequest([MetadataRequestTopic(name=TOPIC)], False), 12).topics
        rows = described.partitions
        leaderless = len(rows) < partitions or any(
            row.leader_id < 0 or len(row.isr_nodes) < 2 for row in rows
        )


def check(connection: RawConnection, subject: Subject, partitions: int) -> None:
    """One round whose answers are looked at: what is measured must have worked."""
    moving = (subject.stays, subject.target)
    for replicas, listed in ((moving, partitions), (None, 0)):
        answer = connection.ask(alter(partitions, replicas), 1)
        errors = [row.error_code for topic in answer.responses for row in topic.partitions]
        assert errors == [0] * partitions, f"{subject.name}: {set(errors)}"
        ongoing = connection.ask(ListPartitionReassignmentsRequest(), 0).topics
        assert sum(len(topic.partitions) for topic in ongoing) == listed


def brokers(bootstrap: str) -> list[int]:
    """The ids in Metadata."""
    connection = RawConnection(bootstrap)
    metadata = connection.ask(MetadataRequest((), False), 12)
    connection.close()
    return sorted(broker.node_id for broker in metadata.brokers)


def subject(name: str, bootstrap: str, target: int) -> Subject:
    """The first two brokers other than the target hold the replicas."""
    stays, leaves, *_ = (broker for broker in brokers(bootstrap) if broker != target)
    return Subject(name, bootstrap, stays, leaves, target)


@contextmanager
def kafka() -> Iterator[Subject]:
    """A Kafka cluster whose last broker is known to it, and dead."""
    with running_kafka(Spec(measured=True, settings=SMALL_FETCHES)) as cluster:
        dead = cluster.brokers[-1]
        cluster.kill_node(dead)
        while dead in brokers(cluster.bootstrap):
            time.sleep(0.5)
        yield subject("Kafka 4.1", cluster.bootstrap, dead)


@contextmanager
def reassignd() -> Iterator[Subject]:
    """A reassignd whose brokers replicate too slowly for any move to end."""
    with tempfile.TemporaryDirectory() as folder:
        server = Reassignd(Path(folder), SLOW_EMBEDDED)
        server.start()
        try:
            yield subject("reassignd", server.bootstrap, brokers(server.bootstrap)[-1])
        finally:
            server.kill()


def report(ours: Results, theirs: Results | None) -> Iterator[str]:
    """The latencies as a Markdown table."""
    peers = " Kafka | ratio of medians | wanted |" if theirs else ""
    yield f"| request | partitions | ms: median, p99 |{peers}"
    yield "|---|---|---|---|---|---|" if theirs else "|---|---|---|"
    for key, times in ours.items():
        row = f"| {key[0]} | {key[1]:,} | {times.median:.2f}, {times.p99:.2f} |"
        if theirs is None:
            yield row
        else:
            peer, wanted = theirs[key], WANTED.get(key)
            limit = "" if wanted is None else f"≤ {wanted}"
            yield f"{row} {peer.median:.2f}, {peer.p99:.2f} | {times.median / peer.median:.2f} | {limit} |"


def report_rates(ours: Rates, theirs: Rates | None) -> Iterator[str]:
    """Small List requests a second as a Markdown table."""
    yield "| connections | small List requests/s |" + (" Kafka | ratio | wanted |" if theirs else "")
    yield "|---|---|---|---|---|" if theirs else "|---|---|"
    for connections, rate in ours.items():
        row = f"| {connections} | {rate:,.0f} |"
        yield (
            row
            if theirs is None
            else f"{row} {theirs[connections]:,.0f} | {rate / theirs[connections]:.1f} | ≥ 3 |"
        )


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.api_speed", description=__doc__)
    parser.add_argument("--sizes", default="1,1000,4000", help="partitions per request")
    parser.add_argument("--seconds", type=float, default=4, help="of each measurement of requests per second")
    parser.add_argument("--back-to-back", action="store_true", help="each request right after the one before")
    parser.add_argument("--alone", action="store_true", help="without Kafka")
    parser.add_argument("--bootstrap", help="HOST:PORT of a server that runs already")
    parser.add_argument("--target", type=int, help="the broker there to which no move ends")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]

    measured = []
    for start in (reassignd,) if options.alone else (reassignd, kafka):
        with ExitStack() as running:
            chosen = options.bootstrap and subject("given", options.bootstrap, options.target)
            under_measure = chosen or running.enter_context(start())
            latencies = measure_requests(under_measure, sizes, calm=not options.back_to_back)
            measured.append((latencies, measure_rates(under_measure, options.seconds)))
    (ours, our_rates), (theirs, their_rates) = measured[0], measured[1] if len(measured) > 1 else (None, None)
    print("\n".join([*report(ours, theirs), "", *report_rates(our_rates, their_rates)]))


if __name__ == "__main__":
    main()
