"""Connections for components that send one request at a time in versions they choose, and retry on OSError.

Broker commands, the embedded brokers and the detection of a cluster's protocol use these channels.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Protocol

from backends.client.connection import BrokerConnection
from backends.client.errors import AuthenticationError, BrokerError
from backends.client.handshake import ClientSettings, open_connection
from backends.client.security import PLAINTEXT
from common.address import Address
from protocol.codec.schema import Request, Response

log = logging.getLogger(__name__)

TIMEOUT_SECONDS = 30.0
"""For connecting, and again for each request."""

ASK_SECONDS = 2.0
"""Default timeout of `ask_once`."""


class Channel(Protocol):
    """A connection that carries one request at a time."""

    async def request(self, message: Request[Response], version: int) -> Response:
        """Return the response.

        Raises OSError when the connection is lost or the broker does not answer in time.
        """
        ...

    def close(self) -> None:
        """Close the connection; a request in flight fails."""
        ...


Connect = Callable[[str, int], Awaitable[Channel]]
"""Opens a channel to a host and port. Raises OSError."""


class BrokerChannel:
    """A `Channel` over a `BrokerConnection`: raises OSError instead of BrokerError."""

    def __init__(self, connection: BrokerConnection, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        self._connection, self._timeout = connection, timeout_seconds

    async def request(self, message: Request[Response], version: int) -> Response:
        """See `Channel.request`."""
        try:
            return await self._connection.ask(message, self._timeout, version)
        except BrokerError as error:
            raise OSError(str(error)) from error

    def close(self) -> None:
        """See `Channel.close`."""
        self._connection.abort("reassignd closed the connection")


async def connect(host: str, port: int, timeout_seconds: float = TIMEOUT_SECONDS) -> Channel:
    """Open a plaintext channel without asking for the broker's versions, which saves a round trip.

    Raises OSError.
    """
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(timeout_seconds):
        _, connection = await loop.create_connection(
            lambda: BrokerConnection(Address(host, port), ClientSettings().client_id), host, port
        )
    connection.checks_versions = False
    return BrokerChannel(connection, timeout_seconds)


def connector(client_settings: ClientSettings) -> Connect:
    """Return a function that opens channels with the caller's security.

    A failed authentication is logged, once for each message: retrying cannot help, the settings must be
    changed.
    """
    if client_settings.security == PLAINTEXT:
        return connect
    logged: set[str] = set()

    async def authenticated(host: str, port: int) -> Channel:
        try:
            return BrokerChannel(await open_connection(Address(host, port), client_settings, TIMEOUT_SECONDS))
        except BrokerError as error:
            if isinstance(error, AuthenticationError) and str(error) not in logged:
                logged.add(str(error))
                log.error("%s", error)
            raise OSError(str(error)) from error

    return authenticated


async def ask_once(
    connect: Connect,
    host: str,
    port: int,
    message: Request[Response],
    version: int,
    seconds: float = ASK_SECONDS,
) -> Response:
    """Return the response to one request on a connection of its own.

    `seconds` limits connecting, and again the request. Raises OSError.
    """
    async with asyncio.timeout(seconds):
        channel = await connect(host, port)
    try:
        async with asyncio.timeout(seconds):
            return await channel.request(message, version)
    finally:
        channel.close()


class BrokerClient(Protocol):
    """Sends requests to brokers."""

    async def ask(self, request: Request[Response], broker: int | None = None) -> Response:
        """Return the response of the broker with this id, or of any broker. Raises BrokerError."""
        ...
