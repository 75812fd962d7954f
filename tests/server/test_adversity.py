"""Misbehaving clients on real sockets: their own connection is closed or waits, other clients are served."""

import asyncio
import random
import resource
from collections.abc import AsyncIterator, Callable
from struct import pack

import pytest

from protocol.messages.api_versions_request import ApiVersionsRequest
from protocol.messages.describe_cluster_request import DescribeClusterRequest
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from protocol.messages.metadata_request import MetadataRequest
from server.connections import registry
from server.connections.client_connection import ConnectionLimits
from tests.server.fakes import FakeClient
from tests.server.sockets import PROMPT, Served, Talk, serving, until

GOOD = DescribeClusterRequest()


@pytest.fixture(autouse=True)
def quick_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "CHECK_SECONDS", 0.01)


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    async with serving() as site:
        yield site


async def others_are_served(served: Served) -> None:
    talk = await served.connect()
    assert (await talk.ask(GOOD, 1)).error_code == 0
    await talk.close()


def frame(body: bytes) -> bytes:
    return pack(">i", len(body)) + body


def header(key: int, version: int) -> bytes:
    return pack(">hhih", key, version, 1, -1)


BAD = {
    "a request of another protocol": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a TLS greeting": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500),
    "a negative length": pack(">i", -1),
    "a length beyond 100 MiB": pack(">i", 100 * 1024 * 1024 + 1),
    "the largest length": pack(">i", 2**31 - 1),
    "an empty frame": frame(b""),
    "a frame shorter than a header": frame(b"\0\x12\0\0\0"),
    "an unknown key": frame(header(999, 0)),
    "a negative key": frame(header(-1, 0)),
    "an unknown version": frame(header(45, 2) + b"\0"),
    "a negative version": frame(header(3, -1)),
    "an array of 2^31 - 1 elements": frame(header(3, 4) + pack(">i", 2**31 - 1)),
    "a compact array of 2^32 - 2 elements": frame(header(46, 0) + b"\0" + bytes(4) + b"\xff\xff\xff\xff\x0f"),
    "a string longer than the frame": frame(header(10, 0) + pack(">h", 32767) + b"abc"),
    "a null where there is none": frame(header(10, 0) + pack(">h", -1)),
    "a varint without end": frame(header(46, 0) + b"\xff" * 50),
    "text that is not UTF-8": frame(header(10, 0) + pack(">h", 2) + b"\xc3\x28"),
}


@pytest.mark.parametrize("data", BAD.values(), ids=BAD.keys())
async def test_a_bad_frame_closes_its_connection_with_one_log_line(
    served: Served, caplog: pytest.LogCaptureFixture, data: bytes
) -> None:
    talk = await served.connect()
    host, port = talk.writer.get_extra_info("sockname")
    talk.writer.write(data)
    assert await talk.ended()
    (line,) = [record.getMessage() for record in caplog.records if record.name.startswith("server")]
    assert line.startswith(f"closed the connection of {host}:{port}: ")
    await talk.close()
    await others_are_served(served)


async def test_good_requests_before_a_bad_one_are_answered(served: Served) -> None:
    talk = await served.connect()
    good = [talk.client.ask(GOOD, 1), talk.client.ask(MetadataRequest(topics=None), 12)]
    talk.writer.write(b"".join(good) + BAD["an unknown key"] + talk.client.ask(GOOD, 1))
    assert (await talk.answer()).cluster_id == "cluster-1"
    assert (await talk.answer()).topics[0].name == "foo"
    assert await talk.ended()
    await talk.close()


async def test_a_newer_api_versions_gets_the_supported_versions_and_stays_connected(served: Served) -> None:
    talk = await served.connect()
    talk.writer.write(frame(header(18, 5) + b"\0"))
    assert (await talk.receive(20))[8:10] == b"\0\x23"
    assert (await talk.ask(ApiVersionsRequest("a", "1"), 3)).error_code == 0
    await talk.close()


async def test_bytes_after_a_message_are_ignored(served: Served) -> None:
    talk = await served.connect()
    request = talk.client.ask(GOOD, 1)[4:]
    talk.writer.write(frame(request + b"more"))
    assert (await talk.answer()).error_code == 0
    await talk.close()


