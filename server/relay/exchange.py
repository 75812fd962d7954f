"""One request and its answer, as the rules see them."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from struct import pack
from typing import Any, NamedTuple

from protocol.errors import DecodeError
from protocol.frames import RequestFrame, decode_response, encode_response, parse_response
from server.dispatch.router import Caller
from server.relay.splitter import FrameAction

LARGEST_ANSWER = 32 * 1024 * 1024
"""Of those that are held to be looked at, in bytes."""


@dataclass(slots=True)
class Login:
    """An authentication, from its handshake on."""

    mechanism: str
    begun: bool = False
    """Its first message has come, the only one that says who it is."""
    user: str = ""
    """Who that is; empty when it is not known, and after an answer of the upstream that ends the login."""


@dataclass(slots=True)
class Client:
    """Who is at the other end of a connection. `authenticated` is true from the start where nobody has to be."""

    caller: Caller
    authenticated: bool
    login: Login | None = None
    """The one that was begun last."""


class Asked(NamedTuple):
    """A request as far as it has come: `frame` begins with its header, `size` is how long it will be."""

    api_key: int
    api_version: int
    correlation_id: int
    frame: memoryview
    size: int

    @property
    def whole(self) -> bool:
        return len(self.frame) >= self.size

    def missing(self, most: int, purpose: str) -> int:
        """How many bytes are wanted before it can be looked into; 0 when it is all there. DecodeError where `most` are not enough."""
        if self.size > most:
            raise DecodeError(f"a request of {self.size} bytes {purpose}, where {most} are allowed")
        return 0 if self.whole else self.size

    @property
    def header(self) -> RequestFrame:
        """Enough of it to frame an answer."""
        return RequestFrame(
            self.api_key, self.api_version, self.correlation_id, None, memoryview(b""), known=True
        )


Finish = Callable[[memoryview, int], FrameAction | int | Awaitable[bytes]]
"""Makes the client's answer of the upstream's, as a `server.relay.splitter.Decide` does, or later from all of it."""


class Exchange(NamedTuple):
    """What goes to the upstream in the place of a request (None: the request), and how its answer is finished, if at all."""

    upstream: bytes | None = None
    finish: Finish | None = None
    answered: bool = True
    """An answer will come."""


PASSED = Exchange()

Rule = Callable[[Asked, Client], Exchange | int]
"""What to do about a request; a number when that many bytes of it must have come. DecodeError closes the connection."""


def whole(make: Callable[[bytes], bytes | Awaitable[bytes]]) -> Finish:
    """Finish an answer once it is all there. `make` takes it without its length, and returns it with."""

    def finish(frame: memoryview, size: int) -> FrameAction | int | Awaitable[bytes]:
        if size > LARGEST_ANSWER:
            raise DecodeError(f"an answer of {size} bytes, where {LARGEST_ANSWER} can be held")
        if len(frame) < size:
            return size
        made = make(bytes(frame))
        return FrameAction(4 + size, made) if isinstance(made, bytes) else made

    return finish


def rewritten(asked: Asked, change: Callable[[Any], Any]) -> Finish:
    """Finish an answer by a change to its message; it passes as it is where that returns the same object."""
    header = asked.header

    def make(payload: bytes) -> bytes:
        response = decode_response(parse_response(payload, header.api_key, header.api_version))
        changed = change(response)
        return sized(payload) if changed is response else encode_response(header, changed)

    return whole(make)


def sized(payload: bytes) -> bytes:
    """The frame as it came."""
    return pack(">i", len(payload)) + payload
