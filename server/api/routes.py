"""The routes of the API: who asks, with which parameters, and what goes wrong in one line of JSON."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from itertools import groupby
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from server.api import brokers, jobs, limits, queue, reassignments, snapshot, status
from server.api.access import Access
from server.api.call import CLIENT_ID_LENGTH, ApiServices, Call
from server.api.errors import HttpError
from server.api.openapi import document
from server.api.table import Endpoint, Parameter
from server.driver.driver import DriverStoppedError
from server.http.server import Health

RETRY_SECONDS = 1
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


async def openapi(call: Call) -> dict[str, Any]:
    """This API, described."""
    return document(call.core.version, ENDPOINTS)


ENDPOINTS: tuple[Endpoint, ...] = (
    *status.ENDPOINTS,
    *jobs.ENDPOINTS,
    *reassignments.ENDPOINTS,
    *limits.ENDPOINTS,
    *queue.ENDPOINTS,
    *snapshot.ENDPOINTS,
    *brokers.ENDPOINTS,
    Endpoint("GET", "/v1/openapi.json", "Get the OpenAPI description of this API.", openapi, "OpenApi"),
)


class Api:
    """Serves once it has a `core`; before that, and while there is an obstacle, it says what that is."""

    def __init__(self, health: Health, access: Access) -> None:
        self.core: ApiServices | None = None
        self._health, self._access = health, access

    def routes(self) -> list[BaseRoute]:
        """One a path."""
        by_path = groupby(sorted(ENDPOINTS, key=lambda each: each.path), key=lambda each: each.path)
        made: list[BaseRoute] = []
        for path, group in by_path:
            methods = {each.method: each for each in group}
            made.append(Route(path, self._serve(methods), methods=METHODS))
        made.append(Route("/v1/{rest:path}", self._serve({}), methods=METHODS))
        return made

    def _serve(self, methods: Mapping[str, Endpoint]) -> Callable[[Request], Awaitable[Response]]:
        async def serve(request: Request) -> Response:
            try:
                principal = self._access.principal(request)
                endpoint = methods.get("GET" if request.method == "HEAD" else request.method)
                if endpoint is None:
                    raise _no_endpoint(methods, request)
                call = self._call(endpoint, principal, request)
                answer = await endpoint.handle(call)
            except HttpError as error:
                return _refusal(error.status, str(error))
            except DriverStoppedError as error:
                return _refusal(503, str(error))
            except ClientDisconnect:
                # Nobody reads this: the connection ended before the body did.
                return _refusal(400, "the body is not complete")
            return answer if isinstance(answer, Response) else JSONResponse(answer, endpoint.status)

        return serve

    def _call(self, endpoint: Endpoint, principal: str, request: Request) -> Call:
        if self.core is None or self._health.obstacle is not None:
            raise HttpError(503, self._health.obstacle or "the server is starting")
        client = request.headers.get("user-agent", "")[:CLIENT_ID_LENGTH]
        query = _query(endpoint.query, request.query_params.multi_items())
        return Call(self.core, principal, client, request.path_params, query, request)


def _no_endpoint(methods: Iterable[str], request: Request) -> HttpError:
    path, known = request.url.path[:80], ", ".join(methods)
    if known:
        return HttpError(405, f"{path} takes {known}, not {request.method}")
    return HttpError(404, f"there is no {path}; see /v1/openapi.json")


def _query(known: Iterable[Parameter], given: Iterable[tuple[str, str]]) -> dict[str, Any]:
    parameters = {each.name: each for each in known}
    values = {name: each.default for name, each in parameters.items()}
    for name, text in given:
        if name not in parameters:
            names = ", ".join(parameters) or "none"
            raise HttpError(400, f"unknown parameter '{name[:40]}'; known here: {names}")
        values[name] = _value(parameters[name], text)
    return values


def _value(parameter: Parameter, text: str) -> Any:
    if parameter.kind == "boolean":
        if text not in {"true", "false"}:
            raise HttpError(400, f"parameter {parameter.name} is '{text[:40]}', expected true or false")
        return text == "true"
    digits = text.removeprefix("-")
    if digits.isascii() and digits.isdecimal() and len(digits) < 20:
        value = int(text)
        if parameter.low <= value <= parameter.high:
            return value
    raise HttpError(
        400,
        f"parameter {parameter.name} is '{text[:40]}', expected a number from {parameter.low} to {parameter.high}",
    )


def _refusal(status: int, text: str) -> Response:
    headers = {401: {"www-authenticate": "Bearer"}, 503: {"retry-after": str(RETRY_SECONDS)}}.get(status)
    return JSONResponse({"error": " ".join(text.split())}, status, headers)
