"""Records of user tasks: requests to Cruise Control's API whose results clients may ask for later.

A task is a record once its result is known, before its plan is submitted. So a restart forgets only tasks
that were being computed, and clients order these again. The plan of a dry run is a record of its own, so that
what is approved after a restart is what was shown.
"""

from typing import NamedTuple

MOST_TASKS = 100
"""Tasks that are kept."""
KEPT_MS = 24 * 3600 * 1000
"""How long a task is kept after its start, or after the end of its job."""
MOST_CHARACTERS = 256 * 1024
"""Of `UserTask.result`: a record must fit into one znode, and into one record of a topic."""
MOST_DRY_RUNS = 16
"""Dry runs that are kept, as long as tasks."""
MOST_PLAN_CHARACTERS = 512 * 1024
"""Of `DryRun.plan`, for the same reason. This is a plan of about 30,000 partitions."""

CLIENT_ID = "cruise-control/"
"""What the client id of a job begins with that a task has started. The id of the task follows."""


class UserTask(NamedTuple):
    """A task with a result. Its job, if it has one, is found by the job's client id."""

    id: str
    """A UUID."""
    started_ms: int
    """Milliseconds since 1970."""
    endpoint: str
    """The last part of the path, such as `rebalance`."""
    url: str
    """Method, path and query."""
    client: str
    """The address of the client."""
    principal: str
    executes: bool
    """Whether its plan was to be executed."""
    failed: bool
    result: str
    """The answer in JSON, compressed by zlib, in base64."""

    @property
    def key(self) -> str:
        """The key under which the record is stored."""
        return self.id


class DryRun(NamedTuple):
    """What a dry run has shown, until it is executed."""

    asked: str
    """A digest of the request, and of who has sent it."""
    principal: str
    proposal: int
    """The number of its proposal."""
    ended_ms: int
    """Milliseconds since 1970."""
    plan: str
    """The proposal with its plan, as `UserTask.result`; empty if it would be too long."""
    task: str = ""
    """The task that has executed it, or has tried to; empty if none has."""

    @property
    def key(self) -> str:
        """The key under which the record is stored."""
        return self.asked


def job_client_id(task: str) -> str:
    """Return the client id of the job that the task starts."""
    return f"{CLIENT_ID}{task}"


def task_of(client_id: str | None) -> str:
    """Return the id of the task that has started a job with this client id; empty for other jobs."""
    return client_id.removeprefix(CLIENT_ID) if client_id and client_id.startswith(CLIENT_ID) else ""
