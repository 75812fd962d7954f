"""A connection to a broker with pipelining: several requests can be in flight.

A broker processes one request of a connection at a time, so a slow request delays those behind it.
`backends.client.handshake` opens connections. A `Link` opens one when it is needed, and again after its end
or before its SASL session expires.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import NamedTuple, TypeVar, cast

from backends.client.errors import (
    HeldError,
    InDoubtError,
    NotSentError,
    RequestLostError,
    RequestTimedOutError,
    UnreachableError,
    UnsendableError,
    UnsupportedError,
)
from common.address import Address
from common.backoff import Backoff
from common.clock import Clock
from common.off_loop import InlineExecutor, OffLoop
from protocol.apis import ApiKey, find_api
from protocol.codec.errors import DecodeError, EncodeError
from protocol.codec.schema import Request, Response
from protocol.codec.wire import schema_of
from protocol.frames import ClientConnection, EncodedRequest, ResponseFrame, decode_response

R = TypeVar("R")

MAX_IN_FLIGHT = 16
"""Most requests in flight; further ones wait."""

LARGE_ANSWER = 256 * 1024
"""Bytes from which on a response is decoded off the event loop. 100,000 partitions take 0.15 s."""


class BrokerConnection(asyncio.Protocol):
    """One connection to a broker.

    `versions` has the versions that it serves, by API key; only ApiVersions at first.
    """

    _transport: asyncio.Transport

    def __init__(self, address: Address, client_id: str) -> None:
        self.peer = str(address)
        self.versions: dict[int, range] = {ApiKey.API_VERSIONS: range(5)}
        self.checks_versions = True
        """False sends requests in the version that `ask` is given, without having asked the broker for
        `versions`."""
        self.lifetime_seconds = 0.0
        """Lifetime of the SASL session; 0 has no limit (KIP-368)."""
        self.hint = ""
        """Added to the error message when the connection ends before the first response: the probable cause.
        """
        self.ended = asyncio.Event()
        self.off_loop: OffLoop = InlineExecutor()
        """Decodes large responses."""
        self.permits: Callable[[Request[NamedTuple]], bool] = lambda _: True
        """Asked right before a request is written to the socket; False raises HeldError."""
        self._client_id = client_id
        self._wire = ClientConnection()
        self._answers: deque[asyncio.Future[ResponseFrame]] = deque()
        self._slots = asyncio.Semaphore(MAX_IN_FLIGHT)
        self._end_reason: str | None = None
        self._retire_reason: str | None = None
        """Reason for refusing further requests."""

    @property
    def usable(self) -> bool:
        """The connection accepts requests."""
        return self._end_reason is None and self._retire_reason is None

    async def ask(
        self, request: Request[Response], timeout_seconds: float, version: int | None = None
    ) -> Response:
        """Send the request in `version`, or in the highest version that both sides know; return the response.

        Raises UnsupportedError, UnreachableError, RequestTimedOutError or RequestLostError; UnsendableError
        when the version cannot express the request, and HeldError if `permits` refuses it. After a timeout
        the connection accepts no further requests, because the broker may never answer again; other requests
        in flight keep their own timeouts. The time for decoding does not count.
        """
        if version is None or self.checks_versions:
            version = self._version(request, version)
        chosen = version

        def encode() -> bytes:
            if not self.permits(request):
                raise HeldError(_name(request))
            return self._wire.send_request(request, chosen, self._client_id)

        frame = await self._exchange(encode, _name(request), timeout_seconds)
        try:
            if len(frame.body) < LARGE_ANSWER:
                return decode_response(frame, request.response_class())
            return await self.off_loop.run(decode_response, frame, request.response_class())
        except DecodeError as error:
            reason = f"the answer of {self.peer} to {_name(request)} makes no sense: {error}"
            self.abort(reason)
            raise RequestLostError(reason) from error

    async def exchange(self, request: EncodedRequest, timeout_seconds: float) -> ResponseFrame:
        """Send a request and return the response as it arrived. Raises like `ask`."""
        name = ApiKey(request.api_key).name
        return await self._exchange(
            lambda: self._wire.send_encoded(request, self._client_id), name, timeout_seconds
        )

    def retire(self, reason: str | None = None) -> None:
        """Refuse further requests, and close when no request is in flight."""
        self._retire_reason = self._retire_reason or reason or f"the connection to {self.peer} was closed"
        if all(answer.done() for answer in self._answers):
            self.abort(self._retire_reason)

    def abort(self, reason: str) -> None:
        """Close at once. Requests in flight fail with RequestLostError and this reason."""
        if self._end_reason is None:
            self._fail_requests(reason, None)
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        frames = self._wire.receive_data(data)
        for frame in frames:
            answer = self._answers.popleft()
            self._slots.release()
            if not answer.done():
                answer.set_result(frame)
        self.hint = "" if frames else self.hint
        if self._wire.error is not None:
            self.abort(f"{self.peer} does not speak Kafka's protocol: {self._wire.error}{self.hint}")

    def connection_lost(self, exc: Exception | None) -> None:
        if self._end_reason is None:
            why = f": {exc}" if exc else ""
            self._fail_requests(f"{self.peer} closed the connection{why}{self.hint}", exc)
        self.ended.set()

    async def _exchange(
        self, encode: Callable[[], bytes], name: str, timeout_seconds: float
    ) -> ResponseFrame:
        answer: asyncio.Future[ResponseFrame] | None = None
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._slots.acquire()
                try:
                    if self._end_reason is not None or self._retire_reason is not None:
                        raise UnreachableError(self._end_reason or self._retire_reason)
                    encoded = encode()
                except EncodeError as error:
                    self._slots.release()
                    raise UnsendableError(f"{self.peer} cannot be sent {error}") from error
                except BaseException:
                    self._slots.release()
                    raise
                # From here on, the slot is released with the response.
                answer = asyncio.get_running_loop().create_future()
                self._answers.append(answer)
                self._transport.write(encoded)
                return await answer
        except TimeoutError as error:
            if answer is None:
                raise UnreachableError(f"{self.peer} is busy: {name} could not be sent") from error
            reason = f"{self.peer} did not answer {name} within {timeout_seconds:g} s"
            self.retire(reason)
            raise RequestTimedOutError(reason) from error
        finally:
            if self._retire_reason is not None:
                self.retire()

    def _version(self, request: Request[NamedTuple], requested: int | None) -> int:
        key = schema_of(type(request)).api_key or 0
        api = find_api(key)
        known = api.versions if api else range(0)
        served = self.versions.get(key, range(0))
        if not served:
            raise UnsupportedError(f"{self.peer} does not serve {_name(request)}")
        low, high = max(known[0], served[0]), min(known[-1], served[-1])
        chosen = high if requested is None else requested
        if not low <= chosen <= high:
            needed = f"version {requested}" if requested is not None else f"one of {known[0]} to {known[-1]}"
            raise UnsupportedError(
                f"{self.peer} serves {_name(request)} in versions {served[0]} to {served[-1]};"
                f" {needed} is needed"
            )
        return chosen

    def _fail_requests(self, reason: str, cause: Exception | None) -> None:
        self._end_reason = reason
        for answer in self._answers:
            self._slots.release()
            if not answer.done():
                lost = RequestLostError(reason)
                lost.__cause__ = cause
                answer.set_exception(lost)
        self._answers.clear()


def _name(request: Request[NamedTuple]) -> str:
    return type(request).__name__.removesuffix("Request")


FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
"""Seconds between attempts to connect."""

RENEW_FRACTION = 0.8
"""Fraction of the SASL session's lifetime after which a new connection is opened (KIP-368)."""


