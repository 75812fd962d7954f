"""The HTTP listener: `/healthz`, `/readyz`, `/metrics`, the page at `/`, and whatever routes else it is given.

uvicorn serves on the server's own event loop. Sockets and signals stay the application's business.
"""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from ssl import SSLContext
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn import Config, Server
from uvicorn.protocols.http.h11_impl import H11Protocol

from server.metrics import CONTENT_TYPE
from server.page import files as page

GRACE_SECONDS = 1
"""How long a stop waits for responses under way."""


class Health:
    """What HTTP tells of a server that may not be there yet."""

    def __init__(self, obstacle: str | None) -> None:
        self.obstacle = obstacle
        """Why requests cannot be served now; None when they can."""
        self.metrics: Callable[[], bytes] = bytes
        """Makes the text of `/metrics`."""


def operations(health: Health) -> list[BaseRoute]:
    """Routes for whoever runs the process."""

    async def healthz(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def readyz(_: Request) -> Response:
        reason = health.obstacle
        return PlainTextResponse(f"{reason or 'ready'}\n", status_code=503 if reason else 200)

    async def metrics(_: Request) -> Response:
        return Response(health.metrics(), headers={"content-type": CONTENT_TYPE})

    return [Route("/healthz", healthz), Route("/readyz", readyz), Route("/metrics", metrics)]


def front(routes: Sequence[BaseRoute]) -> list[BaseRoute]:
    """Routes for `/`: the page for a browser, the paths of the other routes for everyone else."""
    paths = [route.path for route in routes if isinstance(route, Route) and ":" not in route.path]
    text = "".join(f"{path}\n" for path in paths)

    async def root(request: Request) -> Response:
        browser = "text/html" in request.headers.get("accept", "")
        return page.document() if browser else PlainTextResponse(text)

    return [Route("/", root), *page.assets()]


PEER = "reassignd.peer"
"""Key of the scope's extensions under which the name in the peer's certificate stands; absent without one."""


MAX_CONNECTIONS = 1_000

FIRST_REQUEST_SECONDS = 60
"""A connection on which nothing comes is closed then."""

BUSY = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n"
    b'{"error":"there are too many connections already; see http.max.connections"}\n'
)


class _Protocol(H11Protocol):
    """HTTP/1.1 that tells the application whose certificate the peer has shown, and turns away one peer too many."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        super().connection_made(transport)
        self.logger = _Named(self.logger, {"peer": ":".join(map(str, self.client or ("unknown",)))})  # type: ignore[assignment]
        if self.limit_concurrency is not None and len(self.connections) >= self.limit_concurrency:
            transport.write(BUSY)
            transport.close()
            return
        self.timeout_keep_alive_task = self.loop.call_later(
            FIRST_REQUEST_SECONDS, self.timeout_keep_alive_handler
        )
        certificate = transport.get_extra_info("peercert")
        if certificate:
            self.app = _with_peer(self.app, distinguished_name(certificate))


class _Named(logging.LoggerAdapter[logging.Logger]):
    """uvicorn's lines say what came, not from whom."""

    @property
    def level(self) -> int:
        return self.logger.level

    def process(self, msg: str, kwargs: MutableMapping[str, Any]) -> tuple[str, MutableMapping[str, Any]]:
        return f"{msg.removesuffix('.')} (from {(self.extra or {})['peer']})", kwargs


def _with_peer(app: ASGIApp, name: str) -> ASGIApp:
    async def named(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, "extensions": {**scope.get("extensions", {}), PEER: name}}, receive, send)

    return named


def distinguished_name(certificate: dict[str, Any]) -> str:
    """As Kafka has it in principals: the most specific part first."""
    parts = [pair for group in certificate["subject"] for pair in group]
    return ",".join(f"{SHORT.get(name, name)}={value}" for name, value in reversed(parts))


SHORT = {"commonName": "CN", "organizationName": "O", "organizationalUnitName": "OU", "countryName": "C"}


class _Uvicorn(Server):
    """uvicorn without its signal handlers, and with a sign that it accepts connections."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.accepting = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.accepting.set()


class HttpServer:
    """Serves the routes on a bound socket, which it closes when it stops; over TLS when there is a context."""

    def __init__(
        self,
        listening: socket.socket,
        routes: Sequence[BaseRoute],
        tls: SSLContext | None = None,
        max_connections: int = MAX_CONNECTIONS,
    ) -> None:
        self._socket = listening
        self._server = _Uvicorn(
            Config(
                Starlette(routes=routes),
                http=_Protocol,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=GRACE_SECONDS,
                # From so many connections on uvicorn answers 503, on those too that were there before.
                limit_concurrency=max_connections + 1,
                ssl_context_factory=None if tls is None else lambda _config, _default: tls,
            )
        )
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Returns when connections are accepted."""
        self._task = asyncio.create_task(self._server.serve([self._socket]), name="http")
        await self._server.accepting.wait()

    async def stop(self) -> None:
        """Closes idle connections at once, others after their response or `GRACE_SECONDS`."""
        self._server.should_exit = True
        if self._task is not None:
            await self._task
