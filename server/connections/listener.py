"""Listeners that count a connection when it is accepted, before its TLS handshake."""

import asyncio
import logging
import socket
from collections.abc import Callable
from functools import partial
from ssl import SSLContext
from typing import Generic, Protocol, TypeVar

from common.accepting import Acceptor
from common.tls import handshake_failure
from server.connections.client_connection import Host, ServedConnection
from server.connections.registry import ConnectionRegistry

log = logging.getLogger(__name__)

BACKLOG = 1024


class HasId(Protocol):
    """An object with a broker id."""

    @property
    def id(self) -> int: ...


Broker = TypeVar("Broker", bound=HasId)
Make = Callable[[Broker, Host], ServedConnection]
"""Creates the protocol of one connection to a broker."""


class Listeners(Generic[Broker]):
    """One listener per broker, with TLS if there is a context.

    `registry` limits the connections of all listeners.
    """

    def __init__(
        self, make: Make[Broker], registry: ConnectionRegistry, tls: SSLContext | None = None
    ) -> None:
        self._make = make
        self._registry = registry
        self._tls = tls
        self._sockets: dict[int, list[Acceptor]] = {}
        self._handshakes: dict[asyncio.Task[None], int] = {}
        """Task of an accepted connection whose TLS handshake is in progress -> broker id."""
        self._served: dict[ServedConnection, int] = {}
        """Established connection -> broker id."""

    def serve(self, broker: Broker, own_end: socket.socket, make: Make[Broker]) -> None:
        """Serve a socket that this process has connected to itself, without TLS.

        Raises ConnectionRefusedError while the broker has no listener.
        """
        if broker.id not in self._sockets or not self._registry.enter("this process"):
            raise ConnectionRefusedError(f"broker {broker.id} does not accept connections")
        handshake = _Handshake(partial(self._admit, broker, make), "this process")
        self._establish(handshake, broker, own_end, None)

    @property
    def connections(self) -> int:
        """Number of open connections of all listeners that share the registry."""
        return self._registry.connections

    async def open(self, broker: Broker, host: str, port: int) -> tuple[str, int]:
        """Open the broker's listener; return its host and port.

        Port 0 chooses a free port. Raises OSError.
        """
        sockets = await _bound(host, port)
        self._registry.start()
        self._sockets[broker.id] = [Acceptor(bound, partial(self._accepted, broker)) for bound in sockets]
        bound_host, bound_port, *_ = sockets[0].getsockname()
        return bound_host, bound_port

    async def close(self, broker_id: int) -> None:
        """Close the broker's listener and connections without waiting for answers, as in a crash."""
        for listening in self._sockets.pop(broker_id):
            listening.close()
        handshakes = [task for task, broker in self._handshakes.items() if broker == broker_id]
        await _cancelled(handshakes)
        await self._registry.close_all(
            connection for connection, broker in self._served.items() if broker == broker_id
        )

    async def close_all(self, grace: float) -> None:
        """Close all listeners, wait `grace` seconds at most for answers, and close all connections."""
        for sockets in self._sockets.values():
            for listening in sockets:
                listening.close()
        self._sockets.clear()
        await _cancelled(self._handshakes)
        pending = [connection.pending for connection in self._served if connection.pending is not None]
        if pending:
            await asyncio.wait(pending, timeout=grace)
        await self._registry.close_all(self._served)
        self._registry.stop()

    def ended(self, connection: ServedConnection) -> None:
        """See `server.connections.client_connection.Host`."""
        del self._served[connection]
        self._registry.ended(connection)

    def set_buffered(self, connection: ServedConnection, size: int) -> None:
        """See `server.connections.client_connection.Host`."""
        self._registry.set_buffered(connection, size)

    def closes(self, peer: str, reason: str) -> None:
        """See `server.connections.client_connection.Host`."""
        self._registry.closes(peer, reason)

    def _accepted(self, broker: Broker, client_socket: socket.socket, peer: str) -> None:
        if not self._registry.enter(peer):
            client_socket.close()
            return
        handshake = _Handshake(partial(self._admit, broker, self._make), peer)
        self._establish(handshake, broker, client_socket, self._tls)

    def _establish(
        self, handshake: "_Handshake", broker: Broker, client_socket: socket.socket, tls: SSLContext | None
    ) -> None:
        task = asyncio.create_task(self._shake_hands(handshake, client_socket, tls))
        self._handshakes[task] = broker.id
        task.add_done_callback(partial(self._handshake_ended, handshake, client_socket))

    async def _shake_hands(
        self, handshake: "_Handshake", client_socket: socket.socket, tls: SSLContext | None
    ) -> None:
        loop = asyncio.get_running_loop()
        limits = self._registry.limits
        timeouts = (None, None) if tls is None else (limits.handshake, limits.leave)
        try:
            await loop.connect_accepted_socket(
                lambda: handshake,
                client_socket,
                ssl=tls,
                ssl_handshake_timeout=timeouts[0],
                ssl_shutdown_timeout=timeouts[1],
            )
        except OSError as error:
            reason = None if tls is None else handshake_failure(error)
            if reason is None:
                log.debug("a connection ended before it was established: %s", error)
            else:
                self._registry.closes(handshake.peer, reason)

    def _handshake_ended(
        self, handshake: "_Handshake", client_socket: socket.socket, task: asyncio.Task[None]
    ) -> None:
        del self._handshakes[task]
        if not handshake.established:
            client_socket.close()
            self._registry.leave()
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a connection could not be established", exc_info=error)

    def _admit(self, broker: Broker, make: Make[Broker]) -> ServedConnection:
        connection = make(broker, self)
        self._served[connection] = broker.id
        self._registry.admit(connection)
        return connection


class _Handshake(asyncio.Protocol):
    """Protocol of an accepted connection until its TLS handshake is complete.

    Without TLS it is complete at once.
    """

    def __init__(self, admit: Callable[[], ServedConnection], peer: str) -> None:
        self._admit, self.peer = admit, peer
        self.established = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        connection = self._admit()
        self.established = True
        transport.set_protocol(connection)
        connection.connection_made(transport)


async def _bound(host: str, port: int) -> list[socket.socket]:
    """Return sockets that listen on every address of the host, all on the same port. Raises OSError."""
    loop = asyncio.get_running_loop()
    results = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    sockets: list[socket.socket] = []
    try:
        for family, address in dict.fromkeys((family, sockaddr[:2]) for family, *_, sockaddr in results):
            chosen = port or (sockets[0].getsockname()[1] if sockets else 0)
            listening = socket.create_server((str(address[0]), chosen), family=family, backlog=BACKLOG)
            sockets.append(listening)
    except OSError:
        for bound in sockets:
            bound.close()
        raise
    return sockets


async def _cancelled(tasks: "list[asyncio.Task[None]] | dict[asyncio.Task[None], int]") -> None:
    """Cancel the tasks and wait for their end."""
    ending = list(tasks)
    for task in ending:
        task.cancel()
    if ending:
        await asyncio.wait(ending)
