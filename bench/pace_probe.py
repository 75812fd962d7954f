"""Producers and the signals of `bench.pace`, in a process of its own: `python -m bench.pace_probe`.

It reads a `Plan` as JSON from the first line of stdin, runs until stdin is closed, and writes all samples as
JSON. Times are those of `time.monotonic`, which processes of one machine share. Latencies are in ms.
"""

import asyncio
import json
import random
import sys
import time
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from struct import unpack
from typing import Any, NamedTuple

import uvloop

from protocol.frames import decode_response, parse_response
from protocol.messages.describe_log_dirs_request import DescribableLogDirTopic, DescribeLogDirsRequest
from protocol.messages.describe_log_dirs_response import DescribeLogDirsResponse
from protocol.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from protocol.messages.metadata_response import MetadataResponse
from protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.record_batch import NO_PRODUCER, BatchRecord, Producer, encode_batch
from tools.raw_connection import address, encode

PRODUCE_VERSION, OFFSETS_VERSION, DIRS_VERSION, METADATA_VERSION = 9, 7, 4, 9
DIRS_KEY, METADATA_KEY = 35, 3
CANARY_BYTES = 100
PRODUCERS = 8
"""Connections to each broker. A broker answers the requests of a connection one after the other."""
EVERY = {"canary": 0.1, "trip": 0.1, "offsets": 0.1, "relayed": 0.1, "isr": 0.25, "lag": 0.5}
"""Seconds between two samples of a signal, for each broker."""


class Plan(NamedTuple):
    """What to produce and to sample.

    Partition i of both topics is led by the broker at position i % brokers.
    """

    brokers: list[str]
    """HOST:PORT by broker."""
    relayed: list[str]
    """HOST:PORT of the same brokers at the gateway."""
    topic: str
    partitions: int
    """Of the topic."""
    canary: str
    rate: float
    """Records per second of each broker."""
    size: int
    output: str
    """Path of the file for the samples."""


class Pipe(asyncio.Protocol):
    """A connection with many requests in flight; answers come in the order of the requests."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        self._answers: list[Callable[[bytes], None]] = []
        self._buffer = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while len(self._buffer) >= 4:
            (size,) = unpack(">i", self._buffer[:4])
            if len(self._buffer) < 4 + size:
                return
            answer = bytes(self._buffer[4 : 4 + size])
            del self._buffer[: 4 + size]
            self._answers.pop(0)(answer)

    def send(self, frame: bytes, answered: Callable[[bytes], None]) -> None:
        """Send the frame; `answered` gets the answer."""
        self._answers.append(answered)
        self.transport.write(frame)


class Samples:
    """All samples: `[seconds at the start, broker, value]` by signal."""

    def __init__(self) -> None:
        self.of: dict[str, list[tuple[float, int, float]]] = {}

    def timed(self, signal: str, broker: int, pipe: Pipe, frame: bytes) -> None:
        """Send the frame and note the latency of its answer."""
        began = time.monotonic()

        def answered(_: bytes) -> None:
            self.add(signal, began, broker, (time.monotonic() - began) * 1000)

        pipe.send(frame, answered)

    def add(self, signal: str, at: float, broker: int, value: float) -> None:
        """Note a sample."""
        self.of.setdefault(signal, []).append((at, broker, value))


def produce_frame(topic: str, partition: int, size: int) -> bytes:
    """Return a Produce request with acks=all and one record."""
    record = BatchRecord(None, random.randbytes(size))
    data = encode_batch([record], Producer(NO_PRODUCER, -1), -1, int(time.time() * 1000), False)
    rows = (TopicProduceData(topic, partition_data=(PartitionProduceData(partition, data),)),)
    return encode(ProduceRequest(None, -1, 30_000, rows), PRODUCE_VERSION)


async def open_pipe(bootstrap: str) -> Pipe:
    """Connect."""
    _, pipe = await asyncio.get_running_loop().create_connection(Pipe, *address(bootstrap))
    return pipe


async def produce(plan: Plan, samples: Samples, broker: int) -> None:
    """Produce at the plan's rate, without waiting for answers, over the connections in turn."""
    led = range(broker - 1, plan.partitions, len(plan.brokers))
    frames = [produce_frame(plan.topic, partition, plan.size) for partition in led]
    for pipe in cycle([await open_pipe(plan.brokers[broker - 1]) for _ in range(PRODUCERS)]):
        await asyncio.sleep(random.expovariate(plan.rate))
        samples.timed("producer", broker, pipe, random.choice(frames))


