"""The port to the other instances, for `/v1`."""

from collections.abc import Callable
from typing import Protocol

from starlette.requests import Request
from starlette.responses import Response

from server.api.roles import Identity


class HttpPeers(Protocol):
    """The other instances; see `server.api.proxy.PeerProxy`."""

    def client_of(self, request: Request, /) -> Identity | None:
        """Return the client of a request that was passed on; None for other requests. Raises HttpError."""
        ...

    async def may_answer(self) -> bool:
        """Return whether this instance is active, after its lease was renewed if it has lapsed."""
        ...

    async def answer(
        self, request: Request, identity: Identity, refusal: Callable[[], str] = str, /
    ) -> Response:
        """Return the answer of the active instance. Raises HttpError.

        `refusal` is called while the answer lasts. Its text, if it is not empty, ends the answer.
        """
        ...
