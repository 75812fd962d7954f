"""One request to the API: what it may use, its checked body and path, and the form of an endpoint."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, NamedTuple, ParamSpec, Protocol, TypeVar

from msgspec import Struct
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from common.json.models import convert_model
from common.off_loop import InTurn, OffLoop, WorkerThread
from common.tasks import cancel, in_slices
from controller.messages.event import Event, Reply, Requester
from controller.model.load import Loads
from controller.ports import Submitter
from controller.state.state import State
from server.api.shared.answers import KeptAnswers
from server.api.shared.bodies import MAX_SMALL_BODY, Bodies
from server.api.shared.errors import HttpError
from server.api.shared.forecasts import Reviews
from server.api.shared.inventory import Inventories
from server.api.shared.process import AuditLog, Instances, OwnedBrokers
from server.api.shared.proposals import ProposalStore
from server.api.shared.roles import Granted, Identity, Role
from server.api.shared.spark import Spark
from server.dispatch.context import LARGE_ROWS
from server.events.hub import EventHub
from server.progress.counts import JobCounts
from server.progress.progress import Progress
from server.progress.rates import Sizes

MAX_DIGITS = 18
"""Digits of a number in a path."""
SHOWN_LENGTH = 40
"""Characters of a name or a value in an error message."""

Refresh = Callable[[Collection[str] | None], Awaitable[str]]


async def _is_current(_: Collection[str] | None) -> str:
    return ""


T = TypeVar("T")
R = TypeVar("R")
P = ParamSpec("P")


@dataclass(slots=True, kw_only=True)
class ApiServices:
    """The data and services that the API's answers are made from."""

    version: str
    cluster_id: Callable[[], str]
    """Returns the id of the cluster that clients of its brokers see; before a running Kafka that is
    Kafka's."""
    state: State
    driver: Submitter
    off_loop: WorkerThread
    sizes: Sizes
    progress: Progress
    counts: JobCounts
    cluster_name: str = ""
    """`cluster.name`, a name for people."""
    spark: Callable[[], Spark] = Spark
    """Returns the state of the Spark planner."""
    seen_ms: Callable[[], int | None] = lambda: None
    """Returns when Kafka was last asked for all topics, in milliseconds since 1970.

    None where reassignd is the controller.
    """
    brokers: OwnedBrokers | None = None
    """The embedded cluster's brokers; None with other backends."""
    proposals: ProposalStore | None = None
    audit: AuditLog | None = None
    """The audit log; None in ZooKeeper mode without `audit.dir`."""
    events: EventHub | None = None
    """The event stream."""
    hidden_brokers: Callable[[], Collection[int]] = tuple
    """Returns the brokers that the clients of a gateway do not see, because their ports cannot be opened."""
    instances: Instances | None = None
    """The instances before the cluster; None without a state topic."""
    reviews: Reviews | None = None
    load: Loads | None = None
    """What was measured of the load of partitions."""
    bodies: Bodies = field(default_factory=Bodies)
    refresh: Refresh = _is_current
    """Brings the state up to what the cluster shows at this moment: everything, or these topics. Returns
    why it cannot."""
    kept: KeptAnswers = field(default_factory=lambda: KeptAnswers(monotonic))
    """Answers that open pages share."""
    for_viewers: OffLoop = field(init=False)
    """The worker thread for clients that may only read."""
    inventories: Inventories = field(init=False)
    """What brokers and topics hold."""

    def __post_init__(self) -> None:
        owned = self.brokers
        self.inventories = Inventories(
            self.state, self.sizes, self.seen_ms, tuple if owned is None else lambda: owned.brokers
        )
        self.for_viewers = InTurn(self.off_loop)


