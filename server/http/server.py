"""The HTTP listener: `/healthz`, `/readyz`, `/metrics`, the page at `/`, and whatever routes else it is given.

uvicorn speaks HTTP on the server's own event loop. Sockets and signals stay the application's business, and connections are
bounded by `server.http.connection`.
"""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Callable, Iterator, Sequence
from ssl import SSLContext
from typing import Any, cast

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route
from uvicorn import Config, Server

from server.http.connection import Bounds, PeerInLines, watched
from server.http.connections import HttpConnections
from server.http.same_site import Names, from_this_site
from server.metrics.exposition import CONTENT_TYPE
from server.page import files as page

GRACE_SECONDS = 1
"""How long a stop waits for responses under way."""

PEER_IN_LINES = PeerInLines()


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


HEALTH = frozenset({"/healthz", "/readyz"})
"""What probes ask. It is answered whoever asks, and has a reserve of connections."""


def distinguished_name(certificate: dict[str, Any]) -> str:
    """As Kafka has it in principals: the most specific part first."""
    parts = [pair for group in certificate["subject"] for pair in group]
    return ",".join(f"{SHORT.get(name, name)}={value}" for name, value in reversed(parts))


SHORT = {"commonName": "CN", "organizationName": "O", "organizationalUnitName": "OU", "countryName": "C"}


class _Uvicorn(Server):
    """uvicorn without its signal handlers and sockets, and with a sign that it is ready for connections."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()


class HttpServer:
    """Serves the routes on a bound socket, which it closes when it stops; over TLS when there is a context.

    `names` are those under which it may be asked; None asks for no name.
    """

    def __init__(
        self,
        listening: socket.socket,
        routes: Sequence[BaseRoute],
        tls: SSLContext | None = None,
        bounds: Bounds | None = None,
        names: Names | None = None,
    ) -> None:
        self._socket = listening
        app = watched(from_this_site(Starlette(routes=routes), names, HEALTH), HEALTH)
        self._config = Config(
            app,
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
        self._server = _Uvicorn(self._config)
        self._connections = HttpConnections(self._protocol, bounds or Bounds(), tls)
        self._serving: asyncio.Task[None] | None = None
        self._housekeeper: asyncio.Task[None] | None = None
        logging.getLogger("uvicorn.error").addFilter(PEER_IN_LINES)

    def _protocol(self, state: dict[str, Any]) -> asyncio.Protocol:
        """As uvicorn's own server makes it."""
        make = cast(Callable[..., asyncio.Protocol], self._config.http_protocol_class)
        return make(config=self._config, server_state=self._server.server_state, app_state=state)

    async def start(self) -> None:
        """Returns when connections are accepted."""
        self._serving = asyncio.create_task(self._server.serve([]), name="http")
        await self._server.ready.wait()
        self._housekeeper = asyncio.create_task(self._connections.keep_house(), name="http housekeeper")
        self._connections.accept_from(self._socket)

    async def stop(self) -> None:
        """Closes idle connections at once, others after their response or `GRACE_SECONDS`."""
        self._connections.stop_accepting()
        self._socket.close()
        self._server.should_exit = True
        if self._serving is not None:
            await self._serving
        if self._housekeeper is not None:
            self._housekeeper.cancel()
        self._connections.abort_all()
