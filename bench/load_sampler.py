"""What sampling the load costs: `python -m bench.load_sampler [PARTITIONS ...]`.

Brokers that answer with ready bytes are sampled: 100,000 partitions of three replicas on 30 brokers, and a
million on 100, each in a process of its own. CPU seconds of a round, without those of the brokers; memory
above that of the state and the brokers; and how late a task of the loop is woken meanwhile. The aims are
0.3 s and 60 MB, 3 s and 500 MB, and 20 ms.
"""

import asyncio
import gc
import subprocess
import sys
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from struct import pack
from time import perf_counter, process_time, thread_time

import numpy as np

from backends.client.exchange import Encode
from backends.load.kept_hours import KeptHours
from backends.load.sampler import Sampler, Timing
from backends.load.wire import LATEST, OFFSETS_VERSIONS, Ints
from common.clock import RealClock, wall_clock
from common.off_loop import WorkerThread
from controller.messages.event import Event, Reply
from controller.model.cluster import Broker, Partition, Topic
from controller.modes import GATEWAY
from controller.state.settings import SettingsState
from controller.state.state import State
from protocol.apis import ApiKey
from protocol.codec.wire import codec
from protocol.codec.writing import varint
from protocol.frames import ResponseFrame
from protocol.messages.describe_configs_request import DescribeConfigsRequest
from protocol.messages.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from protocol.messages.list_groups_response import ListGroupsResponse
from protocol.messages.list_offsets_request import ListOffsetsRequest

SIZES = {100_000: 30, 1_000_000: 100}
"""Partitions, and brokers for them."""
TOPIC = 100
"""Partitions of a topic."""
ROUNDS = 4
PAUSE = 10.0
"""Seconds between two rounds."""

SIZE = np.dtype([("partition", ">i4"), ("size", ">i8"), ("lag", ">i8"), ("future", "u1"), ("tags", "u1")])
OFFSET = np.dtype(
    [
        ("partition", ">i4"),
        ("error", ">i2"),
        ("timestamp", ">i8"),
        ("offset", ">i8"),
        ("epoch", ">i4"),
        ("tags", "u1"),
    ]
)


