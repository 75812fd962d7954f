"""One client's connection: requests are answered in order, one at a time, as in Kafka.

Requests that arrive in one read are answered in one write, as long as their handlers return at once. A
handler that awaits delays the requests behind it. The connection is not read while too many requests wait or
the client does not read its answers. So memory is bounded in both directions.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import cast

from protocol.codec.errors import DecodeError
from protocol.frames import Connection, RequestFrame, parse_request
from server.connections.client_connection import ConnectionLimits, Host, ServedConnection
from server.dispatch.context import ANONYMOUS, BrokerPort, Caller
from server.security.login import OPEN, Gate, Login, LoginEndedError, token_frame
from server.security.subjects import NoMatchingRuleError

log = logging.getLogger(__name__)

Answer = Callable[[RequestFrame, Caller], bytes | Awaitable[bytes]]


class Session(ServedConnection):
    """Serves one connection with `answer` (see `server.dispatch.router.Router.answer`)."""

    _transport: asyncio.Transport
    _caller: Caller

    def __init__(
        self, answer: Answer, limits: ConnectionLimits, broker: BrokerPort, host: Host, gate: Gate = OPEN
    ) -> None:
        super().__init__(host)
        self._gate = gate
        self._login = gate.new_login()
        self._broker = broker
        self._answer = answer
        self._limits = limits
        self._loop = loop = asyncio.get_running_loop()
        largest = limits.max_frame if self._login is None else min(limits.login_frame, limits.max_frame)
        self._connection = Connection(largest)
        self._waiting: deque[RequestFrame] = deque()
        self._pending: asyncio.Future[bytes] | None = None
        """The answer in progress; no other request is handled meanwhile."""
        self._pending_bytes = 0
        """Size of the request that `_pending` answers."""
        self._reading = True
        self._writable = True
        self.last_active = loop.time()
        self._frame_began: float | None = None
        """Time when the first byte of the incomplete frame arrived; None without one."""

    @property
    def pending(self) -> asyncio.Future[bytes] | None:
        return self._pending

    @property
    def buffered(self) -> int:
        waiting = sum(len(frame.body) for frame in self._waiting)
        unread = self._transport.get_write_buffer_size()
        return len(self._connection.splitter.incomplete) + self._pending_bytes + waiting + unread

    @property
    def peer(self) -> str:
        return self._caller.peer

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        host, port, *_ = transport.get_extra_info("peername") or ("unknown", 0)
        self._caller = Caller(self._broker, ANONYMOUS, f"{host}:{port}")
        try:
            self._caller = self._gate.identified(self._caller, transport)
        except (NoMatchingRuleError, ValueError) as error:
            self.close(str(error))

    def data_received(self, data: bytes) -> None:
        # With TLS, asyncio delivers what came with the end of the handshake even after `close`.
        if self._closed:
            return
        self.last_active = self._loop.time()
        frames = self._connection.receive_data(data)
        if frames or self._frame_began is None:
            self._frame_began = self.last_active if self._connection.splitter.incomplete else None
        self._waiting.extend(frames)
        self._serve()
        if self._buffer_reported or self._frame_began is not None or self._waiting:
            self._report_buffered()

    def pause_writing(self) -> None:
        self._writable = False
        self._report_buffered()

    def resume_writing(self) -> None:
        self._writable = True
        self._report_buffered()
        self._serve()

    def connection_lost(self, exc: Exception | None) -> None:
        self._closed = True
        self._waiting.clear()
        if self._pending is not None:
            # Cancelling a task before its first step would leave a coroutine that is never awaited.
            self._loop.call_soon(self._pending.cancel)
        self._host.ended(self)

    def overdue(self, now: float) -> str | None:
        if self._closed:
            late = now - self.last_active > self._limits.leave
            return (
                f"its client did not read the pending answers within {self._limits.leave:g} s"
                if late
                else None
            )
        if self._pending is not None:
            return None
        if self._reading and self._frame_began is not None and now - self._frame_began > self._limits.frame:
            return f"a request was not complete after {self._limits.frame:g} s"
        if now - self.last_active > self._limits.idle:
            return f"idle for {self._limits.idle:g} s"
        return None

    def close(self, reason: str | None = None) -> None:
        if self._closed:
            return
        self._closed = True
        self.last_active = self._loop.time()
        self._waiting.clear()
        if reason is not None:
            self._host.closes(self.peer, reason)
        self._transport.close()

    def abort(self, reason: str) -> None:
        self.close(reason)
        self._transport.abort()

    def _serve(self) -> None:
        """Answer waiting requests until one must wait, the client does not read, or a burst is complete."""
        answers: list[bytes] = []
        size = 0
        refused: str | None = None
        while self._waiting and self._pending is None and self._writable:
            if len(answers) >= self._limits.burst or size >= self._limits.burst_bytes:
                self._loop.call_soon(self._serve)
                break
            frame = self._waiting.popleft()
            try:
                taken = None if self._login is None else self._log_in(self._login, frame)
                answer = self._answer(frame, self._caller) if taken is None else taken
            except DecodeError as error:
                refused = str(error)
                break
            except LoginEndedError as error:
                refused = str(error)
                answers.append(error.answer)
                break
            if isinstance(answer, bytes):
                answers.append(self._connection.send_encoded(frame, answer))
                size += len(answer)
            else:
                self._pending = asyncio.ensure_future(answer)
                self._pending_bytes = len(frame.body)
                self._pending.add_done_callback(partial(self._answered, frame))
        if answers and not self._closed:
            self._transport.write(answers[0] if len(answers) == 1 else b"".join(answers))
        if refused is not None or self._waiting or not self._reading or self._connection.error is not None:
            self._finish_burst(refused)

    def _log_in(self, login: Login, frame: RequestFrame) -> bytes | None:
        """Return the answer of the login if the request belongs to it, else None."""
        answer = login.take(frame, self._loop.time())
        if answer is not None:
            self._connection.read_frame = token_frame if login.raw_tokens else parse_request
            if login.principal is not None:
                self._caller = self._caller._replace(principal=login.principal)
                self._connection.splitter.max_frame = self._limits.max_frame
        return answer

    def _finish_burst(self, refused: str | None) -> None:
        """Close the connection after an error, else pause or resume reading."""
        waiting, error = self._waiting, self._connection.error
        if refused is None and error is not None and not waiting and self._pending is None:
            refused = str(error)
        if refused is not None:
            self.close(refused)
        elif self._transport.is_closing():
            return
        elif self._reading and waiting and self._too_many():
            self._reading = False
            self._transport.pause_reading()
        elif not self._reading and not waiting:
            self._reading = True
            self._transport.resume_reading()

    def _too_many(self) -> bool:
        limits = self._limits
        return (
            len(self._waiting) > limits.pipelined
            or sum(len(frame.body) for frame in self._waiting) > limits.pipelined_bytes
        )

    def _answered(self, frame: RequestFrame, done: asyncio.Future[bytes]) -> None:
        self._pending, self._pending_bytes = None, 0
        if done.cancelled():
            return
        error = done.exception()
        if error is None:
            self.last_active = self._loop.time()
            if not self._closed:
                self._transport.write(self._connection.send_encoded(frame, done.result()))
                self._report_buffered()
            self._serve()
        else:
            self._close_unanswered(error)
