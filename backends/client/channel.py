"""Channels to brokers that want TLS or SASL of those who command them."""

import logging
from typing import Any

from backends.broker_commands.channel import Channel, Connect, connect
from backends.client.connection import BrokerConnection
from backends.client.errors import AuthenticationError, BrokerError
from backends.client.handshake import Caller, open_connection
from backends.client.security import PLAINTEXT
from common.address import Address

log = logging.getLogger(__name__)

TIMEOUT_SECONDS = 30.0


class IntroducedChannel:
    """Implements `backends.broker_commands.channel.Channel` over a connection that is ready for requests."""

    def __init__(self, connection: BrokerConnection, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        self._connection, self._timeout = connection, timeout_seconds

    async def request(self, message: tuple[Any, ...], version: int) -> Any:
        """See `Channel.request`."""
        try:
            return await self._connection.ask(message, self._timeout, version)
        except BrokerError as error:
            raise OSError(str(error)) from error

    def close(self) -> None:
        """See `Channel.close`."""
        self._connection.abort("reassignd closed the connection")


def connector(caller: Caller) -> Connect:
    """Opens channels as the caller; in plain text without an introduction, which would be a round trip more.

    A refusal of the caller is logged, once for each text: nobody but people can help.
    """
    if caller.security == PLAINTEXT:
        return connect
    told: set[str] = set()

    async def introduced(host: str, port: int) -> Channel:
        try:
            return IntroducedChannel(await open_connection(Address(host, port), caller, TIMEOUT_SECONDS))
        except BrokerError as error:
            if isinstance(error, AuthenticationError) and str(error) not in told:
                told.add(str(error))
                log.error("%s", error)
            raise OSError(str(error)) from error

    return introduced
