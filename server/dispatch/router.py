"""The router: turns a request frame into the bytes of its response.

Steps: version check, decoding, authorization, handler, encoding. A small request with a synchronous handler
needs no task and no await. Large requests and responses are decoded and encoded in the worker thread.
"""

import logging
from collections.abc import Awaitable, Mapping
from time import perf_counter
from typing import NamedTuple

from common.error_codes import ErrorCode
from protocol.apis import ApiKey
from protocol.counter import Bounds
from protocol.errors import ApiError, DecodeError, EncodeError
from protocol.frames import RequestFrame, decode_within, encode_response, frame_response
from server.dispatch.authorizer import CLUSTER, Authorizer
from server.dispatch.cache import Encoded
from server.dispatch.context import LARGE_ROWS, Context, Services
from server.dispatch.registry import ROUTES, AnyRoute, HandlerResult
from server.driver.driver import DriverStoppedError
from server.handlers import api_versions, load
from server.ports import BrokerPort, Stats

log = logging.getLogger(__name__)

LARGE_BODY = 128 * 1024
"""Bytes that take two milliseconds to decode. Larger bodies are decoded in the worker thread."""


ECHOED = Bounds(rows=150_000, numbers=450_000)
"""Rows that a refusal repeats. The refusal of a larger request has the first rows only."""


AT_ONCE = Bounds(rows=LARGE_ROWS, numbers=4 * LARGE_ROWS)
"""The same limit for a refusal that is encoded on the event loop."""


class Caller(NamedTuple):
    """The attributes that all requests of a connection share."""

    broker: BrokerPort
    principal: str
    peer: str
    rights: Authorizer | None = None
    """Replaces the services' authorizer for this request: the principal's rights, as another broker returned
    them."""


class Router:
    """Answers requests with the registered handlers."""

    def __init__(self, services: Services, stats: Stats, routes: Mapping[int, AnyRoute] = ROUTES) -> None:
        load()
        self._services = services
        self._stats = stats
        self._routes = routes

    def answer(self, frame: RequestFrame, caller: Caller) -> bytes | Awaitable[bytes]:
        """Return the frame that answers `frame`, at once or later.

        Raises DecodeError, now or when awaited, if there can be no answer and the connection is to be closed.
        """
        route = self._routes.get(frame.api_key)
        if route is None or frame.api_version not in route.versions:
            return self._unsupported(frame)
        began = perf_counter()
        authorizer = self._services.authorizer if caller.rights is None else caller.rights
        context = Context(
            self._services,
            self._services.state,
            authorizer,
            caller.broker,
            caller.principal,
            caller.peer,
            frame.client_id,
            frame.api_version,
        )
        denied = route.operation is not None and not authorizer.allows(
            caller.principal, route.operation, CLUSTER
        )
        bounds = _least(route.bounds, ECHOED) if denied else route.bounds
        if len(frame.body) > LARGE_BODY:
            return self._answer_large(route, frame, context, bounds, began, denied=denied)
        request, whole = decode_within(frame, route.request, bounds)
        response = self._respond(route, request, context, denied=denied, whole=whole)
        if type(response) is Encoded:
            answer = frame_response(frame, response.body)
        elif isinstance(response, tuple) and not is_large(response):
            answer = _encode(route, frame, request, response)
        else:
            return self._answer_later(route, frame, request, response, began)
        error = getattr(response, "error_code", ErrorCode.NONE)
        self._stats.request(frame.api_key, error, perf_counter() - began)
        return answer

    def refuse(self, frame: RequestFrame, code: int, message: str | None) -> bytes | Awaitable[bytes]:
        """Return the frame that refuses `frame`, whose version is served; DecodeError as with `answer`."""
        self._stats.request(frame.api_key, code)
        if len(frame.body) > LARGE_BODY:
            return self._services.off_loop.run(_refused, self._routes[frame.api_key], frame, code, message)
        return _refused(self._routes[frame.api_key], frame, code, message)

    def _unsupported(self, frame: RequestFrame) -> bytes:
        if frame.api_key == ApiKey.API_VERSIONS:
            self._stats.request(frame.api_key, ErrorCode.UNSUPPORTED_VERSION)
            return encode_response(frame, api_versions.unsupported(), version=0)
        raise DecodeError(f"API key {frame.api_key} version {frame.api_version} is not served")

    async def _answer_large(
        self,
        route: AnyRoute,
        frame: RequestFrame,
        context: Context,
        bounds: Bounds,
        began: float,
        *,
        denied: bool,
    ) -> bytes:
        request, whole = await self._services.off_loop.run(decode_within, frame, route.request, bounds)
        response = self._respond(route, request, context, denied=denied, whole=whole)
        return await self._answer_later(route, frame, request, response, began)

    async def _answer_later(
        self,
        route: AnyRoute,
        frame: RequestFrame,
        request: NamedTuple,
        response: HandlerResult[NamedTuple],
        began: float,
    ) -> bytes:
        if not isinstance(response, tuple):
            try:
                response = await response
            except (DriverStoppedError, DecodeError):
                raise
            except ApiError as refusal:
                refused = self._refusal(route, frame.api_version, request, refusal.code, refusal.message)
                response = refused if isinstance(refused, tuple) else await refused
            except Exception:
                log.exception("the handler of %s failed", route.api_key.name)
                response = _failed(route, frame.api_version, request)
        if is_large(response):
            answer = await self._services.off_loop.run(_encode, route, frame, request, response)
        else:
            answer = _encode(route, frame, request, response)
        error = getattr(response, "error_code", ErrorCode.NONE)
        self._stats.request(frame.api_key, error, perf_counter() - began)
        return answer

    def _respond(
        self, route: AnyRoute, request: NamedTuple, context: Context, *, denied: bool, whole: bool
    ) -> HandlerResult[NamedTuple]:
        try:
            if denied:
                text = "Cluster authorization failed."
                return self._refusal(
                    route, context.api_version, request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED, text
                )
            if not whole:
                return self._refusal(
                    route, context.api_version, request, route.excess, too_large(route.bounds)
                )
            return route.handle(request, context)
        except ApiError as refusal:
            return self._refusal(route, context.api_version, request, refusal.code, refusal.message)
        except DecodeError:
            raise
        except Exception:
            log.exception("the handler of %s failed", route.api_key.name)
            return _failed(route, context.api_version, request)

    def _refusal(
        self, route: AnyRoute, version: int, request: NamedTuple, code: int, message: str | None
    ) -> HandlerResult[NamedTuple]:
        """Return the refusal, or an awaitable of it if the request has many rows to repeat."""
        if is_large(request):
            return self._services.off_loop.run(route.refusal, request, version, code, message)
        return route.refusal(request, version, code, message)


