"""kazoo's threads, made for many requests in flight (implements kazoo's IHandler; given to KazooClient).

kazoo asks the system some twenty times for each request: a selector is made and closed for each wait, a byte wakes its
thread, and an answer is read in two pieces. Here requests that are made in one go leave in one write, answers are read as
many as have come, and what they lead to is handed to the event loop together. That is a quarter of the processor time.
"""

import asyncio
import select
import socket
import ssl
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from kazoo.exceptions import KazooException
from kazoo.handlers.threading import AsyncResult, SequentialThreadingHandler

MUCH_BYTES = 64 * 1024


class Mailbox:
    """Has functions called on the event loop, in the order in which threads put them here."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: deque[Callable[[], object]] = deque()
        self._told = False

    def put(self, function: Callable[[], object]) -> None:
        """From any thread. Raises RuntimeError when the loop is closed."""
        self._waiting.append(function)
        if not self._told:
            self._told = True
            self._loop.call_soon_threadsafe(self._empty)

    def _empty(self) -> None:
        self._told = False
        while self._waiting:
            self._loop.call_soon(self._waiting.popleft())


class Handler(SequentialThreadingHandler):  # type: ignore[misc]
    """What is linked to results, and watches, are called on kazoo's connection thread: they must not block.

    With a context connections are by TLS.
    """

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        super().__init__()
        self._tls = tls

    def spawn(self, func: Callable[..., object], *args: Any, **kwargs: Any) -> threading.Thread:
        """A thread. kazoo logs what ends its connection's, and raises it then: it is not told again."""

        def run() -> None:
            with suppress(KazooException):
                func(*args, **kwargs)

        thread: threading.Thread = super().spawn(run)
        return thread

    def async_result(self) -> "Result":
        """What a request is waited for with."""
        return Result(self)

    def dispatch_callback(self, callback: Any) -> None:
        """Call a watch, before answers that came after its event."""
        callback.func(*callback.args)

    def create_connection(
        self, address: tuple[str, int], hostname: str | None = None, timeout: float | None = None, **_: Any
    ) -> "Stream":
        """A connection to a server; kazoo's own settings of TLS do not count. Raises OSError."""
        connection = super().create_connection(address, timeout=timeout)
        if self._tls is not None:
            connection = self._tls.wrap_socket(connection, server_hostname=hostname)
        return Stream(connection)

    def create_socket_pair(self) -> tuple["Bell", "Bell"]:
        """What wakes the connection's thread: both ends."""
        bell = Bell()
        return bell, bell

    def select(
        self,
        rlist: Sequence["Stream | Bell"],
        wlist: Sequence["Stream"],
        xlist: Sequence[object],
        timeout: float | None = None,
    ) -> tuple[list["Stream | Bell"], list["Stream"], list[object]]:
        """As `select.select`. Streams take all that is written; it is sent before a wait, or when it is much."""
        ready = [each for each in rlist if each.pending()]
        if wlist or (ready and not any(each.full for each in rlist)):
            return ready, list(wlist), []
        for each in rlist:
            each.flush(timeout)
        poll = select.poll()
        for each in rlist:
            poll.register(each.fileno(), select.POLLIN)
        milliseconds = 0 if ready else None if timeout is None else timeout * 1000
        found = {number for number, _ in poll.poll(milliseconds)}
        return [each for each in rlist if each in ready or each.fileno() in found], [], []


class Result(AsyncResult):  # type: ignore[misc]
    """kazoo's, whose links are called at once."""

    def _do_callbacks(self) -> None:
        for callback in self._callbacks:
            callback(self)


class Stream:
    """A socket, read and written in large pieces.

    By TLS a read gives one record, and what follows is still with the system: it is found by the next wait.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._read = memoryview(b"")
        self._unsent = bytearray()
        self.setblocking, self.fileno, self.close = (
            connection.setblocking,
            connection.fileno,
            connection.close,
        )

    def pending(self) -> int:
        """Bytes that were read and not asked for yet."""
        return len(self._read)

    @property
    def full(self) -> bool:
        """There is much to send."""
        return len(self._unsent) >= MUCH_BYTES

    def recv(self, size: int) -> bytes:
        """As a socket's."""
        if not self._read:
            self._read = memoryview(self._socket.recv(max(size, MUCH_BYTES)))
        taken = bytes(self._read[:size])
        self._read = self._read[size:]
        return taken

    def send(self, data: Any) -> int:
        """Take it, to be sent by `flush`."""
        self._unsent += data
        return len(data)

    def flush(self, timeout: float | None) -> None:
        """Send what was written. Raises OSError; TimeoutError when the server takes nothing for so long."""
        while self._unsent:
            try:
                del self._unsent[: self._socket.send(self._unsent)]
            except (BlockingIOError, ssl.SSLWantWriteError):
                poll = select.poll()
                poll.register(self._socket.fileno(), select.POLLOUT)
                if not poll.poll(None if timeout is None else timeout * 1000):
                    raise TimeoutError("ZooKeeper takes no more requests") from None


class Bell:
    """kazoo's thread is woken by a byte for each request, which it takes back: only the first and the last are real."""

    full = False

    def __init__(self) -> None:
        self._inside, self._outside = socket.socketpair()
        self._lock = threading.Lock()
        self._count = 0

    def pending(self) -> int:
        """Bytes that were not taken back yet."""
        return self._count

    def send(self, data: bytes) -> int:
        """Any thread rings, with one byte. Raises OSError when it is closed."""
        with self._lock:
            if not self._count:
                self._outside.send(data)
            self._count += 1
        return len(data)

    def recv(self, size: int) -> bytes:
        """Take a byte back. Raises BlockingIOError when there is none."""
        with self._lock:
            if not self._count:
                raise BlockingIOError
            self._count -= 1
            return self._inside.recv(size) if not self._count else b"\0"

    def flush(self, timeout: float | None) -> None:
        """Nothing waits here."""

    def fileno(self) -> int:
        """What is readable once someone has rung."""
        return self._inside.fileno()

    def close(self) -> None:
        """Ring no more."""
        self._inside.close()
        self._outside.close()
