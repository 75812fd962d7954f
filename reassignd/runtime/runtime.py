"""What an application is made around: the backend that it drives, and the ports at which clients come."""

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from common.address import Address
from common.worker_thread import WorkerThread
from controller.messages.event import AnyEvent
from controller.ports import Backend, SubmitEvent
from server.connections.session import Answer
from server.dispatch.router import Router
from server.metrics.sources import Traffic
from server.ports import OwnedBrokers, Sizes, Stats
from server.relay.counters import RelayCounters

GRACE_SECONDS = 1.0
"""How long a stop waits for answers under way."""


class Hooks(NamedTuple):
    """What a world needs of the application: the way in to the controller, and somebody to tell."""

    submit: SubmitEvent
    failed: Callable[[str, BaseException], None]
    """Who cannot go on, and why; ends the application."""
    off_loop: WorkerThread


class Runtime(Protocol):
    """One kind of cluster. Made before the driver, `serve`d by the router, started and stopped by the application."""

    kind: str
    """A word for people."""

    @property
    def backend(self) -> Backend: ...

    @property
    def sizes(self) -> Sizes: ...

    @property
    def brokers(self) -> OwnedBrokers | None:
        """Brokers that can be stopped and started here, where reassignd owns any."""
        ...

    @property
    def addresses(self) -> list[Address]:
        """Where clients can connect."""
        ...

    def bandwidth(self) -> int:
        """Bytes a second that a broker may move, for forecasts."""
        ...

    def traffic(self) -> Mapping[int, Traffic]:
        """What reassignments moved, by broker."""
        ...

    @property
    def relayed(self) -> RelayCounters:
        """What passed by us on its way to brokers that are not ours."""
        ...

    def serve(self, router: Router, answer: Answer, stats: Stats) -> None:
        """Have clients answered by it, from the start on. `answer` is the router's, measured."""
        ...

    async def prepare(self, event: AnyEvent) -> None:
        """Have the state know what the controller is about to decide on."""
        ...

    async def start(self, waits: Callable[[str], None]) -> None:
        """Returns when clients are served; says what it waits for. Raises CommandError when that will never be."""
        ...

    async def stop(self) -> None:
        """Answers under way first, then the ports, then the backend."""
        ...


Build = Callable[[Hooks], Runtime]
