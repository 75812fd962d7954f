"""Count the files and functions between socket and answer: `python -m tools.count_calls [--tree]`.

An embedded cluster with its records in memory serves each request twice: first to compile the codecs, then
under a profile hook. The hook counts the calls of the product's Python functions between the arrival of the
request's bytes and the write of the answer. It counts in the connection's callbacks, in tasks that the
request starts, and in the driver. It ignores tasks that send commands to brokers, because the answer does not
wait for them. Properties and the functions of the codec count; comprehensions and the functions that the
codec compiles do not. `--tree` also prints the calls of each request, indented by depth; `*` marks a function
that was called before.
"""

import argparse
import asyncio
import struct
import sys
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

from protocol.codec.schema import Request
from protocol.frames import ClientConnection
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


class Call(NamedTuple):
    """One call, and the number of counted calls around it."""

    code: CodeType
    depth: int


class Calls(NamedTuple):
    """The calls for one request, in order."""

    calls: list[Call]

    @property
    def functions(self) -> int:
        """Number of distinct functions."""
        return len({call.code for call in self.calls})

    @property
    def files(self) -> list[str]:
        """The files that the calls cross, in the order of their first calls."""
        return list(dict.fromkeys(str(Path(call.code.co_filename).relative_to(ROOT)) for call in self.calls))

    def tree(self) -> str:
        """Return one line per call, indented by depth. `*` marks a function that was called before."""
        seen: set[CodeType] = set()
        lines = []
        for code, depth in self.calls:
            path = Path(code.co_filename).relative_to(ROOT)
            repeated = " *" if code in seen else ""
            lines.append(f"{'  ' * depth}{code.co_qualname}  {path}:{code.co_firstlineno}{repeated}")
            seen.add(code)
        return "\n".join(lines)


class Counts:
    """A profile hook that counts from the bytes of one API key's request to the write of the answer."""

    def __init__(self, api_key: int) -> None:
        self._prefix = struct.pack(">h", api_key)
        self._running: list[Call] | None = None
        self._depths: dict[FrameType, int] = {}
        """The counted frames of the request; a coroutine keeps its depth when it is resumed."""
        self._others = {task for task in asyncio.all_tasks() if not task.get_name().startswith(DRIVER)}
        self.seen: list[list[Call]] = []

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> None:
        if event != "call":
            return
        code = frame.f_code
        if self._running is None:
            if code.co_name == "data_received" and frame.f_locals.get("data", b"")[4:6] == self._prefix:
                self._running, self._depths = [], {}
        elif asyncio.current_task() in self._others:
            return
        elif code.co_name == "write" and "asyncio" in code.co_filename:
            self.seen.append(self._running)
            self._running = None
            return
        if self._running is not None and code.co_filename.startswith(PRODUCT) and code.co_name[0] != "<":
            self._running.append(Call(code, self._depth(frame)))

    def _depth(self, frame: FrameType) -> int:
        caller = frame.f_back
        while caller is not None and caller not in self._depths:
            caller = caller.f_back
        depth = 0 if caller is None else self._depths[caller] + 1
        return self._depths.setdefault(frame, depth)

    def largest(self) -> Calls:
        """Return the calls of the request with the most calls."""
        return Calls(max(self.seen, key=len))


class Client:
    """A connection to the cluster that sends one request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._connection = ClientConnection()

    async def ask(self, request: Request[NamedTuple], version: int) -> None:
        """Send the request and wait for its answer."""
        self._writer.write(self._connection.send_request(request, version))
        while not self._connection.receive_data(await self._reader.read(65_536)):
            pass


def alter(replicas: tuple[int, ...]) -> tuple[Request[NamedTuple], int]:
    """Build a 45 with one row."""
    topic = ReassignableTopic(TOPIC, [ReassignablePartition(0, replicas)])
    return AlterPartitionReassignmentsRequest(topics=[topic]), 0


def limit(value: str) -> tuple[Request[NamedTuple], int]:
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


async def _counted(api_key: int, client: Client, request: Request[NamedTuple], version: int) -> Calls:
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
        while cluster.state.orders.reassignments:
            await clock.advance(1)
    finally:
        sys.setprofile(None)
    return counts.largest()


def main() -> int:
    """Print one line per request, and its tree if requested."""
    parser = argparse.ArgumentParser(prog="python -m tools.count_calls")
    parser.add_argument("--tree", action="store_true", help="print the calls of each request as a tree")
    with_trees = parser.parse_args().tree
    for request, counted in asyncio.run(measure()).items():
        sizes = f"{len(counted.files):4} files {counted.functions:4} functions {len(counted.calls):5} calls"
        print(f"{request:22} {sizes}")
        if with_trees:
            print(counted.tree())
    return 0


if __name__ == "__main__":
    sys.exit(main())
