"""One client's connection and its connection to a broker: bytes are passed between them.

Frames that pass are not buffered. While one end cannot write, the other end is not read, so memory is
bounded. Answers keep the order of the requests: an answer that reassignd is computing delays the broker's
answers behind it. When one end is closed, the other is closed too.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from struct import unpack_from
from typing import NamedTuple, cast

from protocol.codec.errors import DecodeError
from server.connections.client_connection import ConnectionLimits, Host, ServedConnection
from server.counters import RelayCounters
from server.dispatch.context import ANONYMOUS, UNKNOWN, BrokerPort, Caller
from server.relay.brokers import HIGH_WATER, FlowControl, NoBrokerError, UpstreamBrokers, UpstreamConnection
from server.relay.exchange import PASSED, FinishAnswer, IncomingRequest, Interceptors, RelayedClient
from server.relay.sasl import LARGEST as LARGEST_TOKEN
from server.relay.splitter import PASS, FrameAction, Splitter

log = logging.getLogger(__name__)

LARGEST_RELAYED = 2**31 - 1
"""Bytes of the largest answer that passes."""


@dataclass(frozen=True, slots=True)
class RelayServices:
    """The services that all connections share. `authenticates`: the brokers' listener requires SASL."""

    upstreams: UpstreamBrokers
    interceptors: Interceptors
    limits: ConnectionLimits
    counts: RelayCounters
    authenticates: bool


class RelayedBroker(NamedTuple):
    """The broker to which a listener's connections are relayed, or `server.relay.brokers.ANY`."""

    id: int


class ExpectedAnswer(NamedTuple):
    """An answer that the broker has not sent yet."""

    correlation_id: int
    api_key: int
    finish: FinishAnswer | None
    buffered: int
    """Size of the request, if reassignd keeps it until the answer; else 0."""


