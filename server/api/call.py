"""One request to the API, and what it is served from."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, ParamSpec, TypeVar

from starlette.requests import Request

from common.json_text import parse, shown
from common.plan_errors import PlanError
from common.worker_thread import WorkerThread
from controller.messages.event import Event, Reply
from controller.ports import Submitter
from controller.state.state import State
from server.api.errors import HttpError
from server.api.progress import Progress
from server.api.spark import SparkView
from server.api.streams import breathing
from server.dispatch.context import LARGE_ROWS
from server.ports import OwnedBrokers, Sizes

MAX_BODY = 100 * 1024 * 1024
LARGE_BODY = 64 * 1024
"""Bytes that take about a millisecond to parse; more of them are parsed off the loop."""

CLIENT_ID_LENGTH = 200

T = TypeVar("T")
R = TypeVar("R")
P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class ApiServices:
    """What the API serves from."""

    version: str
    cluster_id: str
    state: State
    driver: Submitter
    off_loop: WorkerThread
    sizes: Sizes
    progress: Progress
    spark: Callable[[], SparkView] = SparkView
    """What Spark does for plans."""
    brokers: OwnedBrokers | None = None
    """Brokers that can be stopped and started here, where reassignd owns any."""


class Call(NamedTuple):
    """A request that may be answered. `query` has every parameter of the endpoint, `path` every name in its path."""

    core: ApiServices
    principal: str
    client_id: str
    path: Mapping[str, str]
    query: Mapping[str, Any]
    request: Request

    @property
    def state(self) -> State:
        return self.core.state

    async def submit(self, event: Event[Reply]) -> Reply:
        """Have the controller decide; return its reply once that is durable."""
        return await self.core.driver.submit(event)

    async def body(self, read: Callable[[Any], R]) -> R:
        """What `read` makes of the JSON body, off the loop when it is large. Raises ApiError."""
        data = await _received(self.request)
        try:
            if len(data) <= LARGE_BODY:
                return read(parse(data))
            return await self.core.off_loop.run(lambda: read(parse(data)))
        except PlanError as error:
            raise HttpError(400, str(error)) from error

    async def compute(self, rows: int, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function, off the loop when it has many rows to go through."""
        if rows <= LARGE_ROWS:
            return function(*args, **kwargs)
        return await self.core.off_loop.run(function, *args, **kwargs)

    async def taken(self, rows: Iterable[T | None], most: int | None = None) -> list[T]:
        """Those rows that are not None, `most` of them at most; others are served meanwhile."""
        found: list[T] = []
        if most != 0:
            async for row in breathing(rows):
                if row is not None:
                    found.append(row)
                    if len(found) == most:
                        break
        return found

    def number(self, name: str) -> int:
        """A number in the path. Raises ApiError."""
        text = self.path[name]
        if not (text.isascii() and text.isdecimal() and len(text) < 10):
            raise HttpError(404, f"There is no {name} {text[:40]!r}: expected a number.")
        return int(text)


Handle = Callable[[Call], Awaitable[Any]]


def fields(value: object, where: str, *known: str) -> dict[str, Any]:
    """The object, when it is one and has no other keys. Raises ApiError."""
    if not isinstance(value, dict):
        raise HttpError(400, f"{where} is {shown(value)}, expected an object")
    for key in value:
        if key not in known:
            raise HttpError(400, f"{where} has the unknown key {shown(key)}; known: {', '.join(known)}")
    return value


async def _received(request: Request) -> bytes:
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > MAX_BODY:
        raise _too_large()
    chunks, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > MAX_BODY:
            raise _too_large()
        chunks.append(chunk)
    return b"".join(chunks)


def _too_large() -> HttpError:
    return HttpError(413, f"the body is larger than {MAX_BODY} bytes; send the plan in parts")


def pages(offset: int, rows: Iterator[T | None]) -> Iterator[T | None]:
    """The rows without the first `offset` that are not None."""
    skipped = 0
    for row in rows:
        if row is not None and skipped < offset:
            skipped += 1
            yield None
        else:
            yield row
