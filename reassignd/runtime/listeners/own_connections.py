"""Connections of the simulated brokers to each other, where clients must log in: pairs of sockets of this process.

Nobody else can open them, so they need no credentials. Each one ends with the broker's listener, like those of
clients.
"""

import asyncio
import socket
from collections.abc import Callable
from functools import partial

from backends.client.channel import TIMEOUT_SECONDS, BrokerChannel, Channel
from backends.client.connection import BrokerConnection
from backends.client.handshake import Caller
from common.address import Address
from server.connections.client_connection import ConnectionLimits, Host, ServedConnection
from server.connections.session import Answer, Session
from server.dispatch.context import BrokerPort
from server.security.gate import TRUSTED

Serve = Callable[[int, socket.socket, Callable[[BrokerPort, Host], ServedConnection]], None]
"""Serves a socket as a connection to the broker with this port; see `BrokerPorts.serve`."""


async def connect_to_itself(
    serve: Serve, answer: Answer, limits: ConnectionLimits, host: str, port: int
) -> Channel:
    """Implements `backends.client.channel.Connect` for the brokers of this process. Raises OSError."""
    near, far = socket.socketpair()
    try:
        near.setblocking(False)
        far.setblocking(False)
        serve(port, far, partial(Session, answer, limits, gate=TRUSTED))
        _, connection = await asyncio.get_running_loop().create_unix_connection(
            lambda: BrokerConnection(Address(host, port), Caller().client_id), sock=near
        )
    except BaseException:
        near.close()
        far.close()
        raise
    connection.checks_versions = False
    return BrokerChannel(connection, TIMEOUT_SECONDS)
