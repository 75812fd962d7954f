"""Latency of APIs 45 and 46, compared with a real Kafka in the same run: `python -m bench.api_speed`.

Partitions keep moving until they are cancelled. In Kafka the new replica is on a broker that was killed; in
reassignd the simulated network is slow. `--bootstrap HOST:PORT --target ID` measures a running server, on
which moves to that broker must not end.
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
"""Pause before an alter, in which both servers finish the work of the last cancel, such as commands to
brokers."""
WANTED = {("alter", 1): 0.5, ("alter", 1000): 0.7, ("alter", 4000): 1.0, ("list all", 4000): 1.0}
"""Maximum ratio of reassignd's time to Kafka's."""

SLOW_EMBEDDED = {"embedded.network.bytes.per.second": "1000", "embedded.partition.bytes": "1000000000"}


class Subject(NamedTuple):
    """A measured server.

    Replicas are on `stays` and `leaves`; an alter replaces `leaves` by `target`, and does not end.
    """

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
    """Return how often an operation is measured. Large requests need fewer rounds."""
    return max(10, min(200, 20_000 // partitions))


def measure_requests(subject: Subject, sizes: list[int], *, calm: bool) -> Results:
    """Measure rounds of alter, the same target again, list and cancel, after half as many of warm-up.

    If `calm`, a request is sent only after the server has finished the work of the one before.
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
        for name, samples in times.items():
            results[name, size] = summary(samples[rounds(size) // 2 :])
    connection.close()
    return results


def measure_rates(subject: Subject, seconds: float) -> Rates:
    """Return the answers per second to a List of one idle partition, by number of connections."""
    one = ListPartitionReassignmentsTopics(TOPIC, (0,))
    frame = encode(ListPartitionReassignmentsRequest(topics=(one,)), 0)
    return {n: requests_per_second(subject.bootstrap, frame, n, seconds) for n in (1, 16)}


def summary(samples: list[float]) -> Times:
    """Return the median and the 99th percentile."""
    return Times(median(samples), quantiles(samples, n=100, method="inclusive")[98])


def alter(partitions: int, replicas: tuple[int, ...] | None) -> AlterPartitionReassignmentsRequest:
    """Return an order of these replicas, or a cancel, for the first `partitions` partitions of the topic."""
    rows = [ReassignablePartition(index, replicas) for index in range(partitions)]
    return AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(TOPIC, rows)])


def create_topic(connection: RawConnection, subject: Subject, partitions: int) -> None:
    """Create the topic and wait until every partition has a leader and two in-sync replicas."""
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
    """Run one round and check its answers, so that only requests that succeed are measured."""
    moving = (subject.stays, subject.target)
    for replicas, listed in ((moving, partitions), (None, 0)):
        answer = connection.ask(alter(partitions, replicas), 1)
        errors = [row.error_code for topic in answer.responses for row in topic.partitions]
        assert errors == [0] * partitions, f"{subject.name}: {set(errors)}"
        ongoing = connection.ask(ListPartitionReassignmentsRequest(), 0).topics
        assert sum(len(topic.partitions) for topic in ongoing) == listed


def brokers(bootstrap: str) -> list[int]:
    """Return the broker ids in Metadata."""
    connection = RawConnection(bootstrap)
    metadata = connection.ask(MetadataRequest((), False), 12)
    connection.close()
    return sorted(broker.node_id for broker in metadata.brokers)


def subject(name: str, bootstrap: str, target: int) -> Subject:
    """Return the subject whose replicas are on the first two brokers other than the target."""
    stays, leaves, *_ = (broker for broker in brokers(bootstrap) if broker != target)
    return Subject(name, bootstrap, stays, leaves, target)


@contextmanager
def kafka() -> Iterator[Subject]:
    """Start a Kafka cluster whose last broker is registered and dead."""
    with running_kafka(Spec(measured=True, settings=SMALL_FETCHES)) as cluster:
        dead = cluster.brokers[-1]
        cluster.kill_node(dead)
        while dead in brokers(cluster.bootstrap):
            time.sleep(0.5)
        yield subject("Kafka 4.1", cluster.bootstrap, dead)


@contextmanager
def reassignd() -> Iterator[Subject]:
    """Start a reassignd whose brokers replicate too slowly for a move to end."""
    with tempfile.TemporaryDirectory() as folder:
        server = Reassignd(Path(folder), SLOW_EMBEDDED)
        server.start()
        try:
            yield subject("reassignd", server.bootstrap, brokers(server.bootstrap)[-1])
        finally:
            server.kill()


def report(ours: Results, theirs: Results | None) -> Iterator[str]:
    """Yield the latencies as a Markdown table."""
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
    """Yield the rates of small List requests as a Markdown table."""
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
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.api_speed", description=__doc__)
    parser.add_argument("--sizes", default="1,1000,4000", help="partitions per request")
    parser.add_argument(
        "--seconds", type=float, default=4, help="duration of each measurement of requests per second"
    )
    parser.add_argument(
        "--back-to-back", action="store_true", help="send each request right after the one before"
    )
    parser.add_argument("--alone", action="store_true", help="do not measure Kafka")
    parser.add_argument("--bootstrap", help="HOST:PORT of a running server to measure instead")
    parser.add_argument("--target", type=int, help="broker of that server to which no move ends")
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
