"""Threads and sockets of kazoo, optimized for many requests in flight (implements kazoo's IHandler).

kazoo's own handler makes about twenty system calls for each request: it creates and closes a selector for
each wait, wakes its thread with a byte for each request, and reads each response in two parts. Here the
requests of one burst are sent in one write, all responses that have arrived are read at once, and their
callbacks reach the event loop in one wake-up. This takes a quarter of the processor time.
"""

import asyncio
import select
import socket
import ssl
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress

from kazoo.exceptions import KazooException
from kazoo.handlers.threading import AsyncResult, SequentialThreadingHandler
from kazoo.protocol.states import Callback

BUFFER_BYTES = 64 * 1024


class CallbackQueue:
    """Calls functions on the event loop, in the order in which threads put them."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: deque[Callable[[], object]] = deque()
        self._scheduled = False

    def put(self, function: Callable[[], object]) -> None:
        """Add a function, from any thread. Raises RuntimeError when the loop is closed."""
        self._waiting.append(function)
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon_threadsafe(self._drain)

    def _drain(self) -> None:
        # The flag is cleared first: a function that is put now is either drained here, or schedules the next
        # call.
        self._scheduled = False
        while self._waiting:
            self._loop.call_soon(self._waiting.popleft())


class KazooHandler(SequentialThreadingHandler):  # type: ignore[misc]
    """Calls the callbacks of results and watches on kazoo's connection thread; they must not block.

    With a context, connections use TLS.
    """

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        super().__init__()
        self._tls = tls

    def spawn(self, func: Callable[..., object], *args: object, **kwargs: object) -> threading.Thread:
        """Start a thread. A KazooException that ends it is suppressed: kazoo has logged it before."""

        def run() -> None:
            with suppress(KazooException):
                func(*args, **kwargs)

        thread: threading.Thread = super().spawn(run)
        return thread

    def async_result(self) -> "Result":
        """Return the future of a new request."""
        return Result(self)

    def dispatch_callback(self, callback: Callback) -> None:
        """Call a watch now, before the callbacks of responses that arrived after its event."""
        callback.func(*callback.args)

    def create_connection(
        self, address: tuple[str, int], hostname: str | None = None, timeout: float | None = None, **_: object
    ) -> "BufferedSocket":
        """Connect to a server. kazoo's own TLS arguments are ignored. Raises OSError."""
        connection = super().create_connection(address, timeout=timeout)
        if self._tls is not None:
            connection = self._tls.wrap_socket(connection, server_hostname=hostname)
        return BufferedSocket(connection)

    def create_socket_pair(self) -> tuple["WakeupSocket", "WakeupSocket"]:
        """Return the two ends of the channel that wakes the connection thread."""
        wakeup = WakeupSocket()
        return wakeup, wakeup

    def select(
        self,
        rlist: Sequence["BufferedSocket | WakeupSocket"],
        wlist: Sequence["BufferedSocket"],
        xlist: Sequence[object],
        timeout: float | None = None,
    ) -> tuple[list["BufferedSocket | WakeupSocket"], list["BufferedSocket"], list[object]]:
        """Wait as `select.select` does. Buffered data is sent before a wait, or when a buffer is full.

        A socket with data in its read buffer is ready at once, and every socket can be written: the buffer
        takes it.
        """
        ready = [each for each in rlist if each.pending()]
        if wlist or (ready and not any(each.full for each in rlist)):
            return ready, list(wlist), []
        for each in rlist:
            each.flush(timeout)
        poll = select.poll()
        for each in rlist:
            poll.register(each.fileno(), select.POLLIN)
        milliseconds = 0 if ready else None if timeout is None else timeout * 1000
        readable = {number for number, _ in poll.poll(milliseconds)}
        return [each for each in rlist if each in ready or each.fileno() in readable], [], []


class Result(AsyncResult):  # type: ignore[misc]
    """kazoo's future of a request, with callbacks that are called at once instead of by another thread."""

    def _do_callbacks(self) -> None:
        for callback in self._callbacks:
            callback(self)


class BufferedSocket:
    """A socket with buffers for reads and writes.

    With TLS, a read returns one record. Further records stay in the system's buffer, where the next wait
    finds them.
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
        """Return the number of bytes in the read buffer."""
        return len(self._read)

    @property
    def full(self) -> bool:
        """Whether the write buffer must be sent."""
        return len(self._unsent) >= BUFFER_BYTES

    def recv(self, size: int) -> bytes:
        """Return up to `size` bytes, as `socket.recv` does."""
        if not self._read:
            self._read = memoryview(self._socket.recv(max(size, BUFFER_BYTES)))
        data = bytes(self._read[:size])
        self._read = self._read[size:]
        return data

    def send(self, data: bytes | bytearray) -> int:
        """Buffer the data; `flush` sends it."""
        self._unsent += data
        return len(data)

    def flush(self, timeout: float | None) -> None:
        """Send the write buffer.

        Raises OSError; TimeoutError when the server accepts no data for `timeout` seconds.
        """
        while self._unsent:
            try:
                del self._unsent[: self._socket.send(self._unsent)]
            except (BlockingIOError, ssl.SSLWantWriteError):
                poll = select.poll()
                poll.register(self._socket.fileno(), select.POLLOUT)
                if not poll.poll(None if timeout is None else timeout * 1000):
                    raise TimeoutError("ZooKeeper accepts no more requests") from None


class WakeupSocket:
    """Wakes kazoo's connection thread. kazoo sends one byte for each request, and reads one byte for each.

    Only the first unread byte is sent through a real socket; the others are counted.
    """

    full = False

    def __init__(self) -> None:
        self._reader, self._writer = socket.socketpair()
        self._lock = threading.Lock()
        self._count = 0

    def pending(self) -> int:
        """Return the number of bytes to read."""
        return self._count

    def send(self, data: bytes) -> int:
        """Wake the thread with one byte, from any thread. Raises OSError when the socket is closed."""
        with self._lock:
            if not self._count:
                self._writer.send(data)
            self._count += 1
        return len(data)

    def recv(self, size: int) -> bytes:
        """Read one byte. Raises BlockingIOError when there is none."""
        with self._lock:
            if not self._count:
                raise BlockingIOError
            self._count -= 1
            return self._reader.recv(size) if not self._count else b"\0"

    def flush(self, timeout: float | None) -> None:
        """Do nothing: bytes are not buffered."""

    def fileno(self) -> int:
        """Return the descriptor that is readable while there are bytes to read."""
        return self._reader.fileno()

    def close(self) -> None:
        """Close both ends."""
        self._reader.close()
        self._writer.close()