async def sample_latency(plan: Plan, samples: Samples, signal: str, broker: int) -> None:
    """Sample one of the latencies without end. A late answer delays no sample."""
    place = plan.relayed if signal == "relayed" else plan.brokers
    pipe = await open_pipe(place[broker - 1])
    if signal == "trip":
        frame = encode(MetadataRequest((), allow_auto_topic_creation=False), METADATA_VERSION)
    elif signal == "offsets":
        asked = ListOffsetsTopic(plan.canary, (ListOffsetsPartition(broker - 1, timestamp=-1),))
        frame = encode(ListOffsetsRequest(-1, topics=(asked,)), OFFSETS_VERSION)
    else:
        frame = produce_frame(plan.canary, broker - 1, CANARY_BYTES)
    while True:
        await asyncio.sleep(EVERY[signal] * random.uniform(0.8, 1.2))
        samples.timed(signal, broker, pipe, frame)


async def sample_isr(plan: Plan, samples: Samples) -> None:
    """Sample the number of partitions of the produced topic that lack a replica in the ISR."""
    pipe = await open_pipe(plan.brokers[0])
    request = MetadataRequest((MetadataRequestTopic(name=plan.topic),), allow_auto_topic_creation=False)
    frame = encode(request, METADATA_VERSION)

    def answered(answer: bytes) -> None:
        found = decode_response(
            parse_response(answer, METADATA_KEY, METADATA_VERSION), MetadataResponse
        ).topics[0]
        shrunk = sum(len(row.isr_nodes) < len(row.replica_nodes) for row in found.partitions)
        samples.add("isr", time.monotonic(), 0, shrunk)

    while True:
        await asyncio.sleep(EVERY["isr"])
        pipe.send(frame, answered)


async def sample_lag(plan: Plan, samples: Samples, broker: int) -> None:
    """Sample the largest `offset_lag` of the broker's replicas of the produced topic."""
    pipe = await open_pipe(plan.brokers[broker - 1])
    asked = DescribableLogDirTopic(plan.topic, tuple(range(plan.partitions)))
    frame = encode(DescribeLogDirsRequest([asked]), DIRS_VERSION)

    def answered(answer: bytes) -> None:
        found = decode_response(parse_response(answer, DIRS_KEY, DIRS_VERSION), DescribeLogDirsResponse)
        lags = [row.offset_lag for each in found.results for topic in each.topics for row in topic.partitions]
        samples.add("lag", time.monotonic(), broker, max(lags, default=0))

    while True:
        await asyncio.sleep(EVERY["lag"])
        pipe.send(frame, answered)


async def run(plan: Plan) -> dict[str, Any]:
    """Run until stdin is closed."""
    samples = Samples()
    brokers = range(1, len(plan.brokers) + 1)
    work = [sample_isr(plan, samples)]
    for broker in brokers:
        work += [produce(plan, samples, broker), sample_lag(plan, samples, broker)]
        signals = ("canary", "trip", "offsets") + (("relayed",) if plan.relayed else ())
        work += [sample_latency(plan, samples, signal, broker) for signal in signals]
    tasks = [asyncio.create_task(each) for each in work]
    await asyncio.to_thread(sys.stdin.read)
    failures = [str(task.exception()) for task in tasks if task.done()]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return {"samples": samples.of, "failures": failures}


def main() -> None:
    """Read the plan, sample, and write."""
    plan = Plan(**json.loads(sys.stdin.readline()))
    Path(plan.output).write_text(json.dumps(uvloop.run(run(plan))))


if __name__ == "__main__":
    main()
