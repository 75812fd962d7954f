"""User tasks: requests that take time, which their clients poll.

A task runs whether its client waits or not. A client finds it again by the id that it got in the header
`User-Task-ID`, or by its session cookie and the same request: `cccli` sends the request again until the
answer is no longer 202. Only the results are records (`controller.model.tasks`).
"""

import asyncio
import logging
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from secrets import token_hex
from typing import NamedTuple
from uuid import uuid4
from zlib import compress, decompress

from starlette.requests import ClientDisconnect

from common.clock import Clock
from common.off_loop import OffLoop
from controller.messages.task_events import TaskEnded
from controller.model.tasks import MOST_CHARACTERS, DryRun, UserTask
from controller.ports import Submitter
from server.api.shared.errors import HttpError
from server.cruisecontrol.shared.answers import error_body
from server.cruisecontrol.shared.errors import CruiseControlError
from server.driver.driver import DriverStoppedError

log = logging.getLogger(__name__)

MOST_ACTIVE = 5
"""Tasks that run at once, as Cruise Control's `max.active.user.tasks`."""
MOST_READING = 3
"""Those of them that are GET requests, and can execute nothing: there is room left for who may execute."""
SESSION_SECONDS = 60.0
"""How long a session finds its task after its last request, as `webserver.session.maxExpiryTimeMs`."""
MOST_SESSIONS = 100
"""Sessions that are remembered; the oldest is forgotten first."""
TOO_LARGE = b'{"version":1,"message":"The result was too large to be kept."}'


class TaskRequest(NamedTuple):
    """What a client has asked for."""

    endpoint: str
    url: str
    """Method, path and query."""
    key: tuple[object, ...]
    """Equal for equal requests."""
    client: str
    principal: str


class Result(NamedTuple):
    """How a task ended."""

    status: int
    body: bytes


@dataclass(eq=False, slots=True)
class RunningTask:
    """A task whose result is not known yet, or was not sent yet."""

    request: TaskRequest
    started_ms: int
    began: float
    id: str = field(default_factory=lambda: str(uuid4()))
    step: str = "waiting"
    percentage: float = 0.0
    kept: bool = False
    """Its result is a record."""
    work: "asyncio.Future[Result]" = field(init=False)

    @property
    def active(self) -> bool:
        """Whether its result is not known yet."""
        return not self.work.done()


Work = Callable[[RunningTask], Awaitable[bytes]]
"""Returns the answer. Raises HttpError, CruiseControlError, or DriverStoppedError."""


class _Session(NamedTuple):
    task: RunningTask
    used: float


