"""A proxy between instances of reassignd and their cluster, which records who sends steps and who has claimed a term.

It runs in a thread of its own, so it sees what the instances send in the order in which they send it. The process at
the other end of a connection is found by its sockets.
"""

import asyncio
import re
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from common.address import Address
from protocol.apis import ApiKey
from protocol.frames import decode_request, decode_response, parse_request, parse_response
from protocol.messages.alter_partition_reassignments_request import AlterPartitionReassignmentsRequest
from protocol.messages.produce_response import ProduceResponse

CLAIM = re.compile(rb'\["claim"\].*?"instance":"([^"]+)","term":([0-9]+)', re.DOTALL)

HEADER = 4
CHUNK = 65_536
ATTEMPTS = 10
"""Attempts to find the process at the other end of a connection."""


class LateRow(NamedTuple):
    """Rows of an instance after the claim of another one."""

    pid: int
    rows: int
    term: int
    """The newest term then."""


class RecordingProxy:
    """Listens for each broker on `listeners` and connects to `brokers`. `pids` has the ids of the instances."""

    def __init__(self, pairs: Iterable[tuple[Address, Address]]) -> None:
        self._pairs = list(pairs)
        self.pids: set[int] = set()
        self.term, self.active = 0, 0
        """The newest claim that a broker has acknowledged, and the process that has sent it."""
        self.claims: list[tuple[int, int]] = []
        """Term and process of each claim."""
        self.rows = 0
        """Rows of steps."""
        self.late: list[LateRow] = []
        self._loop: asyncio.AbstractEventLoop
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._started = threading.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    def __enter__(self) -> "RecordingProxy":
        self._thread.start()
        self._started.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _run(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._loop.run_until_complete(self._listen())
        self._started.set()
        self._loop.run_forever()
        for task in self._tasks:
            task.cancel()
        self._loop.run_until_complete(self._ended())
        self._loop.close()

    async def _ended(self) -> None:
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _listen(self) -> None:
        for at, broker in self._pairs:

            def accept(
                reader: asyncio.StreamReader, writer: asyncio.StreamWriter, broker: Address = broker
            ) -> None:
                task = self._loop.create_task(self._relay(reader, writer, broker))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

            await asyncio.start_server(accept, *at)

    async def _relay(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, broker: Address
    ) -> None:
        pid = await self._owner(writer)
        claims: dict[int, tuple[int, int]] = {}
        """Correlation id -> API version and term of a claim that is in flight."""
        try:
            broker_reader, broker_writer = await asyncio.open_connection(*broker)
        except OSError:
            writer.close()
            return
        up = asyncio.ensure_future(self._requests(reader, broker_writer, pid, claims))
        down = asyncio.ensure_future(self._responses(broker_reader, writer, pid, claims))
        try:
            await asyncio.wait([up, down], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in (up, down):
                each.cancel()
            await asyncio.gather(up, down, return_exceptions=True)
            writer.close()
            broker_writer.close()

    async def _owner(self, writer: asyncio.StreamWriter) -> int:
        """Return the process at the other end, or 0. The kernel's list can lack sockets while others are opened."""
        ports = writer.get_extra_info("peername")[1], writer.get_extra_info("sockname")[1]
        for _ in range(ATTEMPTS):
            pids = tuple(self.pids)
            if (pid := owner_of(*ports, pids)) or not pids:
                return pid
            await asyncio.sleep(0.05)
        return 0

    async def _requests(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        pid: int,
        claims: dict[int, tuple[int, int]],
    ) -> None:
        while True:
            size = await reader.readexactly(HEADER)
            payload = await reader.readexactly(int.from_bytes(size))
            self._record(payload, pid, claims)
            writer.write(size + payload)
            await writer.drain()

    def _record(self, payload: bytes, pid: int, claims: dict[int, tuple[int, int]]) -> None:
        key, version, correlation = (
            int.from_bytes(payload[:2]),
            int.from_bytes(payload[2:4]),
            int.from_bytes(payload[4:8]),
        )
        if key == ApiKey.PRODUCE and (found := CLAIM.search(payload)) is not None:
            claims[correlation] = version, int(found[2])
        elif key == ApiKey.ALTER_PARTITION_REASSIGNMENTS:
            request = decode_request(parse_request(payload), AlterPartitionReassignmentsRequest)
            rows = sum(len(topic.partitions or ()) for topic in request.topics or ())
            self.rows += rows
            if rows and pid != self.active:
                self.late.append(LateRow(pid, rows, self.term))

    async def _responses(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        pid: int,
        claims: dict[int, tuple[int, int]],
    ) -> None:
        while True:
            size = await reader.readexactly(HEADER)
            payload = await reader.readexactly(int.from_bytes(size))
            claim = claims.pop(int.from_bytes(payload[:4]), None)
            if claim is not None:
                self._acknowledge(payload, pid, *claim)
            writer.write(size + payload)
            await writer.drain()

    def _acknowledge(self, payload: bytes, pid: int, version: int, term: int) -> None:
        response = decode_response(parse_response(payload, ApiKey.PRODUCE, version), ProduceResponse)
        code = response.responses[0].partition_responses[0].error_code
        if code == 0 and term > self.term:
            self.term, self.active = term, pid
            self.claims.append((term, pid))


def owner_of(port: int, to: int, pids: Iterable[int]) -> int:
    """Return the process among `pids` that has a connection from `port` to the port `to`; 0 if none has.

    Connections to different ports can come from the same one.
    """
    inodes = {
        fields[9]
        for fields in (line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:])
        if [int(end.rpartition(":")[2], 16) for end in fields[1:3]] == [port, to]
    }
    sockets = {f"socket:[{inode}]" for inode in inodes}
    for pid in pids:
        for descriptor in _descriptors(pid):
            try:
                if str(descriptor.readlink()) in sockets:
                    return pid
            except OSError:
                continue
    return 0


def _descriptors(pid: int) -> list[Path]:
    try:
        return list(Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return []
