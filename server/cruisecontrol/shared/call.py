"""One request to Cruise Control's API, and the form of an endpoint."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from controller.model.load import LoadSummary
from controller.state.state import State
from server.api.shared.call import ApiServices, Call
from server.api.shared.proposals import ProposalStore
from server.cruisecontrol.shared.access import Client, ClientRole
from server.cruisecontrol.shared.capacities import Capacities, CurrentCapacities
from server.cruisecontrol.shared.errors import refused
from server.cruisecontrol.shared.leaderships import Leaderships
from server.cruisecontrol.shared.parameters import Parameters
from server.cruisecontrol.shared.tasks import RunningTask, UserTasks


@dataclass(slots=True)
class ClusterContext:
    """What this API holds for one served cluster beside the resources of `/v1`."""

    services: ApiServices
    tasks: UserTasks
    wall_clock: Callable[[], int]
    reuse_ms: int
    """How long a dry run may be executed by an equal request."""
    capacities: CurrentCapacities = Capacities
    """Returns what brokers are able to hold and carry."""
    detected: Sequence[str] = ()
    """The goals whose violations are reported."""
    two_step: bool = False
    """Requests that change something wait for a second person."""
    executing: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held from the check that nothing else is executed until the job is known."""
    stops: int = 0
    """How often executions were stopped."""
    leaderships: Leaderships = field(default_factory=Leaderships)
    gone: dict[int, int] = field(default_factory=dict)
    """Brokers that do not run, and when that was seen first, in milliseconds since 1970."""


class CruiseControlCall(NamedTuple):
    """An authorized request."""

    context: ClusterContext
    call: Call
    client: Client
    body: bytes

    @property
    def state(self) -> State:
        return self.context.services.state

    @property
    def store(self) -> ProposalStore:
        """The proposals. Raises CruiseControlError where none can be computed."""
        if self.context.services.proposals is None:
            raise refused("this server computes no proposals")
        return self.context.services.proposals

    @property
    def load(self) -> LoadSummary:
        """What is known of the load of partitions."""
        loads = self.context.services.load
        return LoadSummary(False) if loads is None else loads.summary()

    def of_task(self, client_id: str) -> Call:
        """Return a call of `/v1` whose changes are recorded with this client id."""
        return self.call._replace(client_id=client_id)


class Handler(Protocol):
    """Answers a request at once. Its second argument is the model of the endpoint's parameters."""

    # One table has all endpoints; a handler is called with the model of its own endpoint only.
    def __call__(self, call: CruiseControlCall, given: Any, /) -> Awaitable[object]: ...  # noqa: ANN401


class TaskHandler(Protocol):
    """Answers a request that takes time, as a user task."""

    def __call__(self, call: CruiseControlCall, given: Any, task: RunningTask, /) -> Awaitable[bytes]: ...  # noqa: ANN401


class Endpoint(NamedTuple):
    """A method on a path of this API. It has one of the two handlers."""

    method: str
    name: str
    summary: str
    parameters: type[Parameters]
    handle: Handler | None = None
    work: TaskHandler | None = None
    role: ClientRole = ClientRole.ADMIN
    takes_body: bool = False
    """It reads a JSON body. All others ignore theirs: the UI sends one with each POST."""
    held: bool = False
    """With two-step verification, a second person approves it before, unless it is a dry run."""
    wait_seconds: float = 10.0
    """How long a request waits for its task before it is answered 202."""
