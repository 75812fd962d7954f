"""Count the functions between socket and answer: `python -m tools.count_calls`.

An embedded cluster with its records in memory serves each request twice: first to compile the codecs, then under a profile
hook. The hook counts the calls of the product's Python functions between the arrival of the request's bytes and the write
of the answer. It counts in the connection's callbacks, in tasks that the request starts, and in the driver. It ignores
tasks that send commands to brokers, because the answer does not wait for them.
Properties and compiled codecs count, comprehensions do not.
"""

import asyncio
import struct
import sys
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

from protocol.connection import ClientConnection
from protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from reassignd.embedded import EmbeddedCluster, ManualClock
from server.driver.driver import TASK as DRIVER

ROOT = Path(__file__).resolve().parent.parent
PRODUCT = tuple(
    f"{ROOT / folder}/"
    for folder in ("backends", "common", "controller", "planner", "protocol", "reassignd", "server")
)
TOPIC = "counted"
LIMIT = "reassignment.max.concurrent.partition.movements"


class Calls(NamedTuple):
    """Distinct functions, and calls of them, for one request."""

    functions: int
    calls: int


class Counts:
    """A profile hook that counts from the bytes of one API key's request to the write of the answer."""

    def __init__(self, api_key: int) -> None:
        self._prefix = struct.pack(">h", api_key)
        self._running: Counter[CodeType] | None = None
        self._others = {task for task in asyncio.all_tasks() if not task.get_name().startswith(DRIVER)}
        self.seen: list[Counter[CodeType]] = []

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> None:
        if event != "call":
            return
        code = frame.f_code
        if self._running is None:
            if code.co_name == "data_received" and frame.f_locals.get("data", b"")[4:6] == self._prefix:
                self._running = Counter()
        elif asyncio.current_task() in self._others:
            return
        elif code.co_name == "write" and "asyncio" in code.co_filename:
            self.seen.append(self._running)
            self._running = None
            return
        if self._running is not None and code.co_filename.startswith(PRODUCT) and code.co_name[0] != "<":
            self._running[code] += 1

    def largest(self) -> Calls:
        """Return the counts of the request with the most calls."""
        counted = max(self.seen, key=Counter.total)
        return Calls(len(counted), counted.total())


class Client:
    """A connection to the cluster that sends one request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._connection = ClientConnection()

    async def ask(self, request: tuple[Any, ...], version: int) -> None:
        """Send the request and wait for its answer."""
        self._writer.write(self._connection.send_request(request, version))
        while not self._connection.receive_data(await self._reader.read(65_536)):
            pass


def alter(replicas: tuple[int, ...]) -> tuple[tuple[Any, ...], int]:
    """Build a 45 with one row."""
    topic = ReassignableTopic(TOPIC, [ReassignablePartition(0, replicas)])
    return AlterPartitionReassignmentsRequest(topics=[topic]), 0


def limit(value: str) -> tuple[tuple[Any, ...], int]:
    """Build a 44 that changes one limit."""
    change = AlterableConfig(LIMIT, 0, value)
    return IncrementalAlterConfigsRequest([AlterConfigsResource(4, "", [change])]), 1


LIST = (ListPartitionReassignmentsRequest(topics=None), 0)


async def measure() -> dict[str, Calls]:
    """Return the counts by request."""
    clock = ManualClock()
    async with EmbeddedCluster(brokers=4, clock=clock) as cluster:
        await cluster.create_topic(TOPIC, [[1, 2]])
        host, _, port = cluster.bootstrap_servers.split(",")[0].partition(":")
        client = Client(*await asyncio.open_connection(host, int(port)))
        results: dict[str, Calls] = {}
        for counted in (False, True):
            target = (4, 2) if counted else (3, 2)
            results["45, one row"] = await _counted(45, client, *alter(target))
            results["46, all"] = await _counted(46, client, *LIST)
            results["56, completes a step"] = await _completed(clock, cluster)
            results["44, a limit"] = await _counted(44, client, *limit("5" if counted else "7"))
        return results


async def _counted(api_key: int, client: Client, request: tuple[Any, ...], version: int) -> Calls:
    counts = Counts(api_key)
    sys.setprofile(counts)
    try:
        await client.ask(request, version)
    finally:
        sys.setprofile(None)
    return counts.largest()


async def _completed(clock: ManualClock, cluster: EmbeddedCluster) -> Calls:
    """Count the AlterPartition (56) that completes the step in flight."""
    counts = Counts(56)
    sys.setprofile(counts)
    try:
        while cluster.state.reassignments:
            await clock.advance(1)
    finally:
        sys.setprofile(None)
    return counts.largest()


def main() -> int:
    """Print one line per request."""
    for request, calls in asyncio.run(measure()).items():
        print(f"{request:22} {calls.functions:4} functions {calls.calls:5} calls")
    return 0


if __name__ == "__main__":
    sys.exit(main())