def replicas(number: int, brokers: int) -> tuple[int, ...]:
    """Return the replicas of a partition, the leader first."""
    return tuple(1 + (number * 7 + number // TOPIC + each) % brokers for each in range(3))


class ReadyBrokers:
    """Implements `Brokers`. Each answer is made of arrays, and its time is not counted."""

    def __init__(self, partitions: int, brokers: int) -> None:
        self.spent, self.asked = 0.0, 0
        self.kept: dict[tuple[int, ApiKey, bytes], ResponseFrame] | None = None
        """The answers so far, which are given again. None: each answer is made anew."""
        numbers = np.arange(partitions)
        start = numbers * 7 + numbers // TOPIC
        held = np.stack([1 + (start + each) % brokers for each in range(3)])
        self.held = {each: np.flatnonzero((held == each).any(axis=0)) for each in range(1, brokers + 1)}
        self.led = {each: np.flatnonzero(held[0] == each) for each in range(1, brokers + 1)}

    async def exchange(
        self, broker: int, key: ApiKey, versions: range, encode: Encode, seconds: float
    ) -> ResponseFrame:
        """See `Brokers.exchange`."""
        body = await encode(versions[-1])
        self.asked += len(body)
        if self.kept is None:
            return self.answer(broker, key, versions, body)
        if (broker, key, body) not in self.kept:
            self.kept[broker, key, body] = self.answer(broker, key, versions, body)
        return self.kept[broker, key, body]

    def answer(self, broker: int, key: ApiKey, versions: range, body: bytes) -> ResponseFrame:
        """Make an answer."""
        began = thread_time()
        if key == ApiKey.DESCRIBE_LOG_DIRS:
            answer, version = self.sizes(broker), 4
        elif key == ApiKey.LIST_OFFSETS:
            answer, version = self.offsets(body), versions[-1]
        elif key == ApiKey.DESCRIBE_CONFIGS:
            answer, version = policies(body), 4
        else:
            answer, version = bytes(codec(ListGroupsResponse, 5).encode(ListGroupsResponse())), 5
        self.spent += thread_time() - began
        return ResponseFrame(key, version, 0, memoryview(answer))

    async def close(self) -> None:
        """Do nothing."""

    def sizes(self, broker: int) -> bytes:
        """Return an answer to DescribeLogDirs, of logs that have grown since the last one."""
        rows = self.held[broker]
        table = np.zeros(len(rows), SIZE)
        table["partition"], table["size"] = rows % TOPIC, 10**9 + int(perf_counter() * 1_000)
        head = pack(">ihBh", 0, 0, 2, 0) + varint(6) + b"/data"
        return head + topics(rows, table) + pack(">qqB", -1, -1, 0) + b"\0"

    def offsets(self, request: bytes) -> bytes:
        """Return an answer to ListOffsets for the partitions of a request."""
        asked = codec(ListOffsetsRequest, OFFSETS_VERSIONS[-1]).decode(request).topics
        numbers = [int(each.name) * TOPIC + row.partition_index for each in asked for row in each.partitions]
        rows = np.array(numbers, np.int64)
        table = np.zeros(len(rows), OFFSET)
        is_last = asked[0].partitions[0].timestamp == LATEST
        table["partition"], table["offset"] = rows % TOPIC, int(perf_counter() * 10) if is_last else 0
        return pack(">i", 0) + topics(rows, table) + b"\0"


def policies(request: bytes) -> bytes:
    """Return an answer to DescribeConfigs: no topic is compacted."""
    asked = codec(DescribeConfigsRequest, 4).decode(memoryview(request)).resources
    config = DescribeConfigsResourceResult("cleanup.policy", "delete")
    rows = [DescribeConfigsResult(0, None, 2, each.resource_name, (config,)) for each in asked]
    return bytes(codec(DescribeConfigsResponse, 4).encode(DescribeConfigsResponse(0, rows)))


def topics(rows: Ints, table: "np.ndarray[tuple[int], np.dtype[np.void]]") -> bytes:
    """Return the rows by topic."""
    names, starts = np.unique(rows // TOPIC, return_index=True)
    ends = [*starts[1:].tolist(), len(rows)]
    width, data = table.dtype.itemsize, table.tobytes()
    parts = [varint(len(names) + 1)]
    for name, start, end in zip(names.tolist(), starts.tolist(), ends, strict=True):
        parts += b"\x08%07d" % name, varint(end - start + 1), data[start * width : end * width], b"\0"
    return b"".join(parts)


def cluster(partitions: int, brokers: int) -> State:
    """Return the state of a gateway."""
    state = State(GATEWAY, settings=SettingsState(lambda _: None))
    state.apply(Broker(each, f"kafka-{each}", 9092, None, 0) for each in range(1, brokers + 1))
    state.cluster.set_live(range(1, brokers + 1))
    for topic in range(partitions // TOPIC):
        name = f"{topic:07}"
        state.apply([Topic(name, topic.to_bytes(16, "big"))])
        rows = [replicas(topic * TOPIC + each, brokers) for each in range(TOPIC)]
        state.apply(Partition(name, each, row, row, row[0]) for each, row in enumerate(rows))
    return state


async def lateness(late: list[float]) -> None:
    """Measure how late this task is woken."""
    while True:
        began = perf_counter()
        await asyncio.sleep(0.002)
        late.append(perf_counter() - began - 0.002)


async def drop(event: Event[Reply]) -> Reply:
    """Take the place of the controller: no hour ends in the time of a benchmark."""
    raise NotImplementedError(event)


async def rounds(sampler: Sampler, count: int) -> None:
    """Wait until so many rounds have ended."""
    view = sampler.view
    while count:
        await asyncio.sleep(0.1)
        if sampler.view is not view:
            view, count = sampler.view, count - 1


async def measure(partitions: int, brokers: int) -> None:
    """Print one line."""
    fake, state, off_loop = ReadyBrokers(partitions, brokers), cluster(partitions, brokers), WorkerThread()
    gc.collect()
    gc.freeze()
    before = getrusage(RUSAGE_SELF).ru_maxrss
    timing = Timing(PAUSE, PAUSE * 2, PAUSE * 2)
    hours = KeptHours({}, drop, off_loop)
    sampler = Sampler(fake, state, off_loop, RealClock(), wall_clock, timing, hours, ())
    late: list[float] = []
    run = asyncio.create_task(sampler.run())
    used: list[float] = []
    cpu, spent = process_time(), 0.0
    while len(used) < ROUNDS:
        await rounds(sampler, 1)
        used.append(process_time() - cpu - (fake.spent - spent))
        cpu, spent = process_time(), fake.spent
    memory = (getrusage(RUSAGE_SELF).ru_maxrss - before) / 1024
    # The watch takes as much time as a round does, so it runs in rounds of its own. The brokers make no
    # answers on the loop meanwhile.
    fake.kept = {}
    await rounds(sampler, 1)
    watch = asyncio.create_task(lateness(late))
    await rounds(sampler, 2)
    for task in (watch, run):
        task.cancel()
    await asyncio.gather(watch, run, return_exceptions=True)
    off_loop.close()
    view = sampler.view
    assert view is not None, sampler.summary
    p99, most = (1000 * float(each) for each in np.quantile(late, [0.99, 1.0]))
    cpu = sorted(used[1:])[1]
    print(
        f"{partitions:>9,} × 3 on {brokers:>3}: CPU {cpu:.2f} s a round (first {used[0]:.2f}),"
        f" {memory:.0f} MB, loop p99 {p99:.1f} ms, most {most:.1f} ms; coverage {view.coverage:.2f},"
        f" {fake.asked / len(used) / 1e6:.1f} MB asked",
        flush=True,
    )


def main(arguments: list[str]) -> None:
    """Run the command."""
    if len(arguments) == 2 and arguments[0] == "--one":
        partitions = int(arguments[1])
        asyncio.run(measure(partitions, SIZES.get(partitions, 10)))
        return
    for size in arguments or [str(each) for each in SIZES]:
        command = [sys.executable, "-m", "bench.load_sampler", "--one", size]
        subprocess.run(command, check=True, cwd=Path(__file__).parent.parent)


if __name__ == "__main__":
    main(sys.argv[1:])
