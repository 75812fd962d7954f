"""Accepts connections on a listening socket, in the event loop.

asyncio's servers create the protocol of a connection only after its TLS handshake, so handshakes could not be
limited. uvloop's servers also stop accepting for good when the process has no free file descriptor.
"""

import asyncio
import logging
import socket
from collections.abc import Callable

log = logging.getLogger(__name__)

ACCEPT_BURST = 100
"""Connections accepted in a row before the event loop handles other events. Under load one iteration of the
loop takes long, and many clients wait in the backlog."""

PAUSE_SECONDS = 0.5
"""Pause after accepting failed, usually because the process has no free file descriptor."""


class Acceptor:
    """Calls `accepted` with each new socket and the client's address, until it is closed.

    `what` names the connections in the log.
    """

    def __init__(
        self,
        listening: socket.socket,
        accepted: Callable[[socket.socket, str], None],
        what: str = "connections",
    ) -> None:
        self._listening, self._accepted, self._what = listening, accepted, what
        self._loop = asyncio.get_running_loop()
        self._retry: asyncio.TimerHandle | None = None
        self._failing = self._closed = False
        listening.setblocking(False)
        self._open()

    def close(self) -> None:
        """Stop accepting, and close the socket."""
        if self._closed:
            return
        self._closed = True
        if self._retry is not None:
            self._retry.cancel()
        self._loop.remove_reader(self._listening)
        self._listening.close()

    def _open(self) -> None:
        self._retry = None
        self._loop.add_reader(self._listening, self._accept)

    def _accept(self) -> None:
        for _ in range(ACCEPT_BURST):
            if self._closed:
                return
            try:
                accepted, address = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._pause(error)
                return
            self._failing = False
            accepted.setblocking(False)
            self._accepted(accepted, _name(address))

    def _pause(self, error: OSError) -> None:
        """Stop accepting for PAUSE_SECONDS. New clients wait in the backlog."""
        self._loop.remove_reader(self._listening)
        self._retry = self._loop.call_later(PAUSE_SECONDS, self._open)
        if not self._failing:
            self._failing = True
            log.error("%s cannot be accepted: %s; retrying", self._what, error)


def _name(address: object) -> str:
    return f"{address[0]}:{address[1]}" if isinstance(address, tuple) else "the unix socket"
