"""The routes of Cruise Control's API, from the request to the answer.

Every answer is JSON and has the headers by which clients know Cruise Control. A request to a standby is
passed on to the active instance, as those of `/v1`.
"""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from common.clock import Clock, RealClock, wall_clock
from controller.model.tasks import UserTask
from server.api.other_instances import HEADER
from server.api.routes import METHODS, Api
from server.api.shared.bodies import MAX_SMALL_BODY
from server.api.shared.call import ApiServices, Call
from server.api.shared.errors import HttpError
from server.cruisecontrol.shared import answers
from server.cruisecontrol.shared.access import Client, CruiseControlAccess, require_role
from server.cruisecontrol.shared.approvals import carried_out, hold, must_wait, review_of
from server.cruisecontrol.shared.call import ClusterContext, CruiseControlCall, Endpoint, Handler
from server.cruisecontrol.shared.capacities import Capacities, CurrentCapacities
from server.cruisecontrol.shared.detection import DETECTED
from server.cruisecontrol.shared.errors import CruiseControlError, bad_parameter, not_ready
from server.cruisecontrol.shared.parameters import Parameters, read_parameters
from server.cruisecontrol.shared.tasks import RunningTask, TaskRequest, UserTasks, unpacked
from server.cruisecontrol.table import ENDPOINTS
from server.driver.driver import DriverStoppedError

PREFIX = "/kafkacruisecontrol"
UI = "/cruisecontrol"
"""Path of the UI's files."""
COOKIE = "JSESSIONID"
SESSION = re.compile(r"[A-Za-z0-9._~-]{1,64}")
"""Values of the cookie that are sent back. Other servers of the host may have set it."""
MAX_URL = 8_000
"""Characters of path and query. They are kept with the task."""

RequestLine = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How this API is served."""

    reuse_ms: int = 3_600_000
    ui: Path | None = None
    """A folder with the files of Cruise Control's UI."""
    capacities: CurrentCapacities = Capacities
    detected: Sequence[str] = DETECTED
    two_step: bool = False
    """Requests that change something wait for a second person."""
    clock: Clock = field(default_factory=RealClock)
    wall_clock: Callable[[], int] = wall_clock


class _Received(NamedTuple):
    """A request that was authenticated and parsed."""

    endpoint: Endpoint
    client: Client
    given: Parameters
    line: TaskRequest
    body: bytes