class Relay(ServedConnection):
    """Serves one connection for `broker`. Its host learns of the end when both connections are closed.

    The splitters, the connecting task and the upstream connection refer back to this object. Closing breaks
    these cycles, so that the memory is freed at once, without the garbage collector.
    """

    _transport: asyncio.Transport
    _flow: FlowControl
    _client: RelayedClient

    def __init__(self, shared: RelayServices, broker: RelayedBroker, host: Host) -> None:
        super().__init__(host)
        self._shared = shared
        self._broker = broker
        self._loop = asyncio.get_running_loop()
        self._interceptors = shared.interceptors
        self._connecting: asyncio.Task[None] | None = None
        self._upstream: UpstreamConnection | None = None
        """None before it is connected, and after it is closed."""
        self._client_lost = False
        self._end_reported = False
        """The host was notified of the end."""
        self._requests = Splitter(self._request, self._to_upstream, shared.limits.max_frame, stopped=True)
        self._answers = Splitter(self._answer, self._to_client, LARGEST_RELAYED)
        self._expected: deque[ExpectedAnswer] = deque()
        """In the order of the requests."""
        self._buffered = 0
        """Sum of `buffered` over `_expected`."""
        self._pending: asyncio.Future[bytes] | None = None
        """An answer that reassignd is computing. No answer of the broker passes meanwhile."""
        self._pending_request = 0
        """Size of the request that `_pending` answers, if reassignd keeps it."""
        self.last_active = self._loop.time()
        self._incomplete = (-1, 0.0)
        """Number of the last request that was incomplete, and when it began."""

    @property
    def pending(self) -> asyncio.Future[bytes] | None:
        return self._pending

    @property
    def buffered(self) -> int:
        unsent = 0 if self._upstream is None else self._upstream.transport.get_write_buffer_size()
        unread = self._transport.get_write_buffer_size()
        kept = self._buffered + self._pending_request
        return self._requests.buffered + self._answers.buffered + kept + unsent + unread

    @property
    def peer(self) -> str:
        return self._client.caller.peer

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=HIGH_WATER)
        host, port, *_ = transport.get_extra_info("peername") or ("unknown", 0)
        # Handlers of relayed requests use no more of the broker than its id.
        principal = UNKNOWN if self._shared.authenticates else ANONYMOUS
        caller = Caller(cast(BrokerPort, self._broker), principal, f"{host}:{port}")
        self._client = RelayedClient(caller, authenticated=not self._shared.authenticates)
        self._flow = FlowControl(self._transport)
        self._connecting = asyncio.create_task(self._connect())

    async def _connect(self) -> None:
        # Not in connection_made: uvloop starts reading after it, even if reading was paused there.
        self._flow.hold("connecting")
        try:
            self._upstream = await self._shared.upstreams.connect(self._broker.id, self)
        except NoBrokerError:
            self.close()
            return
        self._guarded(self._requests.resume)
        self._check_requests()
        self._flow.release("connecting")

    def data_received(self, data: bytes) -> None:
        self.last_active = self._loop.time()
        self._guarded(self._requests.feed, data)
        self._check_requests()

    def _check_requests(self) -> None:
        """Note when an incomplete request began; stop reading while too many answers are expected."""
        if self._requests.incomplete and self._requests.frames != self._incomplete[0]:
            self._incomplete = (self._requests.frames, self.last_active)
        if self._overloaded:
            self._flow.hold("answers")
        if self._buffer_reported or self._requests.buffered or self._buffered:
            self._report_buffered()

    @property
    def _overloaded(self) -> bool:
        """Too many answers are expected, or too many bytes are kept for them."""
        limits = self._shared.limits
        return len(self._expected) > limits.pipelined or self._buffered > limits.pipelined_bytes

    def upstream_received(self, data: bytes) -> None:
        self.last_active = self._loop.time()
        self._guarded(self._answers.feed, data)
        if self._buffer_reported or self._answers.buffered:
            self._report_buffered()

    def pause_writing(self) -> None:
        if self._upstream is not None:
            self._upstream.flow.hold("client")
        self._report_buffered()

    def resume_writing(self) -> None:
        if self._upstream is not None:
            self._upstream.flow.release("client")
        self._report_buffered()

    def upstream_writable(self, writable: bool) -> None:
        if writable:
            self._flow.release("upstream")
        else:
            self._flow.hold("upstream")
        self._report_buffered()

    def upstream_lost(self) -> None:
        self._upstream = None
        if not self._closed:
            log.debug("the upstream closed the connection of %s to broker %d", self.peer, self._broker.id)
            self.close()
        self._report_end()

    def connection_lost(self, exc: Exception | None) -> None:
        self._client_lost = True
        self._end()
        self._report_end()

    def overdue(self, now: float) -> str | None:
        limits = self._shared.limits
        if self._closed:
            late = now - self.last_active > limits.leave
            return f"pending data was not read within {limits.leave:g} s" if late else None
        if self._pending is not None:
            return None
        if self._flow.reading and self._requests.incomplete and now - self._incomplete[1] > limits.frame:
            return f"a request was not complete after {limits.frame:g} s"
        if now - self.last_active > limits.idle:
            return f"idle for {limits.idle:g} s"
        return None

    def close(self, reason: str | None = None) -> None:
        if self._closed:
            return
        if reason is not None:
            self._host.closes(self.peer, reason)
        self._end()
        self._transport.close()

    def abort(self, reason: str) -> None:
        self.close(reason)
        self._transport.abort()
        if self._upstream is not None:
            self._upstream.transport.abort()

    def _report_end(self) -> None:
        """Notify the host when both ends are closed."""
        if self._client_lost and self._upstream is None and not self._end_reported:
            self._end_reported = True
            self._host.ended(self)

    def _end(self) -> None:
        if self._closed:
            return
        self._closed = True
        self.last_active = self._loop.time()
        if self._connecting is not None:
            self._connecting.cancel()
            self._connecting = None
        if self._pending is not None:
            # Cancelling a task before its first step would leave a coroutine that is never awaited.
            self._loop.call_soon(self._pending.cancel)
        if self._upstream is not None:
            self._upstream.transport.close()
        self._requests.end()
        self._answers.end()
        self._expected.clear()
        self._buffered = self._pending_request = 0

    def _request(self, frame: memoryview, size: int) -> FrameAction | int:
        """Decide what the broker gets for a request; see `server.relay.splitter.DecideFrame`."""
        if size < 8:
            raise DecodeError(f"a request of {size} bytes")
        if len(frame) < 8:
            return 8
        if size > LARGEST_TOKEN and not self._client.authenticated:
            raise DecodeError(
                f"a request of {size} bytes, where {LARGEST_TOKEN} are allowed before authentication"
            )
        key, version, correlation_id = unpack_from(">hhi", frame)
        interceptor = self._interceptors.get(key)
        exchange = PASSED
        if interceptor is not None:
            decision = interceptor(IncomingRequest(key, version, correlation_id, frame, size), self._client)
            if isinstance(decision, int):
                return decision
            exchange = decision
        self._shared.counts.request(key, 4 + size)
        if exchange.answered:
            # A passing request, such as Produce, is not buffered, even if its answer is changed.
            buffered = 0 if exchange.upstream is None else size
            self._expected.append(ExpectedAnswer(correlation_id, key, exchange.finish, buffered))
            self._buffered += buffered
        return PASS if exchange.upstream is None else FrameAction(4 + size, exchange.upstream)

    def _answer(self, frame: memoryview, size: int) -> FrameAction | int:
        """Decide what the client gets for an answer; see `server.relay.splitter.DecideFrame`."""
        if len(frame) < 4:
            return 4
        if not self._expected:
            raise DecodeError("the broker sent an answer without a request")
        expected = self._expected[0]
        (correlation_id,) = unpack_from(">i", frame)
        if correlation_id != expected.correlation_id:
            raise DecodeError(
                f"the broker answered request {correlation_id} where {expected.correlation_id} was expected"
            )
        # A filter that needs more bytes must see the same expected answer again, so it is removed only after
        # that.
        action = PASS if expected.finish is None else expected.finish(frame, size)
        if isinstance(action, int):
            return action
        self._expected.popleft()
        self._shared.counts.answer(expected.api_key, 4 + size)
        self._buffered -= expected.buffered
        if not self._overloaded:
            self._flow.release("answers")
        if isinstance(action, FrameAction):
            return action
        self._pending_request = expected.buffered
        self._wait_for(action)
        return FrameAction(4 + size, b"")

    def _wait_for(self, answer: Awaitable[bytes]) -> None:
        # The broker's later answers must not overtake this one: the splitter buffers what has arrived, and
        # the broker's connection is not read until the answer is written.
        self._answers.stop()
        if self._upstream is not None:
            self._upstream.flow.hold("answer")
        self._pending = asyncio.ensure_future(answer)
        self._pending.add_done_callback(self._answered)

    def _answered(self, done: asyncio.Future[bytes]) -> None:
        self._pending, self._pending_request = None, 0
        if self._closed:
            return
        if done.cancelled():
            self.close()
            return
        error = done.exception()
        if error is None:
            self.last_active = self._loop.time()
            if self._upstream is not None:
                self._upstream.flow.release("answer")
            self._guarded(self._answers.resume, done.result())
            self._report_buffered()
        else:
            self._close_unanswered(error)

    def _guarded(self, step: Callable[..., None], *data: bytes) -> None:
        """Run `step`; close the connection when it raises."""
        try:
            if not self._closed:
                step(*data)
        except DecodeError as error:
            self.close(str(error))
        except Exception:
            log.exception("the connection of %s failed", self.peer)
            self.close()

    def _to_upstream(self, data: bytes | memoryview) -> None:
        if self._upstream is not None:
            self._upstream.transport.write(data)

    def _to_client(self, data: bytes | memoryview) -> None:
        self._transport.write(data)
