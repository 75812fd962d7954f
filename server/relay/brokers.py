"""The brokers behind a relay.

This module has their addresses, and the connection to one of them that belongs to a client's.
"""

import asyncio
import logging
from collections.abc import Mapping
from ssl import SSLContext
from typing import Protocol, cast
from weakref import WeakKeyDictionary

from common.address import Address

log = logging.getLogger(__name__)


HIGH_WATER = 256 * 1024
"""Unsent bytes at one end above which the other end is not read."""


class FlowControl:
    """Pauses and resumes reading from a transport. Reading is paused while there is at least one reason."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._reasons: set[str] = set()

    @property
    def reading(self) -> bool:
        """Reading is not paused."""
        return not self._reasons

    def hold(self, reason: str) -> None:
        """Pause reading for this reason."""
        if not self._reasons:
            self._transport.pause_reading()
        self._reasons.add(reason)

    def release(self, reason: str) -> None:
        """Remove the reason; resume reading when it was the last one."""
        if reason in self._reasons:
            self._reasons.remove(reason)
            if not self._reasons and not self._transport.is_closing():
                self._transport.resume_reading()


class ClientSide(Protocol):
    """The callbacks of the client's connection."""

    def upstream_received(self, data: bytes) -> None: ...

    def upstream_writable(self, writable: bool) -> None: ...

    def upstream_lost(self) -> None: ...


class UpstreamConnection(asyncio.Protocol):
    """Passes what the broker sends to the client's side."""

    transport: asyncio.Transport
    flow: FlowControl

    def __init__(self, client: ClientSide) -> None:
        self._client = client

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.set_write_buffer_limits(high=HIGH_WATER)
        self.flow = FlowControl(self.transport)

    def data_received(self, data: bytes) -> None:
        self._client.upstream_received(data)

    def pause_writing(self) -> None:
        self._client.upstream_writable(False)

    def resume_writing(self) -> None:
        self._client.upstream_writable(True)

    def connection_lost(self, exc: Exception | None) -> None:
        self._client.upstream_lost()


CONNECT_SECONDS = 10.0


ANY = -1
"""Broker id that stands for any reachable broker."""


class NoBrokerError(Exception):
    """No broker could be reached; the reason was logged."""


class UpstreamBrokers:
    """Connects to brokers, with TLS if there is a context: to a given broker, or to any."""

    def __init__(self, tls: SSLContext | None = None, timeout: float = CONNECT_SECONDS) -> None:
        self._tls = tls
        self._timeout = timeout
        self._brokers: dict[int, Address] = {}
        self._failing: set[int] = set()
        """Brokers whose failure was logged. They are tried last."""
        self._connected: WeakKeyDictionary[UpstreamConnection, tuple[int, Address]] = WeakKeyDictionary()
        """Connection -> broker and its address at that time."""
        self._round_robin = 0

    def update(self, brokers: Mapping[int, Address]) -> None:
        """Replace the list of brokers.

        Connections to brokers that were removed or replaced are aborted, because a broker that hangs, or
        whose machine is gone, may never close them.
        """
        self._failing -= {
            broker for broker, address in brokers.items() if self._brokers.get(broker) != address
        }
        self._brokers = dict(brokers)
        for connection, (broker, address) in list(self._connected.items()):
            if brokers.get(broker) != address:
                connection.transport.abort()

    def add(self, broker: int, address: Address) -> None:
        """Add one broker."""
        self._brokers[broker] = address

    async def connect(self, broker: int, client: ClientSide) -> UpstreamConnection:
        """Connect to the broker, or to any for ANY; `client` gets what it sends. Raises NoBrokerError."""
        for candidate in self._candidates() if broker == ANY else [broker]:
            connection = await self._try(candidate, client)
            if connection is not None:
                return connection
        raise NoBrokerError

    def _candidates(self) -> list[int]:
        """Return all brokers, each call starting with the next one; failing brokers come last."""
        ids = sorted(self._brokers)
        self._round_robin += 1
        first = self._round_robin % max(len(ids), 1)
        rotated = [*ids[first:], *ids[:first]]
        return sorted(rotated, key=self._failing.__contains__)

    async def _try(self, broker: int, client: ClientSide) -> UpstreamConnection | None:
        address = self._brokers.get(broker)
        if address is None:
            return None
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._timeout):
                _, connection = await loop.create_connection(
                    lambda: UpstreamConnection(client), *address, ssl=self._tls
                )
        # ValueError: an invalid host name (UnicodeError), or an empty one where TLS needs it.
        except (OSError, ValueError) as error:
            if broker not in self._failing:
                self._failing.add(broker)
                log.warning(
                    "broker %d at %s cannot be reached: %s", broker, address, _reason(error, self._timeout)
                )
            return None
        self._connected[connection] = broker, address
        if broker in self._failing:
            self._failing.remove(broker)
            log.info("broker %d at %s can be reached again", broker, address)
        return connection


def _reason(error: Exception, timeout: float) -> str:
    return f"no connection after {timeout:g} s" if isinstance(error, TimeoutError) else str(error)
