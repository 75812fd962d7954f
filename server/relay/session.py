"""One client's connection and the one to the upstream that belongs to it: bytes in at one end, out at the other.

What passes is never held; what cannot be written at one end is not read at the other, so memory stays bounded. Answers
come in the order of the requests, as the upstream gives them: one of ours, while it is being made, holds up those behind
it. When either end is lost, so is the other.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from struct import unpack_from
from typing import NamedTuple, cast

from protocol.errors import DecodeError
from server.connections.client_connection import Host, ServedConnection
from server.connections.limits import ConnectionLimits
from server.dispatch.authorizer import ANONYMOUS, UNKNOWN
from server.dispatch.router import Caller
from server.driver.driver import DriverStoppedError
from server.ports import BrokerPort
from server.relay.counters import RelayCounters
from server.relay.exchange import PASSED, ClientIdentity, FinishAnswer, IncomingRequest, Interceptors
from server.relay.sasl import LARGEST as LARGEST_TOKEN
from server.relay.splitter import PASS, FrameAction, Splitter
from server.relay.upstream_brokers import NoBrokerError, UpstreamBrokers
from server.relay.upstream_connection import HIGH_WATER, FlowControl, UpstreamConnection

log = logging.getLogger(__name__)

LARGEST_ANSWER = 2**31 - 1
"""Of those that pass."""


@dataclass(frozen=True, slots=True)
class RelayServices:
    """What all connections share. `authenticates` says that the upstream wants SASL first."""

    upstreams: UpstreamBrokers
    interceptors: Interceptors
    limits: ConnectionLimits
    counts: RelayCounters
    authenticates: bool


class RelayedBroker(NamedTuple):
    """A broker, as its listener sees it, or `server.relay.upstream_brokers.ANY`."""

    id: int


class ExpectedAnswer(NamedTuple):
    """An answer that the upstream owes."""

    correlation_id: int
    api_key: int
    finish: FinishAnswer | None
    held: int
    """Bytes of the request that are kept until then."""


class Relay(ServedConnection):
    """Serves one connection to the port of `broker`. Its host is told when both ends are gone.

    Splitters, the task that connects, and the upstream's end lead back to it. That is undone when it closes: what one
    connection holds is then free at once, without a garbage collection.
    """

    _transport: asyncio.Transport
    _flow: FlowControl
    _client: ClientIdentity

    def __init__(self, shared: RelayServices, broker: RelayedBroker, host: Host) -> None:
        super().__init__(host)
        self._shared = shared
        self._broker = broker
        self._loop = asyncio.get_running_loop()
        self._interceptors = shared.interceptors
        self._connecting: asyncio.Task[None] | None = None
        self._upstream: UpstreamConnection | None = None
        """None before it is connected, and after it is lost."""
        self._client_lost = False
        self._gone = False
        """The host was told."""
        self._requests = Splitter(self._request, self._to_upstream, shared.limits.max_frame, stopped=True)
        self._answers = Splitter(self._answer, self._to_client, LARGEST_ANSWER)
        self._expected: deque[ExpectedAnswer] = deque()
        """In the order of the requests."""
        self._held = 0
        """Bytes that are kept for them."""
        self._pending: asyncio.Future[bytes] | None = None
        """An answer of ours in the making; nothing of the upstream's passes while it is set."""
        self.heard = self._loop.time()
        self._incomplete = (-1, 0.0)
        """Which request was held incomplete last, by number, and since when."""

    @property
    def pending(self) -> asyncio.Future[bytes] | None:
        return self._pending

    @property
    def held(self) -> int:
        unsent = 0 if self._upstream is None else self._upstream.transport.get_write_buffer_size()
        unread = self._transport.get_write_buffer_size()
        return self._requests.held + self._answers.held + self._held + unsent + unread

    @property
    def peer(self) -> str:
        return self._client.caller.peer

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=HIGH_WATER)
        host, port, *_ = transport.get_extra_info("peername") or ("unknown", 0)
        # Of a broker, the handlers of what is answered here ask for no more than its id.
        principal = UNKNOWN if self._shared.authenticates else ANONYMOUS
        caller = Caller(cast(BrokerPort, self._broker), principal, f"{host}:{port}")
        self._client = ClientIdentity(caller, authenticated=not self._shared.authenticates)
        self._flow = FlowControl(self._transport)
        self._connecting = asyncio.create_task(self._connect())

    async def _connect(self) -> None:
        # Not where the connection is made: uvloop begins to read after that, whatever was said there.
        self._flow.hold("connecting")
        try:
            self._upstream = await self._shared.upstreams.connect(self._broker.id, self)
        except NoBrokerError:
            self.close()
            return
        self._carefully(self._requests.resume)
        self._look_at_requests()
        self._flow.release("connecting")

    def data_received(self, data: bytes) -> None:
        self.heard = self._loop.time()
        self._carefully(self._requests.feed, data)
        self._look_at_requests()

    def _look_at_requests(self) -> None:
        """Begin to wait for the rest of one, or for answers to so many."""
        if self._requests.incomplete and self._requests.frames != self._incomplete[0]:
            self._incomplete = (self._requests.frames, self.heard)
        if self._behind:
            self._flow.hold("answers")
        if self._noted or self._requests.held or self._held:
            self._note()

    @property
    def _behind(self) -> bool:
        """Too many answers are due, or too much is kept for them."""
        limits = self._shared.limits
        return len(self._expected) > limits.pipelined or self._held > limits.pipelined_bytes

    def upstream_received(self, data: bytes) -> None:
        self.heard = self._loop.time()
        self._carefully(self._answers.feed, data)
        if self._noted or self._answers.held:
            self._note()

    def pause_writing(self) -> None:
        if self._upstream is not None:
            self._upstream.flow.hold("client")
        self._note()

    def resume_writing(self) -> None:
        if self._upstream is not None:
            self._upstream.flow.release("client")
        self._note()

    def upstream_writable(self, writable: bool) -> None:
        if writable:
            self._flow.release("upstream")
        else:
            self._flow.hold("upstream")
        self._note()

    def upstream_lost(self) -> None:
        self._upstream = None
        if not self._closed:
            log.debug("the upstream closed the connection of %s to broker %d", self.peer, self._broker.id)
            self.close()
        self._leave()

    def connection_lost(self, exc: Exception | None) -> None:
        self._client_lost = True
        self._end()
        self._leave()

    def overdue(self, now: float) -> str | None:
        limits = self._shared.limits
        if self._closed:
            late = now - self.heard > limits.leave
            return f"what was due was not read in {limits.leave:g} s" if late else None
        if self._pending is not None:
            return None
        if self._flow.reading and self._requests.incomplete and now - self._incomplete[1] > limits.frame:
            return f"a request was not complete after {limits.frame:g} s"
        if now - self.heard > limits.idle:
            return f"idle for {limits.idle:g} s"
        return None

    def close(self, reason: str | None = None) -> None:
        if self._closed:
            return
        if reason is not None:
            log.warning("closed the connection of %s: %s", self.peer, reason)
        self._end()
        self._transport.close()

    def abort(self, reason: str) -> None:
        self.close(reason)
        self._transport.abort()
        if self._upstream is not None:
            self._upstream.transport.abort()

    def _leave(self) -> None:
        """Tell the host, when both ends are gone."""
        if self._client_lost and self._upstream is None and not self._gone:
            self._gone = True
            self._host.ended(self)

    def _end(self) -> None:
        if self._closed:
            return
        self._closed = True
        self.heard = self._loop.time()
        if self._connecting is not None:
            self._connecting.cancel()
            self._connecting = None
        if self._pending is not None:
            # Not before its first step: what it would have awaited then would never be awaited.
            self._loop.call_soon(self._pending.cancel)
        if self._upstream is not None:
            self._upstream.transport.close()
        self._requests.end()
        self._answers.end()
        self._expected.clear()
        self._held = 0

    def _request(self, frame: memoryview, size: int) -> FrameAction | int:
        """What goes to the upstream for a request."""
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
            # What passes, Produce above all, is not kept, whatever becomes of its answer.
            held = 0 if exchange.upstream is None else size
            self._expected.append(ExpectedAnswer(correlation_id, key, exchange.finish, held))
            self._held += held
        return PASS if exchange.upstream is None else FrameAction(4 + size, exchange.upstream)

    def _answer(self, frame: memoryview, size: int) -> FrameAction | int:
        """What goes to the client for an answer."""
        if len(frame) < 4:
            return 4
        if not self._expected:
            raise DecodeError("an answer of the upstream where no request was sent")
        expected = self._expected[0]
        (correlation_id,) = unpack_from(">i", frame)
        if correlation_id != expected.correlation_id:
            raise DecodeError(
                f"the upstream answered request {correlation_id} where {expected.correlation_id} was expected"
            )
        verdict = PASS if expected.finish is None else expected.finish(frame, size)
        if isinstance(verdict, int):
            return verdict
        self._expected.popleft()
        self._shared.counts.answer(expected.api_key, 4 + size)
        self._held -= expected.held
        if not self._behind:
            self._flow.release("answers")
        if isinstance(verdict, FrameAction):
            return verdict
        self._wait_for(verdict)
        return FrameAction(4 + size, b"")

    def _wait_for(self, answer: Awaitable[bytes]) -> None:
        self._answers.stop()
        if self._upstream is not None:
            self._upstream.flow.hold("answer")
        self._pending = asyncio.ensure_future(answer)
        self._pending.add_done_callback(self._answered)

    def _answered(self, done: asyncio.Future[bytes]) -> None:
        self._pending = None
        if self._closed:
            return
        if done.cancelled():
            self.close()
            return
        error = done.exception()
        if error is None:
            self.heard = self._loop.time()
            if self._upstream is not None:
                self._upstream.flow.release("answer")
            self._carefully(self._answers.resume, done.result())
        elif isinstance(error, DriverStoppedError):
            self.close()
        elif isinstance(error, DecodeError):
            self.close(str(error))
        else:
            log.error("the answer to %s could not be made", self.peer, exc_info=error)
            self.close()

    def _carefully(self, step: Callable[..., None], *data: bytes) -> None:
        """Close the connection where bytes cannot be understood, or we fail."""
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