class UserTasks:
    """The tasks of one served cluster. `wall_clock` returns milliseconds since 1970."""

    def __init__(
        self, driver: Submitter, off_loop: OffLoop, clock: Clock, wall_clock: Callable[[], int]
    ) -> None:
        self._driver, self._off_loop, self._clock, self._wall_clock = driver, off_loop, clock, wall_clock
        self._running: dict[str, RunningTask] = {}
        self._sessions: dict[tuple[str, tuple[object, ...]], _Session] = {}

    def active(self) -> Iterator[RunningTask]:
        """Yield the tasks whose results are not known yet, the newest first."""
        return (task for task in reversed(self._running.values()) if task.active)

    def find(self, identifier: str) -> RunningTask | None:
        """Return the task with this id if its result was not sent yet."""
        return self._running.get(identifier)

    def of_session(self, cookie: str, request: TaskRequest) -> RunningTask | None:
        """Return the task of the same request in the session, if its result was not sent yet."""
        self._drop_old()
        key = (cookie, (request.principal, *request.key))
        session = self._sessions.get(key)
        if session is None:
            return None
        self._sessions[key] = session._replace(used=self._clock.now())
        return session.task

    def start(self, request: TaskRequest, work: Work, cookie: str = "") -> tuple[RunningTask, str]:
        """Start the work; return the task and the cookie of its session. Raises CruiseControlError."""
        self._drop_old()
        active = sum(1 for _ in self.active())
        reading = sum(_reads(task.request) for task in self.active())
        if active >= MOST_ACTIVE or (_reads(request) and reading >= MOST_READING):
            raise CruiseControlError(
                500,
                f"There are already {active} active user tasks, which has reached the servlet capacity.",
            )
        cookie = cookie or token_hex(16)
        task = RunningTask(request, self._wall_clock(), self._clock.now())
        task.work = asyncio.ensure_future(self._run(task, work))
        self._running[task.id] = task
        self._sessions[cookie, (request.principal, *request.key)] = _Session(task, self._clock.now())
        while len(self._sessions) > MOST_SESSIONS:
            self._forget(next(iter(self._sessions)))
        return task, cookie

    def sent(self, task: RunningTask) -> None:
        """Forget a task whose result was sent: the same request in the same session is a new one."""
        for key in [key for key, session in self._sessions.items() if session.task is task]:
            self._forget(key)
        self._running.pop(task.id, None)

    async def keep(
        self,
        task: RunningTask,
        body: bytes,
        dry_run: DryRun | None = None,
        *,
        executes: bool = False,
        failed: bool = False,
    ) -> None:
        """Make the result a record, and the plan that was shown or is executed. Raises DriverStoppedError."""
        request, text = task.request, await self._off_loop.run(packed, body)
        record = UserTask(
            task.id,
            task.started_ms,
            request.endpoint,
            request.url,
            request.client,
            request.principal,
            executes,
            failed,
            text,
        )
        await self._driver.submit(TaskEnded(record, dry_run))
        task.kept = True

    async def _run(self, task: RunningTask, work: Work) -> Result:
        try:
            body = await work(task)
            if not task.kept:
                await self.keep(task, body)
            return Result(200, body)
        except CruiseControlError as error:
            return await self._failed(task, error.status, str(error))
        except (HttpError, DriverStoppedError, ClientDisconnect) as error:
            return await self._failed(task, 500, str(error) or "the connection has ended")
        except Exception as error:
            log.exception("cannot answer %s", task.request.endpoint)
            return await self._failed(task, 500, f"{type(error).__name__}: {error}")

    async def _failed(self, task: RunningTask, status: int, reason: str) -> Result:
        method = task.request.url.partition(" ")[0]
        body = error_body(method, task.request.endpoint, reason)
        try:
            await self.keep(task, body, failed=True)
        except DriverStoppedError:
            log.debug("the result of the task %s is not kept: the server stops", task.id)
        return Result(status, body)

    def _forget(self, key: tuple[str, tuple[object, ...]]) -> None:
        session = self._sessions.pop(key)
        if not session.task.active:
            self._running.pop(session.task.id, None)

    def _drop_old(self) -> None:
        """Forget sessions that are not used, and tasks that none finds; their results are records."""
        now = self._clock.now()
        for key, each in list(self._sessions.items()):
            if not each.task.active and now - each.used > SESSION_SECONDS:
                self._forget(key)
        found = {session.task.id for session in self._sessions.values()}
        for task in [each for each in self._running.values() if not each.active and each.id not in found]:
            del self._running[task.id]


def _reads(request: TaskRequest) -> bool:
    return request.url.startswith("GET ")


def packed(body: bytes) -> str:
    """Return the text of a result in a record. If it were too long, it has no list of partitions."""
    text = compressed(body)
    if len(text) > MOST_CHARACTERS:
        text = compressed(_without_partitions(body))
    return text if len(text) <= MOST_CHARACTERS else compressed(TOO_LARGE)


def compressed(body: bytes) -> str:
    """Return the text of `body` in a record, of any length."""
    return b64encode(compress(body)).decode()


def _without_partitions(body: bytes) -> bytes:
    """Cut out `proposals`, the last list of a plan. A decoder would hold the interpreter's lock."""
    start = body.find(b',"proposals":[')
    return body if start < 0 else body[:start] + body[body.rindex(b"]") + 1 :]


def unpacked(text: str) -> bytes:
    """Return the result of a record."""
    return decompress(b64decode(text))
