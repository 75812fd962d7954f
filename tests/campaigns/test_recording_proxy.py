"""The proxy knows whose connection it is.

It passes frames on, holds them, delays them, and loses an answer.
"""

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import pytest

from campaigns.recording_proxy import Fault, RecordingProxy, owner_of
from campaigns.step_record import StepRecord
from common.address import Address
from protocol.frames import encode_response, parse_request
from protocol.messages.produce_response import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from tests.campaigns.test_step_record import claim, produce, step
from tools.ports import free_port

HOLD = 0.3
"""Seconds after which a frame that is held has not arrived."""


class Broker:
    """Answers each request: a batch with success, another request with its own bytes."""

    def __init__(self) -> None:
        self.requests: list[bytes] = []
        self.closed = asyncio.Event()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, EOFError):
            while True:
                size = await reader.readexactly(4)
                payload = await reader.readexactly(int.from_bytes(size))
                self.requests.append(payload)
                writer.write(self._answer(size, payload))
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
        self.closed.set()

    def _answer(self, size: bytes, payload: bytes) -> bytes:
        if payload[:2] != b"\0\0":
            return size + payload
        rows = (TopicProduceResponse("state", partition_responses=(PartitionProduceResponse(0, 0, 0),)),)
        return bytes(encode_response(parse_request(payload), ProduceResponse(responses=rows)))


class Client:
    """A connection to the proxy."""

    def __init__(
        self, proxy: RecordingProxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.proxy, self.reader, self.writer = proxy, reader, writer
        self.broker = Broker()

    def send(self, payload: bytes) -> None:
        self.writer.write(len(payload).to_bytes(4) + payload)

    async def answer(self) -> bytes:
        return await self.reader.readexactly(int.from_bytes(await self.reader.readexactly(4)))

    async def no_answer(self) -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(self.reader.read(1), HOLD)


@asynccontextmanager
async def connected() -> AsyncIterator[Client]:
    """A broker with the id 1, the proxy before it, and a connection of this process."""
    broker = Broker()
    server = await asyncio.start_server(broker.accept, "127.0.0.1", 0)
    at = Address("127.0.0.1", free_port())
    pairs = {1: (at, Address("127.0.0.1", server.sockets[0].getsockname()[1]))}
    with RecordingProxy(pairs, StepRecord("state", 3.0)) as proxy:
        proxy.pids.add(os.getpid())
        client = Client(proxy, *await asyncio.open_connection(*at))
        client.broker = broker
        yield client
        client.writer.close()
        await client.writer.wait_closed()
    await broker.closed.wait()
    server.close()


async def test_frames_pass_in_both_directions() -> None:
    async with connected() as client:
        client.send(step())
        assert await client.answer() == step()
        assert (client.proxy.steps_to, client.proxy.record.rows) == (1, 1)


async def test_a_claim_is_that_of_the_process_at_the_other_end() -> None:
    async with connected() as client:
        client.send(produce(claim(1)))
        await client.answer()
        assert client.proxy.record.claims == [(1, os.getpid())]


async def test_held_requests_arrive_when_the_fault_ends() -> None:
    async with connected() as client:
        fault = Fault(brokers=frozenset({1}), answers=False)
        client.proxy.begin(fault)
        client.send(step())
        await client.no_answer()
        assert (client.broker.requests, client.proxy.record.rows, fault.frames) == ([], 1, 1)
        client.proxy.end(fault)
        assert await client.answer() == step()


async def test_held_requests_arrive_though_the_client_has_gone() -> None:
    async with connected() as client:
        fault = Fault(answers=False)
        client.proxy.begin(fault)
        client.send(step())
        await client.no_answer()
        client.writer.close()
        client.proxy.end(fault)
        await until(lambda: client.broker.requests == [step()])


async def test_answers_alone_can_be_held() -> None:
    async with connected() as client:
        client.proxy.begin(Fault(pids=frozenset({os.getpid()}), requests=False))
        client.send(step())
        await client.no_answer()
        assert client.broker.requests == [step()]


@pytest.mark.parametrize(
    "fault",
    [
        Fault(pids=frozenset({1})),
        Fault(brokers=frozenset({2})),
        Fault(requests=False, answers=False),
    ],
)
async def test_other_frames_pass(fault: Fault) -> None:
    async with connected() as client:
        client.proxy.begin(fault)
        client.send(step())
        assert await client.answer() == step()
        assert fault.frames == 0


async def test_only_steps_are_held() -> None:
    async with connected() as client:
        client.proxy.begin(Fault(answers=False, steps_only=True))
        client.send(step(0))
        await client.answer()
        client.send(step(1))
        await client.no_answer()


async def test_delayed_frames_keep_their_order() -> None:
    async with connected() as client:
        client.proxy.begin(Fault(answers=False, delay=(0.0, HOLD)))
        for rows in range(1, 6):
            client.send(step(rows))
        assert [await client.answer() for _ in range(5)] == [step(rows) for rows in range(1, 6)]


async def test_an_answer_is_lost_after_the_append() -> None:
    async with connected() as client:
        client.proxy.lose_answer(os.getpid())
        client.send(produce(claim(1)))
        assert await client.reader.read() == b""
        assert client.proxy.record.claims == [(1, os.getpid())]
        assert client.proxy.answers_lost == 1


async def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


def test_the_process_of_a_connection_is_found() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as connected,
    ):
        ports = connected.getsockname()[1], server.getsockname()[1]
        assert owner_of(*ports, [os.getpid()]) == os.getpid()
        assert owner_of(*ports, []) == 0


CONNECT_FROM = """
import socket, sys
port, to = map(int, sys.argv[1:])
connection = socket.socket()
connection.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
connection.bind(("127.0.0.1", port))
connection.connect(("127.0.0.1", to))
print("connected", flush=True)
sys.stdin.read()
"""


def test_two_processes_may_connect_from_the_same_port() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as one,
        socket.create_server(("127.0.0.1", 0)) as other,
        socket.socket() as connected,
    ):
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        connected.bind(("127.0.0.1", 0))
        connected.connect(one.getsockname())
        port, to = connected.getsockname()[1], other.getsockname()[1]
        command = [sys.executable, "-c", CONNECT_FROM, str(port), str(to)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"connected\n"
            both = [process.pid, os.getpid()]
            assert owner_of(port, one.getsockname()[1], both) == os.getpid()
            assert owner_of(port, to, both[::-1]) == process.pid
