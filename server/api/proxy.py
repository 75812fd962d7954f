"""`/v1` at a standby: requests are passed on to the active instance, with streams.

The standby authenticates the client, and signs its name and role (`server.api.other_instances`). A request
that was passed on is not passed on again.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from ssl import SSLContext
from typing import Any, Protocol

import httpx
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from server.api.other_instances import HEADER, IdentitySigner
from server.api.shared.errors import HttpError
from server.api.shared.roles import Identity

CONNECT_SECONDS = 3.0
CONNECTIONS = 1_000
CHECK_SECONDS = 10.0
"""After this time it is checked again whether a client may have the rest of its answer."""

NOBODY = "no instance of reassignd is active: try again"

NO_URL = "the active instance has no HTTP address for other instances: set its gateway.peer.url"

OF_ONE_CONNECTION = frozenset({
    "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "proxy-authorization",
    "proxy-authenticate",
})  # fmt: skip
"""Headers that are not passed on (RFC 9110, 7.6.1)."""

CHECKED_HERE = frozenset({
    "host", "origin", "sec-fetch-site", "sec-fetch-mode", "sec-fetch-dest", "authorization", HEADER,
})  # fmt: skip
"""Headers about the client and the site that it has named, which this instance has checked. A token goes
no further than necessary."""


class ActiveUrl(Protocol):
    """Who is active; see `server.instances.switch.Switch`."""

    @property
    def url(self) -> str | None:
        """URL of the active instance, if it is another one."""
        ...

    @property
    def turned(self) -> asyncio.Event:
        """Set when another instance is active, or none."""
        ...

    async def may_answer(self) -> bool:
        """Return whether this instance is active, after its lease was renewed if it has lapsed."""
        ...


class ActiveProxy:
    """Implements `server.api.other_instances.OtherInstances`.

    `tls` returns the context for HTTPS, always the same one, which trusts a renewed certificate then; None
    trusts the system's authorities.
    """

    def __init__(
        self, active: ActiveUrl, signer: IdentitySigner, tls: Callable[[], SSLContext] | None = None
    ) -> None:
        self._active, self._signer, self._tls = active, signer, tls
        self._client = httpx.AsyncClient(
            verify=True if tls is None else tls(),
            timeout=httpx.Timeout(None, connect=CONNECT_SECONDS, pool=CONNECT_SECONDS),
            limits=httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=20),
            trust_env=False,
        )

    def client_of(self, request: Request) -> Identity | None:
        """See `OtherInstances.client_of`."""
        value = request.headers.get(HEADER)
        return None if value is None else self._signer.verify(value, request.method, _target(request))

    async def may_answer(self) -> bool:
        """See `OtherInstances.may_answer`."""
        return await self._active.may_answer()

    async def answer(
        self, request: Request, identity: Identity, refusal: Callable[[], str] = str
    ) -> Response:
        """See `OtherInstances.answer`."""
        url, turned = self._active.url, self._active.turned
        if url is None or HEADER in request.headers:
            raise HttpError(503, NOBODY)
        if not url:
            raise HttpError(503, NO_URL)
        target = _target(request)
        headers = [
            (name, value)
            for name, value in request.headers.items()
            if name not in OF_ONE_CONNECTION and name not in CHECKED_HERE
        ]
        # The name under which every instance may be requested; see `server.http.refusals.AllowedHosts`.
        headers.append(("host", "localhost"))
        headers.append((HEADER, self._signer.sign(identity, request.method, target)))
        if "accept-encoding" not in request.headers:
            headers.append(("accept-encoding", "identity"))
        body = request.stream() if {"content-length", "transfer-encoding"} & set(request.headers) else None
        passed = self._client.build_request(
            request.method, _url_at(url, target), headers=headers, content=body
        )
        if self._tls is not None:
            self._tls()
        answer = await self._answer(passed, turned, url)
        kept = {name: value for name, value in answer.headers.items() if name not in OF_ONE_CONNECTION}
        return StreamingResponse(_body(answer, turned, refusal), answer.status_code, kept)

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    async def _answer(self, request: httpx.Request, turned: asyncio.Event, url: str) -> httpx.Response:
        """Return the beginning of the answer, unless another instance becomes active before."""
        asking = asyncio.ensure_future(self._client.send(request, stream=True))
        try:
            await _first(asking, turned)
            if asking.done():
                return asking.result()
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            raise HttpError(503, f"the active instance at {url} cannot be reached: {error}") from error
        except httpx.TransportError as error:
            raise HttpError(502, _in_doubt(url)) from error
        finally:
            asking.cancel()
        raise HttpError(502, _in_doubt(url))


async def _body(
    answer: httpx.Response, turned: asyncio.Event, refusal: Callable[[], str]
) -> AsyncIterator[bytes]:
    """Yield the body as it comes.

    It ends early when another instance becomes active, as when a server stops, or when the client is refused.
    """
    parts, now = answer.aiter_raw(), asyncio.get_running_loop().time
    checked = now()
    try:
        while True:
            part = asyncio.ensure_future(anext(parts, None))
            try:
                await _first(part, turned)
                if not part.done() or (data := part.result()) is None:
                    return
            finally:
                part.cancel()
            if now() - checked >= CHECK_SECONDS:
                checked = now()
                if refusal():
                    return
            yield data
    except httpx.TransportError:
        return
    finally:
        await answer.aclose()


async def _first(work: "asyncio.Future[Any]", turned: asyncio.Event) -> None:
    """Wait for the work, or until another instance is active."""
    turning = asyncio.ensure_future(turned.wait())
    try:
        await asyncio.wait([work, turning], return_when=asyncio.FIRST_COMPLETED)
    finally:
        turning.cancel()


def _in_doubt(url: str) -> str:
    return f"the active instance at {url} has ended before it answered; the request may have been executed"


def _target(request: Request) -> str:
    """Return the path and the query as the client has sent them."""
    path = request.scope.get("raw_path", request.url.path.encode()).decode("latin-1")
    return f"{path}?{request.url.query}" if request.url.query else path


def _url_at(url: str, target: str) -> httpx.URL:
    """Return the URL of the target at the instance, whose host and port no target can change.

    Raises HttpError.
    """
    base = httpx.URL(url)
    try:
        return base.copy_with(raw_path=base.raw_path.rstrip(b"/") + target.encode())
    except httpx.InvalidURL as error:
        raise HttpError(400, f"the target of the request is not valid: {error}") from error
