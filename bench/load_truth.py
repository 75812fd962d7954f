"""How exact the measured load is: `python -m bench.load_truth [SECONDS]`.

One broker of Kafka 4.1, producers whose bytes are known, and a group that commits all that was written.
Beside our error are those of the broker's own counters (JMX, BytesInPerSec by topic), and of Cruise Control's
rule: what a topic gets on a broker, divided by the partitions of the topic that the broker leads. Nothing is
written at the first and at the last sample, so all sums are of the same time.
"""

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from struct import pack_into
from typing import NamedTuple, TypeVar

import numpy as np
from google_crc32c import value as crc32c
from kafka import KafkaConsumer, OffsetAndMetadata, TopicPartition
from pyarrow import compress

from backends.client.handshake import ClientSettings
from backends.load import columns
from backends.load.asking import BrokerFrames
from backends.load.kept_hours import KeptHours
from backends.load.sampler import Sampler, Timing
from backends.state_topic.kafka_log import KafkaStateLog
from backends.upstream.client import UpstreamClient
from bench.load_sampler import drop, rounds
from common.address import Address
from common.clock import RealClock, wall_clock
from common.off_loop import WorkerThread
from common.tasks import cancel, spawn
from controller.model.cluster import Broker, Partition, Topic
from controller.modes import GATEWAY
from controller.state.settings import SettingsState
from controller.state.state import State
from protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.record_batch import NO_PRODUCER, BatchRecord, Producer, encode_batch
from tools.java import java_command
from tools.kafka_cluster import KafkaCluster, running_kafka
from tools.kafka_settings import Spec
from tools.ports import free_port

PAUSE = 0.1
"""Seconds between two batches of a partition."""
HEADER = 61
LZ4 = 3
MARKER = 78
"""Bytes of the control batch that ends a transaction."""
DELETED = {"segment.bytes": "1048576", "retention.bytes": "8388608"}
COMPACTED = {"cleanup.policy": "compact", "segment.bytes": "1048576", "min.cleanable.dirty.ratio": "0.01"}
CLEANING = {
    "log.cleaner.enable": "true",
    "log.cleaner.dedupe.buffer.size": "4194304",
    "log.cleaner.backoff.ms": "1000",
    "log.initial.task.delay.ms": "1000",
}
"""Settings of a broker that deletes and compacts."""


Result = TypeVar("Result")


class Load(NamedTuple):
    """What is written to a topic."""

    says: str
    records: int
    """Of a batch."""
    size: int
    """Bytes of a record's value."""
    shares: tuple[int, ...] = (1,)
    """Batches that each partition gets at once."""
    configs: Mapping[str, str] = {}
    form: str = ""
    is_mixed: bool = False
    """Values have up to twice the size, each another one."""


LOADS = {
    "small": Load("1 KB records", 4, 1_000),
    "large": Load("100 KB records", 1, 100_000),
    "largest": Load("1 MB records", 1, 1_000_000),
    "packed": Load("1 KB records, lz4", 20, 1_000, form="lz4"),
    "markers": Load("1 KB records in transactions", 4, 1_000, form="transactions"),
    "deleted": Load("10 KB records, retention deletes", 12, 10_000, configs=DELETED),
    "compacted": Load("10 KB records, 100 keys, compacted", 12, 10_000, configs=COMPACTED),
    "mixed": Load("0 to 20 KB records, 100 keys, compacted", 4, 10_000, configs=COMPACTED, is_mixed=True),
    "skewed": Load("three partitions, 1 : 3 : 8", 4, 1_000, shares=(1, 3, 8)),
}


class Written:
    """What was written to a partition."""

    def __init__(self) -> None:
        self.bytes = self.records = 0


class Found(NamedTuple):
    """What was written to a partition, and what was measured."""

    topic: str
    partition: int
    wrote: int
    measured: float
    estimated: bool

    @property
    def error(self) -> float:
        """Fraction by which the measured bytes differ."""
        return abs(self.measured / self.wrote - 1)


class Outcome(NamedTuple):
    """What was found."""

    found: list[Found]
    consumer: float
    """Error of what the group has read."""
    problems: list[str]
    walked: int
    """Answers that were walked by topic."""


def lz4_batch(batch: bytes) -> bytes:
    """Compress a batch."""
    payload = compress(batch[HEADER:], codec="lz4", asbytes=True)
    packed = bytearray(batch[:HEADER] + payload)
    pack_into(">i", packed, 8, len(packed) - 12)
    pack_into(">h", packed, 21, LZ4)
    pack_into(">I", packed, 17, crc32c(bytes(packed[21:])))
    return bytes(packed)