CLOSED = "reassignd closed the connection"


class Link:
    """Sends requests to one broker on one connection at a time."""

    def __init__(self, connect: Callable[[], Awaitable[BrokerConnection]], clock: Clock) -> None:
        self.healthy = True
        """The last request was answered."""
        self._connect = connect
        self._clock = clock
        self._connections: list[BrokerConnection] = []
        """The last one is in use; the others wait for their last responses."""
        self._renew_at = float("inf")
        self._opening = asyncio.Lock()
        self._failure: NotSentError | None = None
        self._backoff = Backoff(FIRST_PAUSE, LONGEST_PAUSE)
        self._retry_at = 0.0
        self._closed = False

    async def ask(
        self, request: Request[Response], timeout_seconds: float, version: int | None = None
    ) -> Response:
        """See `BrokerConnection.ask`.

        During the pause after a failed attempt to connect, its error is raised again.
        """
        return await self.use(lambda connection: connection.ask(request, timeout_seconds, version))

    async def use(self, ask: Callable[[BrokerConnection], Awaitable[R]]) -> R:
        """Return what `ask` returns with a usable connection. Raises what it raises, and like `ask`."""
        try:
            answer = await ask(await self._usable())
        except (UnreachableError, InDoubtError):
            self.healthy = False
            raise
        self.healthy = True
        return answer

    def retire(self) -> None:
        """Let requests in flight end; the next request opens a new connection."""
        for connection in self._connections:
            connection.retire()

    @property
    def ended(self) -> bool:
        """No connection is open or being opened."""
        return not self._opening.locked() and all(
            connection.ended.is_set() for connection in self._connections
        )

    async def close(self) -> None:
        """Close all connections at once."""
        self._closed = True
        for connection in self._connections:
            connection.abort(CLOSED)
            await connection.ended.wait()

    async def _usable(self) -> BrokerConnection:
        async with self._opening:
            if self._connections and self._connections[-1].usable and self._clock.now() < self._renew_at:
                return self._connections[-1]
            if self._failure is not None and self._clock.now() < self._retry_at:
                raise type(self._failure)(str(self._failure)) from self._failure
            return await self._open()

    async def _open(self) -> BrokerConnection:
        try:
            opened = await self._connect()
        except NotSentError as error:
            self._retry_at = self._clock.now() + self._backoff.next_pause()
            self._failure = error
            raise
        if self._closed:
            opened.abort(CLOSED)
            raise UnreachableError(CLOSED)
        self.retire()
        self._connections = [
            connection for connection in self._connections if not connection.ended.is_set()
        ] + [opened]
        self._failure = None
        self._backoff.reset()
        lifetime = opened.lifetime_seconds
        self._renew_at = self._clock.now() + RENEW_FRACTION * lifetime if lifetime else float("inf")
        return opened