def too_large(bounds: Bounds) -> str:
    """Return the message for a request that exceeds the bounds."""
    return f"The request has more than {bounds.rows} rows or {bounds.numbers} numbers; use several requests."


def _least(one: Bounds, other: Bounds) -> Bounds:
    return Bounds(min(one.rows, other.rows), min(one.numbers, other.numbers))


def is_large(response: NamedTuple) -> bool:
    """Return whether the response has many rows, counting arrays and the arrays in their rows."""
    rows = 0
    for field in response:
        if field and isinstance(field, list | tuple):
            rows += len(field)
            if rows > LARGE_ROWS:
                return True
            if isinstance(field[0], tuple):
                arrays = [at for at, inner in enumerate(field[0]) if isinstance(inner, list | tuple)]
                rows += sum(len(row[at] or ()) for at in arrays for row in field)
    return rows > LARGE_ROWS


def refused(frame: RequestFrame, code: int, message: str | None) -> bytes:
    """Return the frame that refuses `frame`, made on the event loop.

    It repeats only the first rows of a large request.
    """
    route = ROUTES[frame.api_key]
    request, _ = decode_within(frame, route.request, _least(route.bounds, AT_ONCE))
    return _encode(route, frame, request, route.refusal(request, frame.api_version, code, message))


def _refused(route: AnyRoute, frame: RequestFrame, code: int, message: str | None) -> bytes:
    request, _ = decode_within(frame, route.request, _least(route.bounds, ECHOED))
    return _encode(route, frame, request, route.refusal(request, frame.api_version, code, message))


def _failed(route: AnyRoute, version: int, request: NamedTuple) -> NamedTuple:
    """Return UNKNOWN_SERVER_ERROR without details: the log has the traceback."""
    return route.refusal(request, version, ErrorCode.UNKNOWN_SERVER_ERROR, None)


def _encode(route: AnyRoute, frame: RequestFrame, request: NamedTuple, response: NamedTuple) -> bytes:
    if type(response) is Encoded:
        return frame_response(frame, response.body)
    try:
        return encode_response(frame, response)
    except EncodeError:
        log.exception("the response of %s cannot be encoded", route.api_key.name)
        return encode_response(frame, _failed(route, frame.api_version, request))
