"""The port between an assembly and the cluster that it serves."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import NamedTuple, Protocol

from backends.load.asking import Brokers
from common.off_loop import WorkerThread
from controller.messages.event import Event, Reply
from controller.ports import AnyBackend, SubmitEvent
from server.api.shared.process import OwnedBrokers
from server.counters import Counters, RelayCounters
from server.dispatch.context import Authorizer
from server.dispatch.router import Router
from server.metrics.sources import Traffic, UpstreamCounters, Znodes
from server.progress.rates import Sizes

GRACE_SECONDS = 1.0
"""How long a stop waits for requests in progress."""

UNTHROTTLED = 50_000_000
"""Bytes per second that a forecast for real brokers assumes without a throttle."""


class Hooks(NamedTuple):
    """What an assembly offers to its cluster."""

    submit: SubmitEvent
    """Hands an event to the driver. See `server.driver.driver.Driver.submit`."""
    report_failure: Callable[[str, BaseException], None]
    """Ends the assembly: the name of the part that failed, and its error."""
    off_loop: WorkerThread


class ServedCluster(Protocol):
    """One kind of cluster, as an assembly uses it. `serve` is called once, before `start`."""

    @property
    def backend(self) -> AnyBackend: ...

    @property
    def sizes(self) -> Sizes: ...

    @property
    def brokers(self) -> OwnedBrokers | None:
        """Brokers of this process, which the API can stop and start; None if there are none."""
        ...

    @property
    def authorizer(self) -> Authorizer: ...

    @property
    def relayed(self) -> RelayCounters:
        """Counters of requests that were relayed to brokers."""
        ...

    @property
    def znodes(self) -> Znodes:
        """Counters of ZooKeeper mode; all zero elsewhere."""
        ...

    @property
    def upstream(self) -> UpstreamCounters | None:
        """Counters of requests to the upstream; None elsewhere."""
        ...

    @property
    def upstream_cluster_id(self) -> str:
        """Id of the upstream, of which the server has an own one; empty elsewhere, and before `start`."""
        ...

    def bandwidth(self) -> int:
        """Return the bytes per second that a broker may move, for forecasts without a throttle."""
        ...

    def traffic(self) -> Mapping[int, Traffic]:
        """Return the bytes that reassignments moved, by broker."""
        ...

    def load_brokers(self) -> Brokers:
        """Open connections to the brokers by which load is measured. They are closed by the caller."""
        ...

    def new_topic_id(self) -> bytes:
        """Return sixteen random bytes, or zeros where topics have no ids."""
        ...

    def serve(self, router: Router, stats: Counters) -> None:
        """Prepare to answer client requests by the router."""
        ...

    def submit(self, event: Event[Reply], /) -> Awaitable[Reply]:
        """Submit an event of a client, after the state was updated with what the decision depends on.

        Raises DriverStoppedError.
        """
        ...

    async def refresh(self, topics: Collection[str] | None = None) -> str:
        """Bring the state up to what the cluster shows at this moment: everything, or these topics.

        Returns why the cluster cannot be asked; an empty text if the state is that of now.
        """
        ...

    async def start(self, show_obstacle: Callable[[str], None]) -> None:
        """Return when clients are served. `show_obstacle` gets a text about what is being waited for.

        Raises CommandError when the cluster cannot be served.
        """
        ...

    async def stop(self) -> None:
        """Finish requests in progress, then close the ports, then stop the backend."""
        ...


BuildCluster = Callable[[Hooks], ServedCluster]