class CruiseControl:
    """The API. It serves what `api` serves."""

    def __init__(self, api: Api, access: CruiseControlAccess, options: Options | None = None) -> None:
        self._api, self._access, self._options = api, access, options or Options()
        self._context: ClusterContext | None = None
        self._endpoints: Mapping[RequestLine, Endpoint] = {
            (each.method, each.name): each for each in ENDPOINTS
        }

    def routes(self) -> list[BaseRoute]:
        """Return the routes: the API, and the files of the UI."""
        routes: list[BaseRoute] = [
            Route(f"{PREFIX}/{{endpoint}}", self._serve, methods=METHODS),
            Route(f"{PREFIX}/{{rest:path}}", self._serve, methods=METHODS),
        ]
        if self._options.ui is not None:
            routes.append(Mount(UI, StaticFiles(directory=self._options.ui, html=True)))
        return routes

    async def _serve(self, request: Request) -> Response:
        name = request.path_params.get("endpoint", "")[:80].lower()
        try:
            client = self._client(request)
            endpoint = self._endpoint(request.method, name)
            require_role(client, endpoint.role, f"{endpoint.method} /{endpoint.name}")
            others = self._api.others
            if others is not None and self._api.services is None and self._api.obstacle is None:
                return await others.answer(request, client.identity, lambda: self._refusal_of(request))
            context = self._serving()
            received = await self._received(context, request, endpoint, client)
            answer = await self._answer(context, request, received)
            if others is not None and not await others.may_answer():
                raise not_ready("this instance is no longer active; the request may have been executed")
            return answer
        except CruiseControlError as error:
            return self._error(request, name, error.status, str(error))
        except HttpError as error:
            refusal = not_ready(str(error)) if error.status == 503 else error
            return self._error(request, name, refusal.status, str(refusal))
        except DriverStoppedError as error:
            return self._error(request, name, 500, str(error))
        except ClientDisconnect:
            return self._error(request, name, 400, "the body is not complete")

    def _client(self, request: Request) -> Client:
        others = self._api.others
        passed_on = others.client_of(request) if others is not None and HEADER in request.headers else None
        return self._access.client(request) if passed_on is None else self._access.passed_on(passed_on)

    def _refusal_of(self, request: Request) -> str:
        try:
            self._client(request)
        except HttpError as error:
            return str(error)
        return ""

    def _endpoint(self, method: str, name: str) -> Endpoint:
        found = self._endpoints.get(("GET" if method == "HEAD" else method, name))
        if found is not None:
            return found
        methods = [known for known, each in self._endpoints if each == name]
        if methods:
            raise CruiseControlError(405, f"/{name} takes {', '.join(methods)}, not {method}.")
        known = ", ".join(sorted({each for _, each in self._endpoints}))
        raise CruiseControlError(404, f"There is no endpoint '{name}'; known: {known}.")

    def _serving(self) -> ClusterContext:
        services, obstacle = self._api.services, self._api.obstacle
        if services is None or obstacle is not None:
            raise not_ready(obstacle or "the server is starting")
        if self._context is None or self._context.services is not services:
            self._context = self._new_context(services)
        return self._context

    def _new_context(self, services: ApiServices) -> ClusterContext:
        options = self._options
        tasks = UserTasks(services.driver, services.off_loop, options.clock, options.wall_clock)
        return ClusterContext(
            services,
            tasks,
            options.wall_clock,
            options.reuse_ms,
            options.capacities,
            options.detected,
            options.two_step,
        )

    async def _received(
        self, context: ClusterContext, request: Request, endpoint: Endpoint, client: Client
    ) -> _Received:
        target = f"{request.url.path}?{request.url.query}" if request.url.query else request.url.path
        if len(target) > MAX_URL:
            raise bad_parameter(f"The path and its query have more than {MAX_URL} characters.")
        given = read_parameters(endpoint.parameters, request.query_params.multi_items())
        bodies = context.services.bodies
        body = await bodies.receive(request, MAX_SMALL_BODY) if request.method == "POST" else b""
        body = body if endpoint.takes_body else b""
        key = (endpoint.method, endpoint.name, msgspec.json.encode(given), sha256(body).digest())
        address = request.client.host if request.client is not None else "local"
        line = TaskRequest(
            endpoint.name, f"{endpoint.method} {target}", key, address, client.identity.principal
        )
        return _Received(endpoint, client, given, line, body)

    async def _answer(self, context: ClusterContext, request: Request, received: _Received) -> Response:
        endpoint = received.endpoint
        if endpoint.handle is not None:
            return await self._handled(context, request, received, endpoint.handle)
        wanted = request.headers.get(answers.TASK_ID)
        if wanted is not None:
            return await self._asked_for(context, wanted, received)
        cookie = request.cookies.get(COOKIE, "")
        cookie = cookie if SESSION.fullmatch(cookie) else ""
        found = context.tasks.of_session(cookie, received.line) if cookie else None
        if found is not None:
            return await self._progress(context, found, endpoint, {})
        call = self._call(context, request, received)
        if must_wait(context, endpoint, received.given):
            return self._sent(await hold(context, received.line, received.body, call.call.requester))
        task, cookie = context.tasks.start(received.line, partial(_work, call, received), cookie)
        secure = "; Secure" if request.url.scheme == "https" else ""
        session = {"set-cookie": f"{COOKIE}={cookie}; Path={PREFIX}; HttpOnly; SameSite=Strict{secure}"}
        return await self._progress(context, task, endpoint, session)

    async def _handled(
        self, context: ClusterContext, request: Request, received: _Received, handle: Handler
    ) -> Response:
        """Answer a request that takes no time."""
        call = self._call(context, request, received)
        if must_wait(context, received.endpoint, received.given):
            return self._sent(await hold(context, received.line, received.body, call.call.requester))
        approved = await _approved(call, received)
        return self._sent(await handle(call._replace(body=approved.body), approved.given))

    def _call(self, context: ClusterContext, request: Request, received: _Received) -> CruiseControlCall:
        call = Call(
            context.services,
            received.client.identity,
            f"cruise-control {received.line.client}",
            request.path_params,
            request,
            lambda: self._refusal_of(request),
            self._api.granted,
        )
        return CruiseControlCall(context, call, received.client, received.body)

    async def _progress(
        self, context: ClusterContext, task: RunningTask, endpoint: Endpoint, extra: Mapping[str, str]
    ) -> Response:
        """Wait for the task for a while; answer with its result, or with its progress."""
        done, _ = await asyncio.wait({task.work}, timeout=endpoint.wait_seconds)
        headers = answers.headers(context.services.version, task.id) | dict(extra)
        if not done:
            seconds = self._options.clock.now() - task.began
            return answers.answer(_in_progress(task, seconds), 202, headers)
        result = task.work.result()
        context.tasks.sent(task)
        return answers.answer(result.body, result.status, headers)

    async def _asked_for(self, context: ClusterContext, wanted: str, received: _Received) -> Response:
        """Answer with the progress or the result of the client's task with this id."""
        task = context.tasks.find(wanted)
        if task is not None:
            _require_own(task.request, received, wanted)
            return await self._progress(context, task, received.endpoint, {})
        record = context.services.state.tasks.results.get(wanted)
        if record is None:
            raise _unknown_task(wanted)
        _require_own(record, received, wanted)
        headers = answers.headers(context.services.version, record.id)
        return answers.answer(unpacked(record.result), 500 if record.failed else 200, headers)

    def _sent(self, body: object) -> Response:
        headers = answers.headers(self._version)
        if isinstance(body, Response):
            body.headers.update(headers)
            return body
        return answers.answer(answers.encode(body), 200, headers)

    def _error(self, request: Request, name: str, status: int, reason: str) -> Response:
        headers = answers.headers(self._version)
        if status == 401:
            headers["www-authenticate"] = 'Basic realm="reassignd"'
        return answers.answer(answers.error_body(request.method[:10], name, reason), status, headers)

    @property
    def _version(self) -> str:
        return self._api.services.version if self._api.services is not None else ""


