"""The routes of the API: authorization, query parameters, and errors as one line of JSON."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from itertools import groupby
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, inspect
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from common.json.models import explain, fields_of, without_null
from server.api.access import Access, require_role
from server.api.openapi import document
from server.api.other_instances import HEADER, OtherInstances
from server.api.resources import (
    access,
    audit,
    brokers,
    disk_moves,
    embedded_brokers,
    events,
    flows,
    instances,
    job_export,
    job_strip,
    job_timeline,
    jobs,
    limits,
    load,
    pace,
    partitions,
    placement,
    proposals,
    queue,
    reassignments,
    reviews,
    schedule,
    search,
    snapshot,
    status,
    throughput,
    topics,
    whoami,
)
from server.api.shared.answers import accepted_age, json_response
from server.api.shared.call import SHOWN_LENGTH, ApiServices, Call, Endpoint
from server.api.shared.errors import HttpError
from server.api.shared.models import Error
from server.api.shared.roles import Identity, Role
from server.dispatch.context import LONGEST_CLIENT_ID
from server.driver.driver import DriverStoppedError
from server.http.server import Health

RETRY_SECONDS = 1
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")

SWITCHES = {"true": True, "false": False}

LAPSED = "this instance is no longer active; the request may have been executed: look before trying again"

MAX_ERROR = 1_000
"""Characters of an error message, however long the names in it are."""

_encoder = msgspec.json.Encoder()

OpenApi = Annotated[dict[str, Any], Meta(title="OpenApi")]


async def openapi(call: Call) -> Response:
    """Return the OpenAPI document of this API."""
    return Response(_encoded_document(call.services.version), media_type="application/json")


@cache
def _encoded_document(version: str) -> bytes:
    return msgspec.json.encode(document(version, ENDPOINTS))


ENDPOINTS: tuple[Endpoint, ...] = (
    *status.ENDPOINTS,
    *throughput.ENDPOINTS,
    *pace.ENDPOINTS,
    *flows.ENDPOINTS,
    *load.ENDPOINTS,
    *jobs.ENDPOINTS,
    *job_timeline.ENDPOINTS,
    *job_strip.ENDPOINTS,
    *job_export.ENDPOINTS,
    *disk_moves.ENDPOINTS,
    *reviews.ENDPOINTS,
    *reassignments.ENDPOINTS,
    *limits.ENDPOINTS,
    *schedule.ENDPOINTS,
    *placement.ENDPOINTS,
    *proposals.ENDPOINTS,
    *queue.ENDPOINTS,
    *snapshot.ENDPOINTS,
    *brokers.ENDPOINTS,
    *topics.ENDPOINTS,
    *partitions.ENDPOINTS,
    *search.ENDPOINTS,
    *embedded_brokers.ENDPOINTS,
    *audit.ENDPOINTS,
    *events.ENDPOINTS,
    *instances.ENDPOINTS,
    *whoami.ENDPOINTS,
    *access.ENDPOINTS,
    Endpoint("GET", "/v1/openapi.json", "Get the OpenAPI description of this API.", openapi, OpenApi),
)


class Api:
    """The API. It answers 503 with the reason until `services` is set, and while the server is not ready."""

    def __init__(self, health: Health, access: Access) -> None:
        self.services: ApiServices | None = None
        self.others: OtherInstances | None = None
        """The other instances; None if there is only this one."""
        self._health, self._access = health, access
        self.granted = access.granted
        """Returns who may use the API."""

    @property
    def obstacle(self) -> str | None:
        """Why the server cannot answer requests now; None when it can."""
        return self._health.obstacle

    def routes(self) -> list[BaseRoute]:
        """Return one route for each path."""
        by_path = groupby(sorted(ENDPOINTS, key=lambda each: each.path), key=lambda each: each.path)
        result: list[BaseRoute] = []
        for path, group in by_path:
            methods = {each.method: each for each in group}
            result.append(Route(path, self._serve(methods), methods=METHODS))
        result.append(Route("/v1/{rest:path}", self._serve({}), methods=METHODS))
        return result

    def _serve(self, methods: Mapping[str, Endpoint]) -> Callable[[Request], Awaitable[Response]]:
        async def serve(request: Request) -> Response:
            try:
                identity = self._identity(request)
                if self.others is not None and self.services is None and self._health.obstacle is None:
                    return await self.others.answer(request, identity, partial(self._refusal_of, request))
                endpoint = methods.get("GET" if request.method == "HEAD" else request.method)
                if endpoint is None:
                    raise _no_endpoint(methods, request)
                require_role(identity, endpoint.role, f"{request.method} {request.url.path[:80]}")
                answer = await self._answer(endpoint, identity, request)
                if self.others is not None and not await self.others.may_answer():
                    raise HttpError(503, LAPSED)
                return answer
            except HttpError as error:
                return _refusal(error.status, str(error), error.faults)
            except DriverStoppedError as error:
                return _refusal(503, str(error))
            except ClientDisconnect:
                # Nothing reads this answer: the connection ended before the body did.
                return _refusal(400, "the body is not complete")

        return serve

    def _identity(self, request: Request) -> Identity:
        passed_on = None if self.others is None else self.others.client_of(request)
        return self._access.identity(request) if passed_on is None else passed_on

    def _refusal_of(self, request: Request) -> str:
        if self.others is not None and HEADER in request.headers:
            # The signature was verified, and has expired by now. The other instance checks its client.
            return ""
        try:
            self._identity(request)
        except HttpError as error:
            return str(error)
        return ""

    async def _answer(self, endpoint: Endpoint, identity: Identity, request: Request) -> Response:
        if self.services is None or self._health.obstacle is not None:
            raise HttpError(503, self._health.obstacle or "the server is starting")
        client = request.headers.get("user-agent", "")[:LONGEST_CLIENT_ID]
        query = _query(endpoint.query, request.query_params.multi_items())
        call = Call(
            self.services,
            identity,
            client,
            request.path_params,
            request,
            partial(self._refusal_of, request),
            self.granted,
        )
        max_age = accepted_age(request.headers.get("cache-control", "")) if endpoint.shared else 0
        if max_age:
            return await _shared(call, endpoint, query, max_age)
        try:
            answer = await endpoint.handle(call, *query)
        finally:
            if endpoint.role is not Role.VIEWER:
                call.services.kept.clear()
        return answer if isinstance(answer, Response) else json_response(answer, endpoint.status)


async def _shared(call: Call, endpoint: Endpoint, query: tuple[Struct, ...], max_age: int) -> Response:
    """Return an answer that may be `max_age` seconds old, or that the client has it already.

    RFC 9110: If-None-Match.
    """
    request = call.request

    async def make() -> bytes:
        return _encoder.encode(await endpoint.handle(call, *query))

    kept = await call.services.kept.get((request.url.path, request.url.query), max_age, make)
    headers = {"etag": kept.tag}
    if request.headers.get("if-none-match") == kept.tag:
        return Response(status_code=304, headers=headers)
    return Response(kept.body, headers=headers, media_type="application/json")


def _no_endpoint(methods: Iterable[str], request: Request) -> HttpError:
    path, known = request.url.path[:80], ", ".join(methods)
    if known:
        return HttpError(405, f"{path} takes {known}, not {request.method}")
    return HttpError(404, f"there is no {path}; see /v1/openapi.json")


def _query(model: type[Struct] | None, given: Iterable[tuple[str, str]]) -> tuple[Struct, ...]:
    """Return the query parameters as an instance of the model; nothing when the endpoint has none."""
    names = () if model is None else model.__struct_fields__
    values: dict[str, object] = {}
    for name, text in given:
        if name not in names:
            known = ", ".join(names) or "none"
            raise HttpError(400, f"unknown parameter '{name[:SHOWN_LENGTH]}'; known here: {known}")
        values[name] = text if name in _texts(model) else _value(text)
    if model is None:
        return ()
    try:
        return (msgspec.convert(values, model),)
    except msgspec.ValidationError as error:
        raise HttpError(400, explain(error, values, model, "the query", "parameter ")) from error


@cache
def _texts(model: type[Struct] | None) -> frozenset[str]:
    """Return the names of the parameters that are texts, even if the text is a number."""
    declared = {} if model is None else fields_of(inspect.type_info(model))
    return frozenset(
        name for name, each in declared.items() if isinstance(without_null(each), inspect.StrType)
    )


def _value(text: str) -> object:
    """Return the number or the truth value that a parameter has in JSON; other texts stay texts."""
    digits = text.removeprefix("-")
    if digits.isascii() and digits.isdecimal() and len(digits) < 20:
        return int(text)
    return SWITCHES.get(text, text)


def _refusal(status: int, text: str, faults: Sequence[str] = ()) -> Response:
    headers = {401: {"www-authenticate": "Bearer"}, 503: {"retry-after": str(RETRY_SECONDS)}}.get(status)
    response = json_response(Error(_line(text), [_line(each) for each in faults] or UNSET), status)
    response.headers.update(headers or {})
    return response


def _line(text: str) -> str:
    line = " ".join(text[: MAX_ERROR + 1].split())
    return line if len(line) <= MAX_ERROR else f"{line[:MAX_ERROR]}..."