@pytest.mark.parametrize("size", [1, 3, 4, 5, 12])
async def test_a_request_that_never_completes_is_aborted(caplog: pytest.LogCaptureFixture, size: int) -> None:
    async with serving(ConnectionLimits(frame=0.02)) as served:
        talk = await served.connect()
        talk.writer.write(talk.client.ask(GOOD, 1)[:size])
        assert await talk.ended()
        assert "a request was not complete after 0.02 s" in caplog.text
        await talk.close()


async def test_a_slow_writer_is_answered_and_delays_no_other_client(served: Served) -> None:
    talk = await served.connect()
    *first, last = talk.client.ask(GOOD, 1)
    for byte in first:
        talk.writer.write(bytes([byte]))
        await talk.writer.drain()
    await others_are_served(served)
    talk.writer.write(bytes([last]))
    assert (await talk.answer()).error_code == 0
    await talk.close()


async def test_a_frame_length_alone_allocates_no_memory(served: Served) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    talks = [await served.connect() for _ in range(50)]
    for talk in talks:
        talk.writer.write(pack(">i", 100 * 1024 * 1024) + bytes(1000))
        await talk.writer.drain()
    await others_are_served(served)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000
    for talk in talks:
        await talk.close()


async def flood(talk: Talk, requests: bytes) -> None:
    """Send requests without reading answers, until the server closes the connection."""
    while True:
        talk.writer.write(requests)
        await talk.writer.drain()


async def test_a_client_that_does_not_read_is_not_read_from(caplog: pytest.LogCaptureFixture) -> None:
    async with serving(ConnectionLimits(idle=1)) as served:
        talk = await served.connect()
        talk.writer.transport.set_write_buffer_limits(0)
        with pytest.raises(ConnectionError):
            await asyncio.wait_for(
                flood(talk, talk.client.ask(ApiVersionsRequest("a", "1"), 3) * 1000), PROMPT
            )
        answered = served.stats.requests[18]
        await others_are_served(served)
        assert served.stats.requests[18] == answered
        assert "idle for 1 s" in caplog.text
        await talk.abort()


async def test_a_client_that_disconnects_during_an_answer_affects_no_other_client(served: Served) -> None:
    served.held = asyncio.Event()
    talk = await served.connect()
    talk.writer.write(talk.client.ask(GOOD, 1) * 3)
    await talk.writer.drain()
    await talk.abort()
    await until(lambda: not served.listeners.connections)
    served.held = None
    await others_are_served(served)


async def test_a_thousand_idle_connections_delay_no_other_client() -> None:
    async with serving() as served:
        talks = [await served.connect() for _ in range(1000)]
        await asyncio.wait_for(others_are_served(served), PROMPT)
        await until(lambda: served.listeners.connections == 1000)
        for talk in talks:
            await talk.abort()


def mutations(seed: int) -> list[bytes]:
    """Return valid requests with some bytes changed, deleted or inserted."""
    dice = random.Random(seed)
    client = FakeClient()
    requests = [
        client.ask(ApiVersionsRequest("a", "1"), 4),
        client.ask(MetadataRequest(topics=None), 12),
        client.ask(ListPartitionReassignmentsRequest(topics=None), 0),
        client.ask(GOOD, 1),
    ]
    kinds: list[Callable[[bytes, int], bytes]] = [
        lambda data, at: data[:at] + dice.randbytes(1) + data[at + 1 :],
        lambda data, at: data[:at] + data[at + dice.randrange(1, 8) :],
        lambda data, at: data[:at] + dice.randbytes(dice.randrange(1, 8)) + data[at:],
        lambda data, at: data[:at] + b"\xff" * 5 + data[at:],
    ]
    bad = []
    for _ in range(40):
        data = dice.choice(requests)
        for _ in range(dice.randrange(1, 4)):
            data = dice.choice(kinds)(data, dice.randrange(len(data)))
        bad.append(data)
    return bad


@pytest.mark.parametrize("seed", range(5))
async def test_the_server_survives_any_bytes(
    served: Served, caplog: pytest.LogCaptureFixture, seed: int
) -> None:
    for data in mutations(seed):
        talk = await served.connect()
        talk.writer.write(data)
        talk.writer.write_eof()
        await asyncio.wait_for(talk.reader.read(), PROMPT)
        await talk.close()
    await others_are_served(served)
    assert [record for record in caplog.records if record.exc_info] == []
