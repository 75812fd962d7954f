"""`GET /user_tasks`: what was asked for, and what came of it; also after a restart."""

from collections.abc import AsyncIterator, Iterator, Sequence
from itertools import islice
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType, field
from msgspec.structs import replace
from starlette.responses import Response, StreamingResponse

from controller.model.jobs import Ending, Job
from controller.model.tasks import UserTask
from controller.state.state import State
from controller.views.jobs import endings_of
from server.cruisecontrol.shared.access import ClientRole
from server.cruisecontrol.shared.answers import JSON, encode
from server.cruisecontrol.shared.call import CruiseControlCall, Endpoint
from server.cruisecontrol.shared.executions import jobs_by_task
from server.cruisecontrol.shared.parameters import Names, Parameters
from server.cruisecontrol.shared.tasks import unpacked


class UserTasksParameters(Parameters, kw_only=True):
    """Which tasks are listed."""

    user_task_ids: Annotated[Names, Meta(description="Only tasks with these ids.")] = field(
        default_factory=list
    )
    client_ids: Annotated[Names, Meta(description="Only tasks of these addresses.")] = field(
        default_factory=list
    )
    endpoints: Annotated[Names, Meta(description="Only tasks of these endpoints.")] = field(
        default_factory=list
    )
    types: Annotated[Names, Meta(description="Only tasks in these states.")] = field(default_factory=list)
    entries: Annotated[int, Meta(ge=1, description="Most tasks that are listed.")] = 100
    fetch_completed_task: Annotated[
        bool, Meta(description="With the answers: a VIEWER gets those to its own requests.")
    ] = False


class TaskRow(Struct):
    """A task. Strict clients know these five fields; the sixth is sent only if it is asked for."""

    status: str = field(name="Status")
    client: str = field(name="ClientIdentity")
    url: str = field(name="RequestURL")
    id: str = field(name="UserTaskId")
    started_ms: str = field(name="StartMs")
    result: str | UnsetType = field(name="originalResponse", default=UNSET)


class UserTaskList(Struct):
    """The tasks, the newest first."""

    tasks: list[TaskRow] = field(name="userTasks")
    version: int = 1


async def user_tasks(call: CruiseControlCall, given: UserTasksParameters) -> UserTaskList | Response:
    """List the tasks."""
    chosen = (row for endpoint, row in _rows(call) if _selects(given, endpoint, row))
    rows = list(islice(chosen, given.entries))
    if not given.fetch_completed_task:
        return UserTaskList(rows)
    return StreamingResponse(_with_results(call, rows), media_type=JSON)


async def _with_results(call: CruiseControlCall, rows: Sequence[TaskRow]) -> AsyncIterator[bytes]:
    """Yield the list with results. Each can have megabytes: one at a time is in memory."""

    def encoded(row: TaskRow, record: UserTask | None) -> bytes:
        if record is not None and _may_see(call, record):
            row = replace(row, result=unpacked(record.result).decode())
        return encode(row)

    head, tail = encode(UserTaskList([])).split(b"[]")
    yield head + b"["
    for place, row in enumerate(rows):
        record = call.state.tasks.results.get(row.id)
        yield b"," * (place > 0) + await call.call.off_loop.run(encoded, row, record)
    yield b"]" + tail


def _may_see(call: CruiseControlCall, record: UserTask) -> bool:
    """Return whether the client may see the answer: plans are not for a VIEWER."""
    return call.client.role >= ClientRole.USER or record.principal == call.call.principal


def _selects(given: UserTasksParameters, endpoint: str, row: TaskRow) -> bool:
    chosen = (
        (given.user_task_ids, row.id),
        (given.client_ids, row.client),
        (given.endpoints, endpoint),
        (given.types, row.status),
    )
    return all(not names or value.lower() in {name.lower() for name in names} for names, value in chosen)


def _rows(call: CruiseControlCall) -> Iterator[tuple[str, TaskRow]]:
    for task in call.context.tasks.active():
        if task.id not in call.state.tasks.results:
            line = task.request
            yield line.endpoint, TaskRow("Active", line.client, line.url, task.id, str(task.started_ms))
    jobs = jobs_by_task(call.state)
    for record in sorted(call.state.tasks.results.values(), key=lambda each: -each.started_ms):
        status = task_status(call.state, record, jobs.get(record.id))
        yield (
            record.endpoint,
            TaskRow(status, record.client, record.url, record.id, str(record.started_ms)),
        )


def task_status(state: State, record: UserTask, job: Job | None) -> str:
    """Return the state of a task with a result, which lasts until its job has ended."""
    if record.failed:
        return "CompletedWithError"
    if job is None:
        return "Completed"
    if not job.ended_ms:
        return "InExecution"
    endings = endings_of(state, job.id)
    return "Completed" if endings.keys() <= {Ending.DONE} else "CompletedWithError"


ENDPOINTS = (
    Endpoint(
        "GET", "user_tasks", "List the user tasks.", UserTasksParameters, user_tasks, role=ClientRole.VIEWER
    ),
)
