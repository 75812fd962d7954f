"""The jobs that this API has started: which run, and how they are stopped.

A stop is a cancel: what is in flight returns to its replicas, what has not started is dropped, and what has
ended stays, as with Cruise Control.
"""

import asyncio
from contextlib import suppress

from controller.messages.events import AlterReassignments
from controller.model.jobs import Job
from controller.model.tasks import CLIENT_ID
from controller.state.state import State
from server.api.resources.reassignments import cancels_of_job
from server.cruisecontrol.shared.call import CruiseControlCall

STOP_SECONDS = 60.0
"""How long a request waits until all that it has cancelled is undone."""
POLL_SECONDS = 0.1


def executions(state: State) -> list[Job]:
    """Return the open jobs that this API has started, the oldest first."""
    jobs = (state.orders.jobs.get(number) for number in sorted(state.orders.open))
    return [job for job in jobs if job is not None and is_execution(job)]


def is_execution(job: Job) -> bool:
    """Return whether this API has started the job."""
    return (job.client_id or "").startswith(CLIENT_ID)


def task_of(job: Job) -> str:
    """Return the id of the task that has started the job."""
    return (job.client_id or "").removeprefix(CLIENT_ID)


def jobs_by_task(state: State) -> dict[str, Job]:
    """Return the kept jobs that this API has started, by the ids of their tasks."""
    return {task_of(job): job for job in state.orders.jobs.values() if is_execution(job)}


async def stop_executions(call: CruiseControlCall) -> list[Job]:
    """Cancel what this API executes, and wait until it is undone; return the jobs."""
    stopped = executions(call.state)
    for job in stopped:
        cancels = await cancels_of_job(call.call, job.id)
        if cancels:
            await call.call.submit(AlterReassignments(cancels, requester=call.call.requester))
    with suppress(TimeoutError):
        async with asyncio.timeout(STOP_SECONDS):
            # The end of a job is no event here, and nothing else waits for it.
            while executions(call.state):  # noqa: ASYNC110
                await asyncio.sleep(POLL_SECONDS)
    return stopped
