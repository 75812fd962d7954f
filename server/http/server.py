"""The HTTP listener: `/healthz`, `/readyz`, `/metrics`, the page at `/`, and further routes.

`server.http.connections` accepts and limits connections; `server.http.exchange` answers their requests in the
server's own event loop.
"""

import asyncio
import socket
from collections.abc import Callable, Sequence
from ssl import SSLContext

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from common.clock import Clock, RealClock
from server.http.allowed_hosts import AllowedHosts
from server.http.connection import Bounds
from server.http.connections import HttpConnections
from server.http.exchange import FAILED
from server.http.refusals import refuse_other_sites, refuse_other_targets, refuse_two_lengths
from server.metrics.exposition import CONTENT_TYPE
from server.page import files as page


class Health:
    """The readiness of the server, and its metrics."""

    def __init__(self, obstacle: str | None, metrics: Callable[[], bytes] = bytes) -> None:
        self.obstacle = obstacle
        """Why the server cannot answer requests now; None when it can."""
        self.metrics = metrics
        """Returns the text of `/metrics`."""
        self.details: Callable[[], str] = str
        """Returns further lines of `/readyz`."""


HEALTH_PATHS = frozenset({"/healthz", "/readyz"})
"""Paths for probes. They are open to everyone, and have a reserve of connections."""


def operations_routes(health: Health) -> list[BaseRoute]:
    """Return the routes for probes and monitoring."""

    async def healthz(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def readyz(_: Request) -> Response:
        reason = health.obstacle
        text = f"{reason or 'ready'}\n{health.details()}"
        return PlainTextResponse(text, status_code=503 if reason else 200)

    async def metrics(_: Request) -> Response:
        return Response(health.metrics(), headers={"content-type": CONTENT_TYPE})

    return [Route("/healthz", healthz), Route("/readyz", readyz), Route("/metrics", metrics)]


def root_routes(routes: Sequence[BaseRoute]) -> list[BaseRoute]:
    """Return the routes of the page.

    At `/`, clients other than browsers get the paths of the given routes.
    """
    paths = [route.path for route in routes if isinstance(route, Route) and ":" not in route.path]
    text = "".join(f"{path}\n" for path in paths)

    async def root(request: Request) -> Response:
        browser = "text/html" in request.headers.get("accept", "")
        return page.document(request) if browser else PlainTextResponse(text)

    return [Route("/", root), *page.assets()]


SHOWN_LENGTH = 80
"""Characters of a path in an error message."""


async def _refused(request: Request, error: Exception) -> Response:
    """Answer a path or a method without a route in the form of the API's errors."""
    status, headers = 404, None
    if isinstance(error, HTTPException):
        status, headers = error.status_code, error.headers
    path = request.url.path[:SHOWN_LENGTH]
    reason = (
        f"{path} does not take {request.method[:SHOWN_LENGTH]}" if status == 405 else f"there is no {path}"
    )
    return JSONResponse({"error": reason}, status, headers)


async def _failed(_: Request, __: Exception) -> Response:
    """Answer a request whose route has raised something unexpected, which is logged as well."""
    return Response(FAILED, 500, media_type="application/json")


class HttpServer:
    """Serves the routes on a bound socket, over TLS if there is a context. Closes the socket when it stops.

    `allowed_hosts` are the accepted Host headers; None accepts any.
    """

    def __init__(
        self,
        listening: socket.socket,
        routes: Sequence[BaseRoute],
        tls: SSLContext | None = None,
        bounds: Bounds | None = None,
        allowed_hosts: AllowedHosts | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._socket = listening
        handlers = {HTTPException: _refused, Exception: _failed}
        starlette = Starlette(routes=routes, exception_handlers=handlers)
        app = refuse_two_lengths(
            refuse_other_targets(refuse_other_sites(starlette, allowed_hosts, HEALTH_PATHS))
        )
        self._connections = HttpConnections(
            app, HEALTH_PATHS, bounds or Bounds(), tls, RealClock() if clock is None else clock
        )
        self._overdue_task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start to accept connections."""
        self._overdue_task = asyncio.create_task(
            self._connections.close_overdue(), name="overdue HTTP connections"
        )
        self._connections.accept_from(self._socket)

    async def stop(self) -> None:
        """Close idle connections at once, and others after their response or a short time."""
        await self._connections.stop()
        self._socket.close()
        if self._overdue_task is not None:
            self._overdue_task.cancel()
