"""The router: turns a request frame into the bytes of its response.

Steps: version check, decoding, authorization, handler, encoding. A small request with a synchronous handler
needs no task and no await. Large requests and responses are decoded and encoded in the worker thread.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from time import perf_counter
from typing import NamedTuple

from common.error_codes import ErrorCode
from common.off_loop import InTurn, OffLoop
from controller.model.access import Operation
from protocol.apis import ApiKey
from protocol.codec.errors import ApiError, DecodeError, EncodeError
from protocol.codec.wire import codec
from protocol.counter import Bounds
from protocol.frames import RequestFrame, decode_within, encode_response, frame_response
from protocol.messages.api_versions_request import ApiVersionsRequest
from server.counters import Counters
from server.dispatch.cache import Encoded
from server.dispatch.context import (
    CLUSTER,
    LARGE_ROWS,
    Caller,
    Context,
    Services,
    recorded_client_id,
)
from server.dispatch.registry import ROUTES, AnyRoute, HandlerResult
from server.driver.driver import DriverStoppedError

log = logging.getLogger(__name__)

LARGE_BODY = 128 * 1024
"""Bytes that take two milliseconds to decode. Larger bodies are decoded in the worker thread."""


ECHOED = Bounds(rows=150_000, numbers=450_000)
"""Rows that a refusal repeats. The refusal of a larger request has the first rows only."""


AT_ONCE = Bounds(rows=LARGE_ROWS, numbers=4 * LARGE_ROWS)
"""The same limit for a refusal that is encoded on the event loop."""

Refuse = Callable[[RequestFrame, int, str | None], bytes | Awaitable[bytes]]
"""See `Router.refuse`."""


UNPRIVILEGED = (None, Operation.DESCRIBE)
"""Operations on the cluster that clients without the right to change it can have; None for rights on topics
only."""


class Refusals(NamedTuple):
    """Refuses requests of any API that has a handler."""

    off_loop: OffLoop
    stats: Counters
    routes: Mapping[int, AnyRoute] = ROUTES

    def refuse(self, frame: RequestFrame, code: int, message: str | None) -> bytes | Awaitable[bytes]:
        """See `Router.refuse`."""
        route = self.routes[frame.api_key]
        self.stats.request(frame.api_key, code)
        if len(frame.body) > LARGE_BODY:
            return self.off_loop.run(_refused, route, frame, ECHOED, code, message)
        return _refused(route, frame, ECHOED, code, message)


class Router:
    """Answers requests with the handlers of the routes (`server.handlers.load`)."""

    def __init__(self, services: Services, stats: Counters, routes: Mapping[int, AnyRoute]) -> None:
        self._services = services
        self._in_turn = replace(services, off_loop=InTurn(services.off_loop))
        """The same for requests that need no right to change the cluster: they do not hold up those that
        do."""
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
        client, version = recorded_client_id(frame.client_id), frame.api_version
        denied = route.operation is not None and not authorizer.allows(
            caller.principal, route.operation, CLUSTER
        )
        services = self._in_turn if denied or route.operation in UNPRIVILEGED else self._services
        context = Context(services, services.state, authorizer, caller, client, version)
        bounds = _least(route.bounds, ECHOED) if denied else route.bounds
        if len(frame.body) > LARGE_BODY:
            return self._answer_large(route, frame, context, bounds, began, denied=denied)
        request, whole = decode_within(frame, route.request, bounds)
        if denied or not whole:
            return self._refuse(route, frame, request, _obstacle(route, denied=denied), began)
        try:
            response = route.handle(request, context)
            if type(response) is Encoded:
                body = response.body
            elif isinstance(response, tuple) and not is_large(response):
                body = codec(type(response), frame.api_version).encode(response)
            else:
                return self._answer_later(route, frame, request, response, began, services.off_loop)
        except DecodeError:
            raise
        except Exception as error:  # noqa: BLE001 - `_refuse` logs it
            return self._refuse(route, frame, request, error, began)
        error_code = getattr(response, "error_code", ErrorCode.NONE)
        self._stats.request(frame.api_key, error_code, perf_counter() - began)
        return frame_response(frame, body)

    def refuse(self, frame: RequestFrame, code: int, message: str | None) -> bytes | Awaitable[bytes]:
        """Return the frame that refuses `frame`, whose version is served; DecodeError as with `answer`."""
        return Refusals(self._in_turn.off_loop, self._stats, self._routes).refuse(frame, code, message)

    def _unsupported(self, frame: RequestFrame) -> bytes:
        if frame.api_key == ApiKey.API_VERSIONS:
            self._stats.request(frame.api_key, ErrorCode.UNSUPPORTED_VERSION)
            # In version 0, which all clients read (KIP-511).
            refusal = self._routes[frame.api_key].refuse(
                ApiVersionsRequest(), ErrorCode.UNSUPPORTED_VERSION, None
            )
            return encode_response(frame, refusal, version=0)
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
        request, whole = await context.services.off_loop.run(decode_within, frame, route.request, bounds)
        if denied or not whole:
            return await self._refuse(route, frame, request, _obstacle(route, denied=denied), began)
        handled = _handled(route, request, context)
        return await self._answer_later(route, frame, request, handled, began, context.services.off_loop)

    async def _answer_later(
        self,
        route: AnyRoute,
        frame: RequestFrame,
        request: NamedTuple,
        response: HandlerResult[NamedTuple],
        began: float,
        off_loop: OffLoop,
    ) -> bytes:
        """Return the frame with a response that is large, or not ready yet."""
        try:
            if not isinstance(response, tuple):
                response = await response
            if type(response) is Encoded:
                body = response.body
            else:
                encode = codec(type(response), frame.api_version).encode
                if is_large(response):
                    body = await off_loop.run(encode, response)
                else:
                    body = encode(response)
        except (DriverStoppedError, DecodeError):
            raise
        except Exception as error:  # noqa: BLE001 - `_refuse` logs it
            return await self._refuse(route, frame, request, error, began)
        error_code = getattr(response, "error_code", ErrorCode.NONE)
        self._stats.request(frame.api_key, error_code, perf_counter() - began)
        return frame_response(frame, body)

    async def _refuse(
        self, route: AnyRoute, frame: RequestFrame, request: NamedTuple, error: Exception, began: float
    ) -> bytes:
        """Return the frame with the error in all rows of the request.

        An unexpected exception is UNKNOWN_SERVER_ERROR without details: the log has the traceback.
        """
        code, message = int(ErrorCode.UNKNOWN_SERVER_ERROR), None
        if isinstance(error, ApiError):
            code, message = error.code, error.message
        elif isinstance(error, EncodeError):
            log.error("the response of %s cannot be encoded", route.api_key.name, exc_info=error)
        else:
            log.error("the handler of %s failed", route.api_key.name, exc_info=error)
        if is_large(request):
            refused = self._in_turn.off_loop.run(_encoded_refusal, route, frame, request, code, message)
            answer, error_code = await refused
        else:
            answer, error_code = _encoded_refusal(route, frame, request, code, message)
        self._stats.request(frame.api_key, error_code, perf_counter() - began)
        return answer


async def awaited(answer: bytes | Awaitable[bytes]) -> bytes:
    """Return an answer that is given at once or later."""
    return answer if isinstance(answer, bytes) else await answer


async def _handled(route: AnyRoute, request: NamedTuple, context: Context) -> NamedTuple:
    response = route.handle(request, context)
    return response if isinstance(response, tuple) else await response


def _obstacle(route: AnyRoute, *, denied: bool) -> ApiError:
    """Return the reason why the handler does not get a request that is denied, or else too large."""
    if denied:
        return ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed.")
    return ApiError(route.excess, too_large(route.bounds))


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
    return _refused(route, frame, AT_ONCE, code, message)


def _refused(route: AnyRoute, frame: RequestFrame, echoed: Bounds, code: int, message: str | None) -> bytes:
    request, _ = decode_within(frame, route.request, _least(route.bounds, echoed))
    return _encoded_refusal(route, frame, request, code, message)[0]


def _encoded_refusal(
    route: AnyRoute, frame: RequestFrame, request: NamedTuple, code: int, message: str | None
) -> tuple[bytes, int]:
    """Return the frame that refuses the request, and its top-level error code.

    A refusal that cannot be encoded, as with a message that is too long, becomes UNKNOWN_SERVER_ERROR.
    """
    response = route.refusal(request, frame.api_version, code, message)
    try:
        answer = encode_response(frame, response)
    except EncodeError:
        log.exception("the refusal of %s cannot be encoded", route.api_key.name)
        response = route.refusal(request, frame.api_version, ErrorCode.UNKNOWN_SERVER_ERROR, None)
        answer = encode_response(frame, response)
    return answer, getattr(response, "error_code", ErrorCode.NONE)
