"""The requests of a connection, one after the other, and their answers by an ASGI application."""

import asyncio
import logging
from email.utils import formatdate
from functools import cache, lru_cache
from http import HTTPStatus
from time import time
from typing import Any
from urllib.parse import unquote

import h11
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Scope

from server.http.connection import KEY, HttpConnection

log = logging.getLogger(__name__)

FAILED = b'{"error":"reassignd could not answer this request; its log has the reason"}'
"""The body of an answer to a request that failed unexpectedly: an error like those of `/v1`."""


async def serve(connection: HttpConnection, app: ASGIApp) -> None:
    """Answer the requests of a connection until it is closed."""
    try:
        if await connection.open():
            while await _answer_next(connection, app):
                if connection.http.trailing_data[0]:
                    # A client that sends many requests at once lets those of others be answered in between.
                    await asyncio.sleep(0)
    except h11.RemoteProtocolError as error:
        connection.refuse(error)
    except ConnectionError:
        pass
    finally:
        connection.close()


async def _answer_next(connection: HttpConnection, app: ASGIApp) -> bool:
    """Answer the next request; return whether the connection may have further ones."""
    request = await connection.event()
    if not isinstance(request, h11.Request):
        return False
    exchange = HttpExchange(connection, request)
    with connection.request():
        await exchange.answer(app)
    http = connection.http
    while http.their_state is h11.SEND_BODY:
        await connection.event()
    if connection.closed or http.our_state is not h11.DONE or http.their_state is not h11.DONE:
        return False
    http.start_next_cycle()
    return True


class HttpExchange:
    """One request and its answer, as the application sees them."""

    def __init__(self, connection: HttpConnection, request: h11.Request) -> None:
        self._connection, self._http = connection, connection.http
        self._is_head = request.method == b"HEAD"
        self._body_left = True
        """The end of the request was not passed to the application."""
        self._complete = False
        self._scope = _scope(connection, request)

    async def answer(self, app: ASGIApp) -> None:
        """Let the application answer. When it fails, the answer is 500, or ends early if it has begun."""
        try:
            await app(self._scope, self.receive, self.send)
        except ClientDisconnect:
            return
        except Exception:
            log.exception("cannot answer %s %s", self._scope["method"], self._scope["path"][:80])
        else:
            if self._complete or self._connection.closed:
                return
            log.error("%s %s was not answered", self._scope["method"], self._scope["path"][:80])
        if self._http.our_state is h11.SEND_RESPONSE:
            headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
            await self.send({"type": "http.response.start", "status": 500, "headers": headers})
            await self.send({"type": "http.response.body", "body": FAILED})
        self._connection.close()

    async def receive(self) -> Message:
        """Return the next part of the body; after it, wait for the end of the connection."""
        if not self._body_left or self._complete:
            if not self._complete:
                await self._connection.lost.wait()
            return {"type": "http.disconnect"}
        if self._http.they_are_waiting_for_100_continue:
            proceed = h11.InformationalResponse(status_code=100, headers=[], reason="Continue")
            self._connection.write(self._http.send(proceed))
        try:
            body, self._body_left = await self._connection.body_part()
        except h11.RemoteProtocolError as error:
            self._connection.refuse(error)
            return {"type": "http.disconnect"}
        except ConnectionError:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": body, "more_body": self._body_left}

    async def send(self, message: Message) -> None:
        """Send the head of the answer, or a part of its body."""
        await self._connection.writable()
        if self._connection.closed:
            return
        if message["type"] == "http.response.start":
            status = message["status"]
            headers = [(b"date", _date(int(time()))), *message.get("headers", ())]
            response = h11.Response(status_code=status, headers=headers, reason=_phrase(status))
            self._connection.write(self._http.send(response))
            return
        data = b"" if self._is_head else message.get("body", b"")
        written = self._http.send(h11.Data(data=data)) or b""
        if not message.get("more_body", False):
            written += self._http.send(h11.EndOfMessage()) or b""
            self._complete = True
        self._connection.write(written)
        if self._complete and (self._http.our_state is h11.MUST_CLOSE or self._connection.last):
            self._connection.close()


def _scope(connection: HttpConnection, request: h11.Request) -> Scope:
    raw_path, _, query = request.target.partition(b"?")
    transport: Any = connection.transport
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": request.http_version.decode(),
        "server": _address(transport.get_extra_info("sockname")),
        "client": _address(transport.get_extra_info("peername")),
        "scheme": "https" if transport.get_extra_info("sslcontext") else "http",
        "method": request.method.decode(),
        "root_path": "",
        "path": unquote(raw_path.decode()),
        "raw_path": raw_path,
        "query_string": query,
        "headers": list(request.headers),
        "state": {KEY: connection},
    }


def _address(name: object) -> tuple[str, int] | None:
    """Return host and port; None for a unix socket."""
    return (str(name[0]), int(name[1])) if isinstance(name, tuple) else None


@lru_cache(maxsize=1)
def _date(second: int) -> bytes:
    return formatdate(second, usegmt=True).encode()


@cache
def _phrase(status: int) -> bytes:
    return HTTPStatus(status).phrase.encode()
