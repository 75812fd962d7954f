"""A relay with fake transports to a client and an upstream, and an interceptor for each kind of exchange."""

import asyncio
from collections.abc import Awaitable
from struct import pack
from typing import Any, cast

from protocol.codec.errors import DecodeError
from server.connections.client_connection import ConnectionLimits
from server.counters import RelayCounters
from server.relay.brokers import NoBrokerError, UpstreamBrokers, UpstreamConnection
from server.relay.exchange import Exchange, IncomingRequest, Interceptor, RelayedClient, buffered
from server.relay.session import Relay, RelayedBroker, RelayServices
from tests.server.fakes import FakeHost, FakeTransport
from tests.server.rig import settle

PASSES, CHANGED, LATER, SILENT, REFUSED, HELD, KEPT = 8, 100, 101, 102, 103, 104, 105


def frame(*parts: bytes) -> bytes:
    body = b"".join(parts)
    return pack(">i", len(body)) + body


def request(key: int, number: int, body: bytes = b"") -> bytes:
    return frame(pack(">hhi", key, 0, number), body)


def answer(number: int, body: bytes = b"") -> bytes:
    return frame(pack(">i", number), body)


class FakeUpstreams:
    """Connects when the test permits it."""

    def __init__(self) -> None:
        self.transport = FakeTransport()
        self.upstream: UpstreamConnection | None = None
        self.let = asyncio.Event()
        self.reachable = True

    async def connect(self, broker: int, client: Any) -> UpstreamConnection:
        await self.let.wait()
        if not self.reachable:
            raise NoBrokerError
        self.upstream = UpstreamConnection(client)
        self.upstream.connection_made(self.transport)
        return self.upstream


class Rig:
    def __init__(self, limits: ConnectionLimits | None = None, *, authenticates: bool = False) -> None:
        self.client = FakeTransport()
        self.upstreams = FakeUpstreams()
        self.counts = RelayCounters()
        self.later: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self.host = FakeHost()
        rules: dict[int, Interceptor] = {
            CHANGED: lambda incoming, _: Exchange(b"<asked>", buffered(lambda payload: b"<ours>")),
            LATER: lambda incoming, _: Exchange(finish=buffered(lambda payload: self._wait())),
            KEPT: lambda incoming, _: (
                Exchange(b"<asked>", buffered(lambda payload: self._wait()))
                if incoming.complete
                else incoming.size
            ),
            SILENT: lambda incoming, _: Exchange(answered=False),
            REFUSED: self._refuse,
            HELD: lambda incoming, _: incoming.size if not incoming.complete else Exchange(),
        }
        upstreams = cast(UpstreamBrokers, self.upstreams)
        shared = RelayServices(upstreams, rules, limits or ConnectionLimits(), self.counts, authenticates)
        self.relay = Relay(shared, RelayedBroker(1), self.host)
        self.relay.connection_made(self.client)

    async def connected(self) -> "Rig":
        self.upstreams.let.set()
        await settle()
        self.client.flow.clear()
        return self

    def _wait(self) -> Awaitable[bytes]:
        return self.later

    def _refuse(self, incoming: IncomingRequest, client: RelayedClient) -> Exchange:
        raise DecodeError("not served")

    def ask(self, *requests: bytes) -> None:
        self.relay.data_received(b"".join(requests))

    def reply(self, *answers: bytes) -> None:
        self.relay.upstream_received(b"".join(answers))

    @property
    def sent(self) -> bytes:
        """Return the bytes sent to the upstream since the last call."""
        written, self.upstreams.transport.writes = self.upstreams.transport.writes, []
        return b"".join(written)

    @property
    def got(self) -> bytes:
        """Return the bytes sent to the client since the last call."""
        written, self.client.writes = self.client.writes, []
        return b"".join(written)
