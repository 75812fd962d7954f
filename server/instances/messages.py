"""A forwarded request and its client, the errors of forwarding, and the messages that instances exchange."""

from collections.abc import Awaitable
from enum import IntEnum
from struct import Struct, error
from typing import NamedTuple, Protocol, cast

import msgspec

from common.address import Address
from common.json.models import decode_foreign
from protocol.apis import find_api
from protocol.codec.errors import DecodeError
from protocol.frames import RequestFrame
from server.dispatch.context import BrokerPort, Caller
from server.relay.session import RelayedBroker

_LENGTH = Struct(">I")


class Kind(IntEnum):
    """The kinds of messages."""

    REQUEST = 1
    ANSWER = 2
    """The frame that answers the request."""
    NOT_ACTIVE = 3
    """The instance is not active, or has too many requests: nothing was executed. Ask again."""
    REFUSED = 4
    """The request cannot be answered; a text."""
    PING = 5
    """A heartbeat, with the version, lag and URL of the instance."""
    PONG = 6
    GIVE_UP = 7
    """The client of the request has gone: it should not be executed any more."""


class _Head(msgspec.Struct, frozen=True):
    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    principal: str
    address: str
    listener: int


_HEAD = msgspec.json.Decoder(_Head)


def encode_forwarded(frame: RequestFrame, caller: Caller) -> bytes:
    """Return the data of a REQUEST.

    The header as JSON after its length, and the body as the client has sent it.
    """
    head = msgspec.json.encode(
        _Head(
            frame.api_key,
            frame.api_version,
            frame.correlation_id,
            frame.client_id,
            caller.principal,
            caller.peer,
            caller.broker.id,
        )
    )
    return b"".join((_LENGTH.pack(len(head)), head, frame.body))


def decode_forwarded(data: bytes, instance: str) -> tuple[RequestFrame, Caller]:
    """Return the request that the instance has forwarded, and who sent it there. Raises DecodeError."""
    try:
        (length,) = _LENGTH.unpack_from(data)
        head = decode_foreign(data[4 : 4 + length], _HEAD)
    except (error, msgspec.DecodeError):
        raise DecodeError("a forwarded request without a header") from None
    api = find_api(head.api_key)
    known = api is not None and head.api_version in api.versions
    frame = RequestFrame(
        head.api_key,
        head.api_version,
        head.correlation_id,
        head.client_id,
        memoryview(data)[4 + length :],
        known,
    )
    broker = cast(BrokerPort, RelayedBroker(head.listener))
    return frame, Caller(broker, head.principal, head.address, via=instance)


class NotActiveError(Exception):
    """The instance is not active, or has not begun to serve its term."""


class TermLease(Protocol):
    """Tells how long an instance is certainly the only active one."""

    @property
    def valid(self) -> bool:
        """An answer may leave now."""
        ...


class ForwardedRequest(NamedTuple):
    """A request of a client of this instance, which the upstream has authorized."""

    id: int
    """Unique among the requests of the instance. It stays the same when the request is sent again."""
    frame: RequestFrame
    caller: Caller


class Forwarder(Protocol):
    """Sends requests to another instance."""

    def follow(self, peer: Address | None, /) -> None:
        """Keep a connection to the active instance from now on; to none for None."""
        ...

    def forward(self, peer: Address, request: ForwardedRequest, /) -> Awaitable[bytes]:
        """Return the frame that answers the request.

        Raises NotActiveError, and OSError without an answer: it is then unknown whether the request was
        executed.
        """
        ...

    def give_up(self, request: ForwardedRequest, /) -> None:
        """Ask whoever has got the request not to execute it, because its client has gone."""
        ...
