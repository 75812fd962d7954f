"""One request and its answer, for an interceptor."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from struct import pack
from typing import NamedTuple

from protocol.codec.errors import DecodeError
from protocol.codec.schema import Response
from protocol.frames import RequestFrame, decode_response, encode_response, parse_response
from server.dispatch.context import Caller
from server.relay.login import Login
from server.relay.splitter import FrameAction

LARGEST_ANSWER = 32 * 1024 * 1024
"""Bytes of the largest answer that is buffered."""

LARGEST_DECODED = 16 * 1024 * 1024
"""Bytes of the largest request for configs or topics that is buffered and decoded."""


@dataclass(slots=True)
class RelayedClient:
    """The client of a connection.

    `authenticated` is true from the start where the listener requires no SASL.
    """

    caller: Caller
    authenticated: bool
    login: Login | None = None
    """The one that the broker has begun and not ended."""


class IncomingRequest(NamedTuple):
    """A request, perhaps incomplete.

    `frame` starts with the request header; `size` is the length of the complete frame.
    """

    api_key: int
    api_version: int
    correlation_id: int
    frame: memoryview
    size: int

    @property
    def complete(self) -> bool:
        return len(self.frame) >= self.size

    def missing(self, most: int, purpose: str) -> int:
        """Return how many bytes are needed to decode the request; 0 when it is complete.

        Raises DecodeError when the request is larger than `most`.
        """
        if self.size > most:
            raise DecodeError(f"a request of {self.size} bytes {purpose}, where {most} are allowed")
        return 0 if self.complete else self.size

    @property
    def header(self) -> RequestFrame:
        """The header fields that encoding an answer needs."""
        return RequestFrame(
            self.api_key, self.api_version, self.correlation_id, None, memoryview(b""), known=True
        )


FinishAnswer = Callable[[memoryview, int], FrameAction | int | Awaitable[bytes]]
"""Turns the broker's answer into the client's: a `server.relay.splitter.DecideFrame`, or an awaitable of the
whole frame."""


class Exchange(NamedTuple):
    """How one request is relayed.

    `upstream` is the frame sent to the broker instead of the request; None sends the request unchanged.
    `finish` changes the answer; None passes it unchanged.
    """

    upstream: bytes | None = None
    finish: FinishAnswer | None = None
    answered: bool = True
    """The broker will answer."""


PASSED = Exchange()
"""Relays request and answer unchanged."""

Interceptor = Callable[[IncomingRequest, RelayedClient], Exchange | int]
"""Decides how a request is relayed. Returns a number when that many bytes of it are needed first.

Raises DecodeError to close the connection.
"""

Interceptors = Mapping[int, Interceptor]
"""Interceptors by API key. Requests of other keys pass unchanged."""


def buffered(make: Callable[[bytes], bytes | Awaitable[bytes]]) -> FinishAnswer:
    """Return a filter that buffers the answer.

    `make` takes it without its length and returns it with its length.
    """

    def finish(frame: memoryview, size: int) -> FrameAction | int | Awaitable[bytes]:
        if size > LARGEST_ANSWER:
            raise DecodeError(f"an answer of {size} bytes, where {LARGEST_ANSWER} can be held")
        if len(frame) < size:
            return size
        changed = make(bytes(frame))
        return FrameAction(4 + size, changed) if isinstance(changed, bytes) else changed

    return finish


def rewrite_answer(
    incoming: IncomingRequest, response_class: type[Response], change: Callable[[Response], Response]
) -> FinishAnswer:
    """Return a filter that changes the decoded response.

    The frame passes unchanged when `change` returns its argument.
    """
    header = incoming.header

    def make(payload: bytes) -> bytes:
        frame = parse_response(payload, header.api_key, header.api_version)
        response = decode_response(frame, response_class)
        changed = change(response)
        return with_length(payload) if changed is response else encode_response(header, changed)

    return buffered(make)


def with_length(payload: bytes) -> bytes:
    """Return the payload as a frame."""
    return pack(">i", len(payload)) + payload


def only_versions(versions: range, interceptor: Interceptor) -> Interceptor:
    """Return the interceptor for these versions; a request in another version closes the connection."""

    def intercept(incoming: IncomingRequest, client: RelayedClient) -> Exchange | int:
        if incoming.api_version not in versions:
            raise DecodeError(f"API key {incoming.api_key} version {incoming.api_version} is not served")
        return interceptor(incoming, client)

    return intercept
