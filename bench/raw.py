"""Clients that cost next to nothing themselves: a request is encoded once, and an answer is read but not looked at."""

import asyncio
import os
import socket
from pathlib import Path
from struct import unpack
from time import perf_counter
from typing import Any, cast

import uvloop

from protocol.codec.wire import schema_of
from protocol.frames import decode_response, encode_request, parse_response
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest

CORRELATION_ID = 1
CALM_SECONDS = 2


def encode(request: tuple[Any, ...], version: int) -> bytes:
    """A whole frame, to be sent as often as wanted."""
    return encode_as(request, version, "bench")


def encode_as(request: tuple[Any, ...], version: int, client_id: str) -> bytes:
    """The same, in another client's name."""
    return encode_request(request, version, CORRELATION_ID, client_id)


def address(bootstrap: str) -> tuple[str, int]:
    """Host and port of "HOST:PORT"."""
    host, _, port = bootstrap.rpartition(":")
    return host, int(port)


def processor_seconds(pid: int) -> float:
    """What the process has used (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class RawConnection:
    """One connection, one request at a time, blocking."""

    def __init__(self, bootstrap: str) -> None:
        self._socket = socket.create_connection(address(bootstrap), timeout=120)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def close(self) -> None:
        """Closes it."""
        self._socket.close()

    def timed(self, frame: bytes) -> tuple[float, bytes]:
        """Seconds until the whole answer to an encoded request was here, and the answer."""
        begun = perf_counter()
        self._socket.sendall(frame)
        (size,) = unpack(">i", self._receive(4))
        answer = self._receive(size)
        return perf_counter() - begun, bytes(answer)

    def ask(self, request: tuple[Any, ...], version: int) -> Any:
        """The decoded answer to a request."""
        _, answer = self.timed(encode(request, version))
        return decode_response(parse_response(answer, schema_of(type(request)).api_key or 0, version))

    def wait_until_calm(self) -> None:
        """Returns when the server has done what followed from earlier requests, or after CALM_SECONDS.

        Ten small requests in a row are answered soon, then.
        """
        frame = encode(ListPartitionReassignmentsRequest(topics=()), 0)
        deadline = perf_counter() + CALM_SECONDS
        soon = 0
        while soon < 10 and perf_counter() < deadline:
            soon = soon + 1 if self.timed(frame)[0] < 0.003 else 0

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
    """Sends one frame again as soon as its answer is here. Answers are of one size, `answer_bytes` with the length."""

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
    """How many answers a second all connections together get, each asking again when it is answered."""
    probe = RawConnection(bootstrap)
    answer_bytes = 4 + len(probe.timed(frame)[1])
    probe.close()

    async def ask() -> float:
        loop = asyncio.get_running_loop()
        host, port = address(bootstrap)
        made = [
            await loop.create_connection(lambda: _Asker(frame, answer_bytes), host, port)
            for _ in range(connections)
        ]
        await asyncio.sleep(seconds / 2)
        begun, before = perf_counter(), sum(asker.answers for _, asker in made)
        await asyncio.sleep(seconds)
        if not all(asker.answers for _, asker in made):
            raise ConnectionError("a connection got no answer")
        rate = (sum(asker.answers for _, asker in made) - before) / (perf_counter() - begun)
        for transport, _ in made:
            transport.abort()
        return rate

    return uvloop.run(ask())