async def _approved(call: CruiseControlCall, received: _Received) -> _Received:
    """Return what is carried out: the approved request, if this one names it. Raises CruiseControlError."""
    context = call.context
    number = review_of(context, received.endpoint, received.given)
    if number is None:
        return received
    given, body = await carried_out(context, received.endpoint, number, call.call.requester)
    return received._replace(given=given, body=body)


async def _work(call: CruiseControlCall, received: _Received, task: RunningTask) -> bytes:
    work = received.endpoint.work
    if work is None:
        raise CruiseControlError(500, f"/{received.endpoint.name} has no work.")
    # Only now, as a task: an approval that counts once is not used up where no task can start.
    approved = await _approved(call, received)
    return await work(call._replace(body=approved.body), approved.given, task)


def _require_own(asked: TaskRequest | UserTask, received: _Received, task: str) -> None:
    """Raise CruiseControlError if another client or another request has started the task."""
    if asked.principal != received.line.principal:
        raise _unknown_task(task)
    if asked.url != received.line.url:
        raise CruiseControlError(
            500, f"The user task {task[:40]} belongs to another request: {asked.url[:200]}."
        )


def _unknown_task(task: str) -> CruiseControlError:
    return CruiseControlError(500, f"There is no user task {task[:40]}.")


class _Step(msgspec.Struct):
    step: str
    description: str
    percentage: float = msgspec.field(name="completionPercentage")
    milliseconds: int = msgspec.field(name="time-in-ms")


class _Operation(msgspec.Struct):
    operation: str
    progress: list[_Step] = msgspec.field(name="operationProgress")


class _Progress(msgspec.Struct):
    progress: list[_Operation]
    version: int = 1


def _in_progress(task: RunningTask, seconds: float) -> bytes:
    step = _Step(task.step, f"{task.request.endpoint}: {task.step}", task.percentage, round(seconds * 1000))
    return answers.encode(_Progress([_Operation(task.request.endpoint, [step])]))
