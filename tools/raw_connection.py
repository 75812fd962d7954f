"""Blocking Kafka connection for tests and benchmarks.

It needs little CPU: frames can be reused, answers are not decoded.
"""

import asyncio
import os
import socket
from pathlib import Path
from struct import unpack
from time import perf_counter, sleep
from typing import NamedTuple, cast

import uvloop

from protocol.codec.schema import Request, Response
from protocol.codec.wire import schema_of
from protocol.frames import decode_response, encode_request, parse_response
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest

CORRELATION_ID = 1
CLIENT_ID = "bench"
CALM_SECONDS = 2


def encode(request: Request[NamedTuple], version: int, client_id: str = CLIENT_ID) -> bytes:
    """Return the request as a frame, which may be sent repeatedly."""
    return encode_request(request, version, CORRELATION_ID, client_id)


def address(bootstrap: str) -> tuple[str, int]:
    """Split "HOST:PORT"."""
    host, _, port = bootstrap.rpartition(":")
    return host, int(port)


def processor_seconds(pid: int) -> float:
    """Return the CPU time of the process, user and system (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class RawConnection:
    """A blocking connection with one request in flight."""

    def __init__(self, bootstrap: str) -> None:
        self._socket = socket.create_connection(address(bootstrap), timeout=120)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def timed(self, frame: bytes) -> tuple[float, bytes]:
        """Send a frame. Return the seconds until its answer was received, and the answer."""
        begun = perf_counter()
        self._socket.sendall(frame)
        (size,) = unpack(">i", self._receive(4))
        answer = self._receive(size)
        return perf_counter() - begun, bytes(answer)

    def ask(self, request: Request[Response], version: int) -> Response:
        """Send a request and return the decoded answer."""
        _, answer = self.timed(encode(request, version))
        frame = parse_response(answer, schema_of(type(request)).api_key or 0, version)
        return decode_response(frame, request.response_class())

    def wait_until_calm(self) -> None:
        """Wait until the server has finished the work of earlier requests, at most CALM_SECONDS.

        The server is idle when it answers ten small requests in a row within 3 ms each. They are sent 5 ms
        apart, because what it does for nobody in particular pauses for some milliseconds.
        """
        frame = encode(ListPartitionReassignmentsRequest(topics=()), 0)
        deadline = perf_counter() + CALM_SECONDS
        quick_answers = 0
        while quick_answers < 10 and perf_counter() < deadline:
            quick_answers = quick_answers + 1 if self.timed(frame)[0] < 0.003 else 0
            sleep(0.005)

    def _receive(self, size: int) -> bytearray:
        buffer = bytearray(size)
        view = memoryview(buffer)
        while view:
            read = self._socket.recv_into(view)
            if read == 0:
                raise ConnectionError("the server closed the connection")
            view = view[read:]
        return buffer


class _Asker(asyncio.Protocol):
    """Sends a frame again as soon as it is answered.

    Every answer has `answer_bytes` bytes, length included.
    """

    transport: asyncio.Transport

    def __init__(self, frame: bytes, answer_bytes: int) -> None:
        self.answers = 0
        self._frame = frame
        self._answer_bytes = answer_bytes
        self._received = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.write(self._frame)

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        if self._received == self._answer_bytes:
            self._received = 0
            self.answers += 1
            self.transport.write(self._frame)


def requests_per_second(bootstrap: str, frame: bytes, connections: int, seconds: float) -> float:
    """Return the answers per second of all connections, each with one request in flight."""
    probe = RawConnection(bootstrap)
    answer_bytes = 4 + len(probe.timed(frame)[1])
    probe.close()

    async def ask() -> float:
        loop = asyncio.get_running_loop()
        host, port = address(bootstrap)
        askers = [
            await loop.create_connection(lambda: _Asker(frame, answer_bytes), host, port)
            for _ in range(connections)
        ]
        await asyncio.sleep(seconds / 2)
        begun, before = perf_counter(), sum(asker.answers for _, asker in askers)
        await asyncio.sleep(seconds)
        if not all(asker.answers for _, asker in askers):
            raise ConnectionError("a connection got no answer")
        rate = (sum(asker.answers for _, asker in askers) - before) / (perf_counter() - begun)
        for transport, _ in askers:
            transport.abort()
        return rate

    return uvloop.run(ask())
