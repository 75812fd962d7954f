"""The other end of a client's connection: the one to the upstream's broker."""

import asyncio
from typing import Protocol, cast

HIGH_WATER = 256 * 1024
"""Bytes that wait to be written, at either end, before the other end is not read any more."""


class Flow:
    """Reading from a transport: it goes on while nobody objects."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._objections: set[str] = set()

    @property
    def reading(self) -> bool:
        """Nobody objects."""
        return not self._objections

    def hold(self, reason: str) -> None:
        """Object."""
        if not self._objections:
            self._transport.pause_reading()
        self._objections.add(reason)

    def release(self, reason: str) -> None:
        """Object no more."""
        if reason in self._objections:
            self._objections.remove(reason)
            if not self._objections and not self._transport.is_closing():
                self._transport.resume_reading()


class Client(Protocol):
    """The client's end, as this one sees it."""

    def upstream_received(self, data: bytes) -> None: ...

    def upstream_writable(self, writable: bool) -> None: ...

    def upstream_lost(self) -> None: ...


class Upstream(asyncio.Protocol):
    """Hands on what it reads."""

    transport: asyncio.Transport
    flow: Flow

    def __init__(self, client: Client) -> None:
        self._client = client

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.set_write_buffer_limits(high=HIGH_WATER)
        self.flow = Flow(self.transport)

    def data_received(self, data: bytes) -> None:
        self._client.upstream_received(data)

    def pause_writing(self) -> None:
        self._client.upstream_writable(False)

    def resume_writing(self) -> None:
        self._client.upstream_writable(True)

    def connection_lost(self, exc: Exception | None) -> None:
        self._client.upstream_lost()
