"""The only module that uses uvicorn: HTTP/1.1 protocols for connections that this server accepts itself.

uvicorn's `Server` opens the sockets and handles signals itself, has no limits for slow clients, and sees a TLS
connection only after the handshake. So `server.http.connections` accepts, and takes from uvicorn only the protocol of one
connection and the orderly shutdown. For that this module uses parts of uvicorn that are not documented:

- `Config.http_protocol_class` and the arguments of this class, `config`, `server_state` and `app_state`;
- `Server.server_state`, where protocols register, and which `Server` reads when it shuts down;
- `H11Protocol.conn`, `cycle`, `transport`, `app_state` and `send_400_response`, which is called while h11's exception is handled;
- `Server.startup` and `Server.capture_signals` as methods to override.

tests/server/http/test_uvicorn_adapter.py fails when a version of uvicorn changes one of them.
"""

import asyncio
import contextlib
import logging
import socket
import sys
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from http import HTTPStatus
from typing import Any, cast

import msgspec
from starlette.types import ASGIApp
from uvicorn import Config, Server
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

GRACE_SECONDS = 1
"""Time that a stop waits for responses in progress."""

REFUSE = "reassignd.refuse"

current_peer: ContextVar[str] = ContextVar("peer", default="unknown")
"""The client whose data is processed now, for uvicorn's log lines."""


REFUSED = "Invalid HTTP request"
UPGRADES = ("Unsupported upgrade request", "No supported WebSocket library")
"""Beginnings of log lines that every client can cause with each request."""


class PeerFilter(logging.Filter):
    """Adds the client's address to uvicorn's log lines.

    Omits those about requests that are not HTTP, which `HttpProtocol` reports, and about Upgrade headers: HTTP permits a
    server to ignore them (RFC 9110, 7.8).
    """

    def filter(self, record: logging.LogRecord) -> bool:
        if str(record.msg).startswith((REFUSED, *UPGRADES)):
            return False
        peer = current_peer.get()
        if peer != "unknown":
            record.msg = f"{str(record.msg).strip().removesuffix('.')} (from {peer})"
        return True


PEER_FILTER = PeerFilter()


class HttpProtocol(H11Protocol):
    """uvicorn's protocol, with an error of one line of JSON for what is not HTTP."""

    def send_400_response(self, msg: str) -> None:
        """Answer with the error of h11 that is being handled, and close the connection."""
        error = sys.exception()
        # h11 appends the invalid bytes, which may be a token.
        reason = str(error or msg).partition(": bytearray(")[0]
        self.app_state[REFUSE](reason)
        # After the beginning of a response, only its end can tell the client that something is wrong.
        cycle = cast(RequestResponseCycle | None, self.cycle)
        if cycle is None or cycle.response_complete or not cycle.response_started:
            status = HTTPStatus(getattr(error, "error_status_hint", 400))
            body = msgspec.json.encode({"error": f"not an HTTP/1.1 request: {reason}"}) + b"\n"
            head = (
                f"HTTP/1.1 {status} {status.phrase}\r\ncontent-type: application/json\r\n"
                f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
            )
            self.transport.write(head.encode() + body)
        self.transport.close()


def has_next_request(protocol: asyncio.Protocol) -> bool:
    """Return whether bytes after the present request have been received."""
    return isinstance(protocol, HttpProtocol) and bool(protocol.conn.trailing_data[0])


class UvicornProtocols:
    """Makes the protocols of connections for one ASGI application."""

    def __init__(self, app: ASGIApp) -> None:
        self._config = Config(
            app,
            http=HttpProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
        self._server = _SocketlessServer(self._config)
        self._serving: asyncio.Task[None] | None = None
        logging.getLogger("uvicorn.error").addFilter(PEER_FILTER)

    def make(self, state: dict[str, Any]) -> asyncio.Protocol:
        """Return the protocol of one connection. Its requests get a copy of `state` in their ASGI scope.

        `state[REFUSE]` is called with the reason when the client sends something that is not HTTP.
        """
        make = cast(Callable[..., asyncio.Protocol], self._config.http_protocol_class)
        return make(config=self._config, server_state=self._server.server_state, app_state=state)

    async def start(self) -> None:
        """Start uvicorn's own tasks. Protocols may be made when this returns."""
        self._serving = asyncio.create_task(self._server.serve([]), name="http")
        await self._server.ready.wait()

    async def stop(self) -> None:
        """Close idle connections at once, and others after their response or `GRACE_SECONDS`."""
        self._server.should_exit = True
        if self._serving is not None:
            await self._serving


class _SocketlessServer(Server):
    """uvicorn's server without its sockets and signal handlers. `ready` is set when it has started."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()
