"""The wiring: a cluster on records that are loaded already, started and stopped in the right order."""

import asyncio
import uuid
from functools import partial
from typing import Any, Self

from backends.clock import Clock
from backends.datadir import StoreError
from backends.embedded.broker import EmbeddedBroker
from backends.embedded.cluster import EmbeddedCluster
from backends.tasks import cancel, spawn
from controller.events import Event
from controller.machine import decide
from controller.port import Store
from controller.state import State
from reassignd import __version__
from reassignd.config import Settings
from reassignd.errors import CommandError
from reassignd.kinds import Address
from reassignd.parts import embedded_settings, limits
from reassignd.ports import Port, Ports
from reassignd.retention import Retention, prune_for_ever
from server.api.call import Core
from server.api.progress import Progress
from server.authorizer import AllowAll
from server.cache import BodyCache
from server.context import Services
from server.driver import Driver, DriverStoppedError, wall_clock
from server.journal import Journal, report_for_ever
from server.latency import Latency
from server.listener import Listeners
from server.metric_table import Sources, Traffic
from server.metrics import Metrics
from server.offloop import OffLoop
from server.router import Router
from server.session import Session
from server.stats import Counters

GRACE_SECONDS = 1.0
"""How long a stop waits for answers under way."""


class Application:
    """Controller, brokers and listeners, as an async context manager: they serve inside it.

    Entering raises CommandError when something cannot be had; nothing is left open then.
    """

    def __init__(
        self, settings: Settings, state: State, store: Store, cluster_id: str, clock: Clock | None = None
    ) -> None:
        self.state = state
        self.first_start = state.controller_epoch == 0
        """There were no records."""
        self.serves = False
        self.failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Gets a CommandError when the controller or the cluster had to stop by itself; nothing else ever."""
        embedded, on_failure = embedded_settings(settings), partial(self._failed, "the embedded cluster")
        self.cluster = EmbeddedCluster(
            embedded, state, self.submit, self._listen, clock=clock, on_failure=on_failure
        )
        stats, on_failure = Counters(), partial(self._failed, "the controller")
        self._driver = Driver(state, store, self.cluster, decide, stats=stats, on_failure=on_failure)
        self._driver.note = Journal(state).note
        self._off_loop = OffLoop()
        bodies = BodyCache(self._off_loop)
        services = Services(cluster_id, state, self, AllowAll(), self._off_loop, bodies, _new_id)
        latency = Latency(Router(services, stats).answer)
        bounds = limits(settings)
        listeners = Listeners(partial(Session, latency.answer, bounds), bounds, stats)
        self._retention = Retention(settings.jobs_retention_ms, settings.jobs_retention_count)
        self._chores: list[asyncio.Task[None]] = []
        self._progress = Progress(state, self.cluster)
        cluster, progress = self.cluster, self._progress
        self.core = Core(
            __version__, cluster_id, state, self, self._off_loop, cluster, progress, brokers=cluster
        )
        """What the API serves from."""
        self._ports = Ports(listeners, settings.listener, settings.advertised_host)
        self.metrics = Metrics(
            Sources(__version__, state, stats, latency, self._traffic, lambda: self.serves)
        )

    @property
    def addresses(self) -> list[Address]:
        """Where clients can connect while all brokers run, in order of broker id."""
        return self._ports.addresses

    async def submit(self, event: Event) -> Any:
        """Have the controller decide; return its reply once that is durable."""
        return await self._driver.submit(event)

    async def __aenter__(self) -> Self:
        self._driver.start()
        try:
            await self.cluster.start()
        except DriverStoppedError:
            await self._stop()
            await self.failure
        except BaseException:
            await self._stop()
            raise
        self._chores = [
            spawn(prune_for_ever(self, self._retention, wall_clock), "pruning"),
            spawn(report_for_ever(self.state), "progress"),
            spawn(self._progress.run(), "bytes"),
        ]
        self.serves = True
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stop()

    async def _stop(self) -> None:
        """Answers under way first, then the brokers, then what they submitted; reverse of the start."""
        self.serves = False
        await cancel(*self._chores)
        await self._ports.close_all(GRACE_SECONDS)
        await self.cluster.stop()
        await self._driver.stop()
        self._off_loop.close()

    async def _listen(self, broker: EmbeddedBroker) -> Port:
        return await self._ports.open(broker)

    def _traffic(self) -> dict[int, Traffic]:
        return {
            broker: Traffic(bytes_.reassignment_in, bytes_.reassignment_out)
            for broker, bytes_ in self.cluster.traffic.items()
        }

    def _failed(self, who: str, error: BaseException) -> None:
        self.serves = False
        text = f"{who} failed ({error!r}); start again: nothing acknowledged is lost"
        if not self.failure.done():
            self.failure.set_exception(CommandError(str(error) if isinstance(error, StoreError) else text))


def _new_id() -> bytes:
    return uuid.uuid4().bytes