class Call(NamedTuple):
    """An authorized request. `path` has a value for every name in the endpoint's path."""

    services: ApiServices
    identity: Identity
    client_id: str
    path: Mapping[str, str]
    request: Request
    refusal: Callable[[], str] = str
    """Returns why the client is no longer permitted; an empty text while it is. For answers that do not
    end."""
    granted: Callable[[], Granted] = lambda: Granted("")
    """Returns who may use the API."""

    @property
    def state(self) -> State:
        return self.services.state

    @property
    def off_loop(self) -> OffLoop:
        """Where long computations for this client run: those of viewers do not hold up those of operators."""
        return self.services.for_viewers if self.identity.role is Role.VIEWER else self.services.off_loop

    @property
    def principal(self) -> str:
        return self.identity.principal

    @property
    def requester(self) -> Requester:
        return Requester(self.principal, self.client_id or None, self.identity.via)

    async def submit(self, event: Event[Reply]) -> Reply:
        """Submit the event to the controller; return its reply once the decision is durable."""
        return await self.services.driver.submit(event)

    async def refresh(self) -> None:
        """Bring the state up to what the cluster shows now, for answers about replicas that there are not.

        Raises HttpError: an older state would not be an answer.
        """
        obstacle = await self.services.refresh(None)
        if obstacle:
            raise HttpError(503, obstacle)

    async def while_connected(self, work: Coroutine[object, object, T]) -> T:
        """Return the result of the work, whose body was read; cancel it when the client disconnects.

        Raises ClientDisconnect.
        """
        task, disconnected = asyncio.ensure_future(work), asyncio.ensure_future(_disconnected(self.request))
        try:
            await asyncio.wait((task, disconnected), return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise ClientDisconnect
            return task.result()
        finally:
            await cancel(task, disconnected)

    async def body(self, model: type[T]) -> T:
        """Return the small JSON body as an instance of the model. Raises HttpError."""
        return await self.read_body(lambda value: convert_model(value, model), MAX_SMALL_BODY)

    async def read_body(self, read: Callable[[object], R], max_bytes: int | None = None) -> R:
        """Return `read` of the parsed JSON body; see `Bodies.read`."""
        return await self.services.bodies.read(self.request, self.off_loop, read, max_bytes)

    async def compute(self, rows: int, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function, in the worker thread when it processes many rows."""
        if rows <= LARGE_ROWS:
            return function(*args, **kwargs)
        return await self.off_loop.run(function, *args, **kwargs)

    async def collect(self, rows: Iterable[T | None], limit: int | None = None) -> list[T]:
        """Return the rows that are not None, `limit` of them at most. Iterates in slices."""
        collected: list[T] = []
        if limit != 0:
            async for row in in_slices(rows):
                if row is not None:
                    collected.append(row)
                    if len(collected) == limit:
                        break
        return collected

    def number(self, name: str) -> int:
        """Return a number from the path. Raises HttpError."""
        text = self.path[name]
        if not (text.isascii() and text.isdecimal()):
            raise HttpError(404, f"There is no {name} {text[:SHOWN_LENGTH]!r}: expected a number.")
        if len(text) > MAX_DIGITS:
            raise HttpError(
                404, f"There is no {name} {text[:MAX_DIGITS]}...: its number has too many digits."
            )
        return int(text)


Answer = Struct | Response


class Handler(Protocol):
    """A function that answers a call.

    Its second argument is the endpoint's query, if the endpoint has one.
    """

    __name__: str

    # One table has all endpoints; a handler is called with the model of its own endpoint only.
    def __call__(self, call: Call, /, *query: Any) -> Awaitable[Answer]: ...  # noqa: ANN401


class Endpoint(NamedTuple):
    """A method on a path.

    `gives` and `takes` are models: `takes` is the request's body, and `gives` the answer. The
    fields of `query` are the query parameters.
    """

    method: str
    path: str
    summary: str
    handle: Handler
    gives: object
    takes: object = None
    query: type[Struct] | None = None
    status: int = 200
    lines: bool = False
    """The answer is one JSON object per line."""
    media_type: str = ""
    """That of an answer in another form than JSON."""
    shared: bool = False
    """The answer is the same for all clients, and one that accepts an older answer gets it
    (`KeptAnswers`)."""

    changes_nothing: bool = False
    """A POST that only computes an answer from its body."""

    @property
    def role(self) -> Role:
        """The least role that may use the endpoint."""
        return Role.VIEWER if self.method == "GET" or self.changes_nothing else Role.OPERATOR


def skip_rows(rows: Iterator[T | None], offset: int) -> Iterator[T | None]:
    """Yield the rows without the first `offset` rows that are not None."""
    skipped = 0
    for row in rows:
        if row is not None and skipped < offset:
            skipped += 1
            yield None
        else:
            yield row


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
