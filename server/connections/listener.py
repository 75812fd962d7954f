"""The listeners of all brokers. They accept by themselves: a connection counts before its TLS handshake, not after it.

asyncio's own servers tell of a connection when its handshake is over, wait a minute for that, and uvloop's close for good
where there is no descriptor for a connection.
"""

import asyncio
import logging
import socket
from collections.abc import Callable
from functools import partial
from ssl import SSLContext
from typing import Generic, Protocol, TypeVar

from server.connections.client_connection import Host, ServedConnection
from server.connections.registry import ConnectionRegistry

log = logging.getLogger(__name__)

BACKLOG = 1024
AT_ONCE = 100
"""Connections accepted before others have their turn."""

RETRY_SECONDS = 0.5
"""Until the next try after one to accept has failed, for want of descriptors above all."""


class Numbered(Protocol):
    """A broker, of which only the id counts here."""

    @property
    def id(self) -> int: ...


Broker = TypeVar("Broker", bound=Numbered)
Make = Callable[[Broker, Host], ServedConnection]
"""Makes what serves one connection to a broker."""


class Listeners(Generic[Broker]):
    """Opens and closes one listener a broker, with TLS if there is a context. `crowd` has the bounds of all connections."""

    def __init__(self, make: Make[Broker], crowd: ConnectionRegistry, tls: SSLContext | None = None) -> None:
        self._make = make
        self._crowd = crowd
        self._tls = tls
        self._doors: dict[int, list[_Door]] = {}
        self._arriving: dict[asyncio.Task[None], int] = {}
        """Connections that are accepted and not made yet, with the broker that each is to."""
        self._guests: dict[ServedConnection, int] = {}
        """Those that are made."""

    @property
    def connections(self) -> int:
        """How many are open, of all that share our crowd."""
        return self._crowd.connections

    async def open(self, broker: Broker, host: str, port: int) -> tuple[str, int]:
        """Listen for `broker`; return the address, whose port was chosen if `port` is 0. OSError if that fails."""
        sockets = await _bound(host, port)
        self._crowd.start()
        self._doors[broker.id] = [_Door(each, partial(self._accepted, broker)) for each in sockets]
        bound_host, bound_port, *_ = sockets[0].getsockname()
        return bound_host, bound_port

    async def close(self, broker_id: int) -> None:
        """Stop listening for the broker, and cut its connections, as if it had died."""
        for door in self._doors.pop(broker_id):
            door.close()
        arriving = [task for task, to in self._arriving.items() if to == broker_id]
        await _cancelled(arriving)
        await self._crowd.send_off(guest for guest, to in self._guests.items() if to == broker_id)

    async def close_all(self, grace: float) -> None:
        """Stop listening, finish the answers under way within `grace` seconds, and close all connections."""
        for doors in self._doors.values():
            for door in doors:
                door.close()
        self._doors.clear()
        await _cancelled(self._arriving)
        pending = [guest.pending for guest in self._guests if guest.pending is not None]
        if pending:
            await asyncio.wait(pending, timeout=grace)
        await self._crowd.send_off(self._guests)
        self._crowd.stop()

    def ended(self, guest: ServedConnection) -> None:
        """See `server.connections.client_connection.Host`."""
        del self._guests[guest]
        self._crowd.ended(guest)

    def holds(self, guest: ServedConnection, size: int) -> None:
        """See `server.connections.client_connection.Host`."""
        self._crowd.holds(guest, size)

    def _accepted(self, broker: Broker, arrived: socket.socket, peer: str) -> None:
        if not self._crowd.enter(peer):
            arrived.close()
            return
        arrival = _Arrival(partial(self._admit, broker))
        task = asyncio.create_task(self._welcome(arrival, arrived))
        self._arriving[task] = broker.id
        task.add_done_callback(partial(self._arrived, arrival, arrived))

    async def _welcome(self, arrival: "_Arrival", arrived: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        limits = self._crowd.limits
        handshake, leave = (None, None) if self._tls is None else (limits.handshake, limits.leave)
        try:
            await loop.connect_accepted_socket(
                lambda: arrival,
                arrived,
                ssl=self._tls,
                ssl_handshake_timeout=handshake,
                ssl_shutdown_timeout=leave,
            )
        except OSError as error:
            log.debug("a connection ended before it was made: %s", error)

    def _arrived(self, arrival: "_Arrival", arrived: socket.socket, task: asyncio.Task[None]) -> None:
        """It has a guest now, or never will have."""
        del self._arriving[task]
        if not arrival.admitted:
            arrived.close()
            self._crowd.leave()
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a connection could not be made", exc_info=error)

    def _admit(self, broker: Broker) -> ServedConnection:
        guest = self._make(broker, self)
        self._guests[guest] = broker.id
        self._crowd.admit(guest)
        return guest


class _Door:
    """A socket that listens."""

    def __init__(self, listening: socket.socket, accepted: Callable[[socket.socket, str], None]) -> None:
        self._listening = listening
        self._accepted = accepted
        self._loop = asyncio.get_running_loop()
        self._retry: asyncio.TimerHandle | None = None
        self._failing = False
        self._open()

    def close(self) -> None:
        """Accept nothing more."""
        if self._retry is not None:
            self._retry.cancel()
        self._loop.remove_reader(self._listening)
        self._listening.close()

    def _open(self) -> None:
        self._retry = None
        self._loop.add_reader(self._listening, self._accept)

    def _accept(self) -> None:
        for _ in range(AT_ONCE):
            try:
                arrived, (host, port, *_) = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._pause(error)
                return
            self._failing = False
            arrived.setblocking(False)
            self._accepted(arrived, f"{host}:{port}")

    def _pause(self, error: OSError) -> None:
        """Clients wait in the backlog meanwhile."""
        self._loop.remove_reader(self._listening)
        self._retry = self._loop.call_later(RETRY_SECONDS, self._open)
        if not self._failing:
            self._failing = True
            log.error("connections cannot be accepted: %s; it is tried again until they can", error)


class _Arrival(asyncio.Protocol):
    """A connection until it is made, which with TLS is after the handshake, and may never be."""

    def __init__(self, admit: Callable[[], ServedConnection]) -> None:
        self._admit = admit
        self.admitted = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        guest = self._admit()
        self.admitted = True
        transport.set_protocol(guest)
        guest.connection_made(transport)


async def _bound(host: str, port: int) -> list[socket.socket]:
    """Sockets that listen on every address of the host, all on one port. Raises OSError."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    sockets: list[socket.socket] = []
    try:
        for family, address in dict.fromkeys((family, place[:2]) for family, *_, place in found):
            chosen = port or (sockets[0].getsockname()[1] if sockets else 0)
            made = socket.create_server((str(address[0]), chosen), family=family, backlog=BACKLOG)
            made.setblocking(False)
            sockets.append(made)
    except OSError:
        for each in sockets:
            each.close()
        raise
    return sockets


async def _cancelled(tasks: "list[asyncio.Task[None]] | dict[asyncio.Task[None], int]") -> None:
    """Cancel these; they have ended when this returns."""
    ending = list(tasks)
    for task in ending:
        task.cancel()
    if ending:
        await asyncio.wait(ending)