async def answered(attempt: Callable[[], Awaitable[Result]]) -> Result:
    """Repeat an attempt until the broker has answered. It does not take a batch twice."""
    while True:
        try:
            return await attempt()
        except OSError:
            await asyncio.sleep(PAUSE)


class Producers:
    """Writes until it is ended."""

    def __init__(self, client: UpstreamClient) -> None:
        self.written = {
            (topic, each): Written() for topic, load in LOADS.items() for each in range(len(load.shares))
        }
        self._client, self._random = client, np.random.default_rng(29)
        self._numbers = 0
        self.ended = False
        """Each partition ends with its next batch."""

    async def run(self) -> None:
        """Write to all partitions."""
        async with asyncio.TaskGroup() as group:
            for topic, partition in self.written:
                is_transactional = LOADS[topic].form == "transactions"
                write = self._transactions if is_transactional else self._write
                group.create_task(write(topic, partition))

    def _records(self, topic: str) -> list[BatchRecord]:
        load, records = LOADS[topic], []
        for _ in range(load.records):
            self._numbers += 1
            number = self._numbers % 100 if "cleanup.policy" in load.configs else self._numbers
            size = int(self._random.integers(2 * load.size)) if load.is_mixed else load.size
            value = b"%08d" % number * (size // 8) if load.form == "lz4" else self._random.bytes(size)
            records.append(BatchRecord(b"key-%08d" % number, value))
        return records

    async def _write(self, topic: str, partition: int) -> None:
        load, written = LOADS[topic], self.written[topic, partition]
        while not self.ended:
            for _ in range(load.shares[partition]):
                batch = encode_batch(self._records(topic), Producer(NO_PRODUCER, -1), -1, wall_clock())
                batch = lz4_batch(batch) if load.form == "lz4" else batch
                rows = [TopicProduceData(name=topic, partition_data=[PartitionProduceData(partition, batch)])]
                answer = await self._client.ask(ProduceRequest(None, -1, 20_000, rows), 1, version=9)
                assert answer.responses[0].partition_responses[0].error_code == 0, answer
                written.bytes += len(batch)
                written.records += load.records
            await asyncio.sleep(PAUSE)

    async def _transactions(self, topic: str, partition: int) -> None:
        log = KafkaStateLog(topic, self._client, self._client)
        producer, sequence, written = await answered(log.new_epoch), 0, self.written[topic, partition]
        while not self.ended:
            records = self._records(topic)
            batch = encode_batch(records, producer, sequence, wall_clock(), True)
            await answered(partial(log.begin_transaction, producer))
            await answered(partial(log.append, records, producer, sequence, transactional=True))
            await answered(partial(log.end_transaction, producer))
            sequence += len(records)
            written.bytes += len(batch) + MARKER
            await asyncio.sleep(PAUSE)


async def made(cluster: KafkaCluster, client: UpstreamClient) -> State:
    """Create the topics, which broker 1 leads, and return the state of a gateway that knows them."""
    state = State(GATEWAY, settings=SettingsState(lambda _: None))
    for broker in cluster.brokers:
        host, port = cluster.address(broker).split(":")
        state.put(Broker(broker, host, int(port), None, 0))
    state.cluster.set_live(cluster.brokers)
    replicas = tuple(cluster.brokers)
    for topic, load in LOADS.items():
        rows = [CreatableReplicaAssignment(each, replicas) for each in range(len(load.shares))]
        given = [CreatableTopicConfig(name, value) for name, value in load.configs.items()]
        created = await client.ask(CreateTopicsRequest([CreatableTopic(topic, -1, -1, rows, given)], 30_000))
        assert created.topics[0].error_code == 0, created
        state.put(Topic(topic, topic.encode().ljust(16)))
        for each in range(len(load.shares)):
            state.put(Partition(topic, each, replicas, replicas, 1))
    return state


def commit(consumer: KafkaConsumer, records: int) -> None:
    """Commit as the offset of a group what was written to the topic `small`."""
    consumer.commit({TopicPartition("small", 0): OffsetAndMetadata(records, "", -1)}, timeout_ms=60_000)


async def compare(
    cluster: KafkaCluster, timing: Timing, count: int, look: Callable[[], None] = lambda: None
) -> Outcome:
    """Write for so many rounds. `look` is called, in a thread, before the first and after the last batch."""
    host, port = cluster.bootstrap.split(":")
    client, clock, off_loop = UpstreamClient([Address(host, int(port))]), RealClock(), WorkerThread()
    await client.refresh()
    state = await made(cluster, client)
    consumer = KafkaConsumer(
        bootstrap_servers=[cluster.bootstrap], group_id="readers", enable_auto_commit=False
    )
    consumer.assign([TopicPartition("small", 0)])
    await asyncio.to_thread(commit, consumer, 0)
    await asyncio.to_thread(look)
    brokers = BrokerFrames(state, ClientSettings(), clock)
    hours = KeptHours({}, drop, off_loop)
    sampler = Sampler(brokers, state, off_loop, clock, wall_clock, timing, hours, ())
    run = spawn(sampler.run(), "load")
    await rounds(sampler, 1)
    producers = Producers(client)
    writing = spawn(producers.run(), "producers")
    await rounds(sampler, count)
    producers.ended = True
    await writing
    await asyncio.to_thread(commit, consumer, producers.written["small", 0].records)
    await rounds(sampler, 4)
    await asyncio.to_thread(look)
    await cancel(run)
    await asyncio.to_thread(consumer.close)
    await brokers.close()
    await client.close()
    off_loop.close()
    return outcome_of(sampler, producers)


def outcome_of(sampler: Sampler, producers: Producers) -> Outcome:
    """Return what was measured, of what was written."""
    samples, found = sampler.samples, []
    for (topic, partition), each in producers.written.items():
        row = samples.layout.row(topic, partition)
        measured, is_estimated = float(samples.wrote[row]), bool(samples.estimated[row])
        found.append(Found(topic, partition, each.bytes, measured, is_estimated))
    read = float(samples.profile.read[samples.layout.row("small", 0)])
    error = abs(read / producers.written["small", 0].bytes - 1)
    return Outcome(found, error, list(sampler.summary.problems), sampler.answers.walked)


def counters(port: int) -> dict[str, int]:
    """Return the bytes that the broker has counted for each topic (BytesInPerSec, Count)."""
    tool = java_command(
        "tools-4.3",
        "org.apache.kafka.tools.JmxTool",
        "--jmx-url",
        f"service:jmx:rmi:///jndi/rmi://127.0.0.1:{port}/jmxrmi",
        "--object-name",
        "kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec,topic=*",
        "--attributes",
        "Count",
        "--one-time",
        "--report-format",
        "properties",
    )
    lines = subprocess.run(tool, capture_output=True, text=True, check=True).stdout.splitlines()
    pairs = [line.rsplit("=", 1) for line in lines if "topic=" in line]
    return {name.rpartition("topic=")[2].partition(":")[0]: int(count) for name, count in pairs}


def print_table(outcome: Outcome, before: Mapping[str, int], after: Mapping[str, int]) -> None:
    """Print a row for each topic: our error, that of the broker's counter, and that of Cruise Control."""
    print("| written | quality | our error | JMX, of the topic | Cruise Control's rule, of a partition |")
    print("|---|---|---|---|---|")
    for topic, load in LOADS.items():
        rows = [each for each in outcome.found if each.topic == topic]
        counted = after.get(topic, 0) - before.get(topic, 0)
        jmx = abs(counted / sum(each.wrote for each in rows) - 1)
        rule = max(abs(counted / len(rows) / each.wrote - 1) for each in rows)
        quality = "estimated" if any(each.estimated for each in rows) else "exact"
        ours = max(each.error for each in rows)
        print(f"| {load.says} | {quality} | {ours:.2%} | {jmx:.2%} | {rule:.2%} |")
    print(f"| read by a group | | {outcome.consumer:.2%} | | |")
    print(f"problems: {outcome.problems}; answers that were walked: {outcome.walked}", flush=True)


def main(arguments: list[str]) -> None:
    """Run the command."""
    seconds, port = int(arguments[0]) if arguments else 300, free_port()
    name = "-Dcom.sun.management.jmxremote"
    remote = {"port": port, "rmi.port": port, "authenticate": "false", "ssl": "false", "host": "127.0.0.1"}
    options = [f"{name}.{key}={value}" for key, value in remote.items()]
    settings = CLEANING | {"log.retention.check.interval.ms": "30000"}
    spec = Spec(1, "4.1", settings=settings, java=(*options, "-Djava.rmi.server.hostname=127.0.0.1"))
    timing = Timing(sample=10, groups=20, window=100_000, timeout=20)
    columns.LATE_FRACTION = 1.0  # When an answer was made does not matter for sums.
    looks: list[dict[str, int]] = []
    with running_kafka(spec) as cluster:
        outcome = asyncio.run(compare(cluster, timing, seconds // 10, lambda: looks.append(counters(port))))
    print_table(outcome, *looks)


if __name__ == "__main__":
    main(sys.argv[1:])
