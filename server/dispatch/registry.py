"""The registry of handlers by API key.

Each module of `server.handlers` registers its handler here. ApiVersions advertises what is registered.
"""

from collections.abc import Awaitable, Callable
from typing import Generic, NamedTuple, TypeAlias, TypeVar, cast

from common.error_codes import ErrorCode
from controller.model.access import Operation
from protocol.apis import ApiKey
from protocol.codec.schema import Response, default_of
from protocol.codec.wire import schema_of
from protocol.counter import Bounds
from server.dispatch.cache import Encoded
from server.dispatch.context import (
    Context,
)

Request = TypeVar("Request", bound=NamedTuple)
HandlerResult: TypeAlias = Response | Encoded | Awaitable[Response | Encoded]
Handler = Callable[[Request, Context], HandlerResult[Response]]
Refusal = Callable[[Request, int, str | None], Response]


USUAL = Bounds(rows=10_000, numbers=100_000)
"""The bounds of an API whose handler sets no others."""


class Route(NamedTuple, Generic[Request, Response]):
    """The handler of an API key and its limits.

    `operation` is the cluster operation that the principal needs before the handler is called; None if there
    is none. `refuse` returns a response of the API with an error code and message.
    """

    api_key: ApiKey
    request: type[Request]
    versions: range
    operation: Operation | None
    bounds: Bounds
    """Bounds on a request. A larger request is refused with `excess` before it is decoded."""
    excess: ErrorCode
    handle: Handler[Request, Response]
    refuse: Refusal[Request, Response]

    def refusal(self, request: Request, version: int, code: int, message: str | None) -> Response:
        """Return the response of `refuse` without fields that the version lacks, as ElectLeaders 0."""
        response = self.refuse(request, code, message)
        schema = schema_of(type(response))
        absent = [field for field in schema.structs[schema.root] if not field.in_version(version)]
        return response._replace(**{field.name: default_of(schema.root, field) for field in absent})


AnyRoute = Route[NamedTuple, NamedTuple]
"""A route of any API. Its `handle` and `refuse` accept only messages of its class `request`."""

ROUTES: dict[int, AnyRoute] = {}
"""API key -> route."""


def handles(
    api_key: ApiKey,
    request: type[Request],
    *,
    versions: tuple[int, int],
    refuse: Refusal[Request, Response],
    operation: Operation | None = None,
    bounds: Bounds = USUAL,
    excess: ErrorCode = ErrorCode.INVALID_REQUEST,
) -> Callable[[Handler[Request, Response]], Handler[Request, Response]]:
    """Register the decorated function for `api_key`, first to last of `versions`.

    The function returns the response, its encoded body (`Encoded`), or an awaitable of either. A response
    that is not awaitable is sent at once: small requests should not become tasks.
    """

    def register(handler: Handler[Request, Response]) -> Handler[Request, Response]:
        if api_key in ROUTES:
            raise ValueError(f"{api_key.name} is registered twice")
        first, last = versions
        route = Route(api_key, request, range(first, last + 1), operation, bounds, excess, handler, refuse)
        # The router calls the route with requests that it decoded as `route.request`; a dict cannot express
        # that.
        ROUTES[api_key] = cast(AnyRoute, route)
        return handler

    return register
