"""A client with scripted answers, and a driver that records events."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from backends.client.errors import UnreachableError
from backends.upstream.client import ListedBroker
from common.off_loop import InlineExecutor

E = TypeVar("E")


class Scripted:
    """Returns `answers` by class of request; an exception is raised.

    `asked` has each request and its broker.
    """

    cluster_id = "kafka"

    def __init__(self, brokers: int = 3) -> None:
        self.brokers: Mapping[int, ListedBroker] = {
            n: ListedBroker(n, "localhost", 9000 + n) for n in range(1, brokers + 1)
        }
        self.answers: dict[type, Callable[[Any, int | None], Any]] = {}
        self.asked: list[tuple[Any, int | None]] = []
        self.refreshed = 0
        self.off_loop = InlineExecutor()
        self.closed = False

    async def refresh(self) -> None:
        self.refreshed += 1

    async def ask(self, request: Any, broker: int | None = None) -> Any:
        self.asked.append((request, broker))
        if type(request) not in self.answers:
            raise UnreachableError("nobody answers")
        answer = self.answers[type(request)](request, broker)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def close(self) -> None:
        self.closed = True

    def requests(self, kind: type[E]) -> list[E]:
        """Return the requests of this class in order."""
        return [request for request, _ in self.asked if isinstance(request, kind)]


class Events(list[Any]):
    """Replaces the driver."""

    async def submit(self, event: Any) -> Any:
        self.append(event)

    def of(self, kind: type[E]) -> list[E]:
        """Return the events of this class in order."""
        return [event for event in self if isinstance(event, kind)]
