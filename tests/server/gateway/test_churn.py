"""Many short connections on real sockets: their memory is freed without the garbage collector."""

import asyncio
import gc
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from struct import pack
from typing import Any

import pytest

from protocol.messages.metadata_request import MetadataRequest
from server.gateway.gateway import Gateway
from server.relay.brokers import UpstreamConnection
from server.relay.session import Relay
from server.relay.splitter import Splitter
from tests.server.gateway.sockets import FakeKafka, connect, gateway
from tests.server.sockets import Talk, until

CERTIFICATES = Path(__file__).parents[2] / "reassignd" / "tls"
ROUND = 20
UNFINISHED = pack(">ihhi", 480_000, 36, 2, 1) + bytes(300_000)
"""Most of a SaslAuthenticate request."""


@pytest.fixture(autouse=True)
def no_collector() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(params=[False, True], ids=["plain", "tls"])
async def served(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[tuple[Gateway, Any]]:
    """A gateway in front of one broker that requires SASL, and a way to connect to it."""
    theirs = ours = None
    if request.param:
        ours = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        ours.load_cert_chain(CERTIFICATES / "server.pem")
        theirs = ssl.create_default_context(cafile=CERTIFICATES / "ca.pem")
        theirs.check_hostname = False
    async with FakeKafka() as kafka:
        kafka.brokers = {1: kafka.address}
        async with gateway(tmp_path, kafka.brokers, tls=ours, authenticates=True) as running:
            yield running, theirs


def alive() -> set[Any]:
    """Return all live objects of this kind, including those of other tests."""
    return {each for each in gc.get_objects() if isinstance(each, Relay | Splitter | UpstreamConnection)}


async def answered(talk: Talk) -> None:
    await talk.ask(MetadataRequest(None), 12)
    await talk.close()


async def unfinished(talk: Talk) -> None:
    talk.writer.write(UNFINISHED)
    await talk.writer.drain()
    await talk.close()


async def refused(talk: Talk) -> None:
    talk.writer.write(b"GET / HTTP/1.1\r\n\r\n")
    await talk.ended()
    await talk.close()


@pytest.mark.parametrize("use", [answered, unfinished, refused, Talk.close, Talk.abort])
async def test_nothing_of_a_connection_outlives_it(
    served: tuple[Gateway, Any], use: Callable[[Talk], Awaitable[None]]
) -> None:
    running, tls = served
    others = alive()
    talks = [await connect(running.addresses[1], tls) for _ in range(ROUND)]
    await until(lambda: running.connections == ROUND)
    await asyncio.gather(*map(use, talks))
    del talks
    await until(lambda: running.connections == 0)
    await until(lambda: alive() <= others)
