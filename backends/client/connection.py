"""One connection to a broker: requests out, several before the first answer, and each answer to its asker.

The broker works on one request of a connection at a time, so a slow one holds up those behind it.
`backends.client.handshake` opens connections.
"""

import asyncio
from collections import deque
from typing import Any, cast

from backends.client.errors import (
    RequestLostError,
    RequestTimedOutError,
    UnreachableError,
    UnsupportedError,
)
from common.address import Address
from common.off_loop import InlineExecutor, OffLoop
from protocol.apis import ApiKey, find_api
from protocol.codec.wire import schema_of
from protocol.connection import ClientConnection
from protocol.errors import DecodeError
from protocol.frames import ResponseFrame, decode_response

MAX_IN_FLIGHT = 16
"""Requests of one connection that may be unanswered; one more waits."""

LARGE_ANSWER = 256 * 1024
"""Bytes from which on an answer is decoded off the loop: 100,000 partitions take 0.15 s."""


class BrokerConnection(asyncio.Protocol):
    """One connection to a broker. `versions` has the versions that it serves, by API key; only ApiVersions at first."""

    _transport: asyncio.Transport

    def __init__(self, address: Address, client_id: str) -> None:
        self.peer = str(address)
        self.versions: dict[int, range] = {ApiKey.API_VERSIONS: range(5)}
        self.checks_versions = True
        """False sends requests in the version that `ask` is given, without having asked the broker for `versions`."""
        self.lifetime_seconds = 0.0
        """How long the broker accepts requests after our authentication; 0 is for ever (KIP-368)."""
        self.hint = ""
        """What may be wrong when the connection ends before anything else is answered."""
        self.ended = asyncio.Event()
        self.off_loop: OffLoop = InlineExecutor()
        """Decodes answers that are large."""
        self._client_id = client_id
        self._wire = ClientConnection()
        self._answers: deque[asyncio.Future[ResponseFrame]] = deque()
        self._places = asyncio.Semaphore(MAX_IN_FLIGHT)
        self._end: str | None = None
        self._retiring: str | None = None
        """Why no further request is taken."""

    @property
    def usable(self) -> bool:
        """Whether it takes requests."""
        return self._end is None and self._retiring is None

    async def ask(self, request: tuple[Any, ...], timeout_seconds: float, version: int | None = None) -> Any:
        """The response, in the highest version that both sides know or in the one given.

        Raises UnsupportedError, UnreachableError, RequestTimedOutError or RequestLostError; EncodeError when the
        version cannot carry the request. After a time-out the connection retires: that broker may never answer again,
        but who still awaits another answer keeps the time that they gave it. The time is the broker's: what we take
        to decode its answer does not count.
        """
        if version is None or self.checks_versions:
            version = self._version(request, version)
        frame = await self._exchange(request, timeout_seconds, version)
        try:
            if len(frame.body) < LARGE_ANSWER:
                return decode_response(frame)
            return await self.off_loop.run(decode_response, frame)
        except DecodeError as error:
            reason = f"the answer of {self.peer} to {_name(request)} makes no sense: {error}"
            self.abort(reason)
            raise RequestLostError(reason) from error

    def retire(self, reason: str | None = None) -> None:
        """Take no further request, and close when nobody awaits an answer any more."""
        self._retiring = self._retiring or reason or f"the connection to {self.peer} was closed"
        if all(answer.done() for answer in self._answers):
            self.abort(self._retiring)

    def abort(self, reason: str) -> None:
        """Close at once; what is unanswered is lost, for that reason."""
        if self._end is None:
            self._finish(reason, None)
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        frames = self._wire.receive_data(data)
        for frame in frames:
            answer = self._answers.popleft()
            self._places.release()
            if not answer.done():
                answer.set_result(frame)
        self.hint = "" if frames else self.hint
        if self._wire.error is not None:
            self.abort(f"{self.peer} does not speak Kafka's protocol: {self._wire.error}{self.hint}")

    def connection_lost(self, exc: Exception | None) -> None:
        if self._end is None:
            why = f": {exc}" if exc else ""
            self._finish(f"{self.peer} closed the connection{why}{self.hint}", exc)
        self.ended.set()

    async def _exchange(
        self, request: tuple[Any, ...], timeout_seconds: float, version: int
    ) -> ResponseFrame:
        answer: asyncio.Future[ResponseFrame] | None = None
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._places.acquire()
                try:
                    if self._end is not None or self._retiring is not None:
                        raise UnreachableError(self._end or self._retiring)
                    encoded = self._wire.send_request(request, version, self._client_id)
                except BaseException:
                    self._places.release()
                    raise
                # From here on the place is released when the answer comes.
                answer = asyncio.get_running_loop().create_future()
                self._answers.append(answer)
                self._transport.write(encoded)
                return await answer
        except TimeoutError as error:
            if answer is None:
                raise UnreachableError(f"{self.peer} is busy: {_name(request)} could not be sent") from error
            reason = f"{self.peer} did not answer {_name(request)} within {timeout_seconds:g} s"
            self.retire(reason)
            raise RequestTimedOutError(reason) from error
        finally:
            if self._retiring is not None:
                self.retire()

    def _version(self, request: tuple[Any, ...], wanted: int | None) -> int:
        key = schema_of(type(request)).api_key or 0
        api = find_api(key)
        ours = api.versions if api else range(0)
        theirs = self.versions.get(key, range(0))
        if not theirs:
            raise UnsupportedError(f"{self.peer} does not serve {_name(request)}")
        low, high = max(ours[0], theirs[0]), min(ours[-1], theirs[-1])
        chosen = high if wanted is None else wanted
        if not low <= chosen <= high:
            needed = f"version {wanted}" if wanted is not None else f"one of {ours[0]} to {ours[-1]}"
            raise UnsupportedError(
                f"{self.peer} serves {_name(request)} in versions {theirs[0]} to {theirs[-1]}; {needed} is needed"
            )
        return chosen

    def _finish(self, reason: str, cause: Exception | None) -> None:
        self._end = reason
        for answer in self._answers:
            self._places.release()
            if not answer.done():
                lost = RequestLostError(reason)
                lost.__cause__ = cause
                answer.set_exception(lost)
        self._answers.clear()


def _name(request: tuple[Any, ...]) -> str:
    return type(request).__name__.removesuffix("Request")
