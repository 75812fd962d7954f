"""The jobs that this API has started: which run, and how they are stopped.

A stop is a cancel: what is in flight returns to its replicas, what has not started is dropped, and what has
ended stays, as with Cruise Control.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress

from controller.messages.disk_events import CancelMoves
from controller.messages.events import AlterReassignments
from controller.model.jobs import Job, JobKind
from controller.model.tasks import task_of
from controller.state.state import State
from server.api.resources.reassignments import cancels_of_job
from server.api.shared.errors import require
from server.cruisecontrol.shared.call import CruiseControlCall
from server.cruisecontrol.shared.errors import ongoing_execution, refused

STOP_SECONDS = 60.0
"""How long a request waits until all that it has cancelled is undone."""
POLL_SECONDS = 0.1


def executions(state: State) -> list[Job]:
    """Return the open jobs that this API has started, the oldest first."""
    jobs = (state.orders.jobs.get(number) for number in sorted(state.orders.open))
    # A client may call itself as it likes. The record of a task is older than its job, and outlives it.
    return [job for job in jobs if job is not None and task_of(job.client_id) in state.tasks.results]


def jobs_by_task(state: State) -> dict[str, Job]:
    """Return the kept jobs that this API has started, by the ids of their tasks."""
    return {task: job for job in state.orders.jobs.values() if (task := task_of(job.client_id))}


def refuse_second(state: State) -> None:
    """Raise CruiseControlError while this API executes something."""
    if running := executions(state):
        raise ongoing_execution(f"job {running[0].id}")


async def make_way(call: CruiseControlCall, *, stop: bool) -> int:
    """Refuse an execution while another one runs, or cancel that. Return the number of stops so far.

    Raises CruiseControlError.
    """
    if stop:
        await stop_executions(call)
    refuse_second(call.state)
    return call.context.stops


@asynccontextmanager
async def turn_to_execute(call: CruiseControlCall, stops: int) -> AsyncIterator[None]:
    """Hold off other executions while the block runs. `stops` is what `make_way` has returned.

    Raises CruiseControlError if another execution has begun, or all were stopped, while this one was planned.
    """
    async with call.context.executing:
        if call.context.stops != stops:
            raise refused("stopped before the plan was submitted")
        refuse_second(call.state)
        yield


async def stop_executions(call: CruiseControlCall) -> list[Job]:
    """Cancel what this API executes, and wait until it is undone; return the jobs.

    Executions that are still being planned are not submitted any more. Raises HttpError.
    """
    # An execution that is just being submitted becomes a job first, and is stopped with the others.
    async with call.context.executing:
        call.context.stops += 1
        stopped = executions(call.state)
    for job in stopped:
        if job.kind is JobKind.DISKS:
            await call.call.submit(CancelMoves(job.id, call.call.requester))
        cancels = await cancels_of_job(call.call, job.id)
        if cancels:
            reply = await call.call.submit(AlterReassignments(cancels, requester=call.call.requester))
            require(reply.outcome)
    with suppress(TimeoutError):
        async with asyncio.timeout(STOP_SECONDS):
            # The end of a job is no event here, and nothing else waits for it.
            while any_runs(call.state, stopped):  # noqa: ASYNC110
                await asyncio.sleep(POLL_SECONDS)
    return stopped


def any_runs(state: State, jobs: Iterable[Job]) -> bool:
    """Return whether one of the jobs has not ended."""
    return any(job.id in state.orders.open for job in jobs)
