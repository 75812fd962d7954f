"""The connection to a broker that belongs to one client's connection."""

import asyncio
from typing import Protocol, cast

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
