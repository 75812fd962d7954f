"""The lease of the active instance, forwarded requests, and the port that forwards them."""

from collections.abc import Awaitable
from typing import NamedTuple, Protocol

from common.address import Address
from protocol.frames import RequestFrame
from server.dispatch.router import Caller


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

        Raises NotActiveError, and OSError without an answer: it is then unknown whether the request was executed.
        """
        ...

    def give_up(self, request: ForwardedRequest, /) -> None:
        """Ask whoever has got the request not to execute it, because its client has gone."""
        ...
