"""The readers of the event stream.

The events that wait for a reader are bounded; a reader that is too slow is dropped.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

import msgspec

from controller.state.state import Decision, State
from server.events.changes import events_of
from server.events.models import End, Event, Start

MAX_READERS = 100
MAX_BYTES = 1024 * 1024
"""Bytes of events that wait for one reader."""
HEARTBEAT_SECONDS = 15.0
"""Time without events after which a comment is sent, so that proxies and clients notice a lost connection."""

COMMENT = b": still connected\n\n"
TOO_SLOW = f"the reader is too slow: more than {MAX_BYTES:,} bytes waited"
STOPPED = "the server is stopping, or is no longer the controller"

_encoder = msgspec.json.Encoder()


class TooManyReadersError(Exception):
    """There are `MAX_READERS` readers already."""


class Reader:
    """The events that wait for one reader."""

    def __init__(self, first: bytes) -> None:
        self._waiting = bytearray(first)
        self._ended = False
        self._added = asyncio.Event()
        self._added.set()

    def add(self, frame: bytes) -> None:
        """Add an event. If more than the limit would wait, all are dropped and the stream ends."""
        if self._ended:
            return
        if len(self._waiting) + len(frame) > MAX_BYTES:
            self._waiting.clear()
            self.end(TOO_SLOW)
            return
        self._waiting += frame
        self._added.set()

    def end(self, reason: str) -> None:
        """End the stream after the waiting events."""
        if not self._ended:
            self._ended = True
            self._waiting += _frame(End(reason))
            self._added.set()

    async def frames(self, refusal: Callable[[], str]) -> AsyncIterator[bytes]:
        """Yield the bytes to send, until the stream ends: all events that wait, together.

        `refusal` is called every HEARTBEAT_SECONDS. Its text, if it is not empty, ends the stream.
        """
        now = asyncio.get_running_loop().time
        checked = now()
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._added.wait(), HEARTBEAT_SECONDS)
            self._added.clear()
            if now() - checked >= HEARTBEAT_SECONDS:
                checked = now()
                if reason := refusal():
                    self.end(reason)
            frames, ended = bytes(self._waiting), self._ended
            self._waiting.clear()
            yield frames or COMMENT
            if ended:
                return


class EventHub:
    """Passes the events of decisions to all readers."""

    def __init__(self, state: State, cluster_id: Callable[[], str]) -> None:
        self._state, self._cluster_id = state, cluster_id
        self.readers: set[Reader] = set()
        """If it is empty, `publish` need not be called."""
        self._stopped = False

    def publish(self, decision: Decision) -> None:
        """Pass on the events of a durable decision."""
        for event in events_of(self._state, decision):
            frame = _frame(event)
            for reader in self.readers:
                reader.add(frame)

    def open(self) -> Reader:
        """Return a new reader. Raises TooManyReadersError."""
        if len(self.readers) >= MAX_READERS:
            raise TooManyReadersError
        reader = Reader(_frame(Start(self._cluster_id())))
        self.readers.add(reader)
        if self._stopped:
            reader.end(STOPPED)
        return reader

    def close(self, reader: Reader) -> None:
        """Forget the reader."""
        self.readers.discard(reader)

    def stop(self) -> None:
        """End all streams."""
        self._stopped = True
        for reader in self.readers:
            reader.end(STOPPED)


def _frame(event: Event) -> bytes:
    """Return the event as a server-sent event (WHATWG HTML)."""
    name = type(event).__struct_config__.tag
    return b"event: %s\ndata: %s\n\n" % (str(name).encode(), _encoder.encode(event))
