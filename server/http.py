"""The HTTP listener: `/healthz`, `/readyz`, `/metrics`, and whatever routes else it is given.

uvicorn serves on the server's own event loop. Sockets and signals stay the application's business.
"""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator, Sequence

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route
from uvicorn import Config, Server

from server.metrics import CONTENT_TYPE

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
    """Serves the routes on a bound socket, which it closes when it stops."""

    def __init__(self, listening: socket.socket, routes: Sequence[BaseRoute]) -> None:
        self._socket = listening
        self._server = _Uvicorn(
            Config(
                Starlette(routes=routes),
                http="h11",
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=GRACE_SECONDS,
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
