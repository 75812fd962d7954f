"""The wiring: a cluster on records that are loaded already, started and stopped in the right order."""

import asyncio
import uuid
from collections.abc import Callable
from functools import partial
from typing import Self

from backends.datadir import StoreError
from common.address import Address
from common.tasks import cancel, spawn
from common.worker_thread import WorkerThread
from controller.machine import decide
from controller.messages.event import Event, Reply
from controller.ports import Store
from controller.state.state import State
from controller.throttle.desired import throttle_rate
from planner.spark import obstacle
from reassignd import __version__
from reassignd.config.config import Settings
from reassignd.errors import CommandError
from reassignd.runtime.retention import Retention, prune_for_ever
from reassignd.runtime.runtime import Build, Hooks
from reassignd.spark.helper_process import exchange_lines
from reassignd.spark.planning import Facts, SparkPlanning
from reassignd.spark.worker import worker
from server.api.call import ApiServices
from server.api.progress import Progress
from server.dispatch.authorizer import AllowAll
from server.dispatch.cache import BodyCache
from server.dispatch.context import Services
from server.dispatch.router import Router
from server.driver.driver import Driver, DriverStoppedError, wall_clock
from server.driver.journal import Journal, report_for_ever
from server.metrics.exposition import Metrics
from server.metrics.latency import RequestLatency
from server.metrics.sources import Sources
from server.metrics.stats import Counters

SPARK_SECONDS = 900.0
"""How long a plan on Spark may take; a million partitions take a minute."""


class Application:
    """Controller, cluster and listeners, as an async context manager: they serve inside it.

    `build` makes the world around which it is. Entering raises CommandError when something cannot be had; nothing is left open
    then. `waits` is told what the start waits for.
    """

    def __init__(
        self,
        settings: Settings,
        state: State,
        store: Store,
        cluster_id: str,
        build: Build,
        waits: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.state, self._waits = state, waits
        self.first_start = state.controller_epoch == 0
        """There were no records."""
        self.serves = False
        self.failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Gets a CommandError when the controller or the world had to stop by itself; nothing else ever."""
        self._off_loop = WorkerThread()
        self.world = build(Hooks(self.submit, self._failed, self._off_loop))
        stats, on_failure = Counters(), partial(self._failed, "the controller")
        self._driver = Driver(state, store, self.world.backend, decide, stats=stats, on_failure=on_failure)
        self._driver.note = Journal(state).note
        bodies = BodyCache(self._off_loop)
        services = Services(cluster_id, state, self, AllowAll(), self._off_loop, bodies, _new_id)
        router = Router(services, stats)
        latency = RequestLatency(router.answer)
        self.world.serve(router, latency.answer, stats)
        self._retention = Retention(
            settings.jobs_retention_ms, settings.jobs_retention_count, settings.jobs_retention_partitions
        )
        self._spark = self._spark_planning(settings)
        self._chores: list[asyncio.Task[None]] = []
        self._progress = Progress(state, self.world.sizes)
        self.core = self._core(cluster_id)
        """What the API serves from."""
        traffic, relayed = self.world.traffic, self.world.relayed
        sources = Sources(__version__, state, stats, latency, traffic, lambda: self.serves, relayed)
        self.metrics = Metrics(sources)

    @property
    def addresses(self) -> list[Address]:
        """Where clients can connect."""
        return self.world.addresses

    async def submit(self, event: Event[Reply]) -> Reply:
        """Have the controller decide; return its reply once that is durable."""
        await self.world.prepare(event)
        return await self._driver.submit(event)

    async def __aenter__(self) -> Self:
        self._driver.start()
        try:
            await self.world.start(self._waits)
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
            spawn(self._spark.run(), "planning on Spark"),
        ]
        self.serves = True
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stop()

    async def _stop(self) -> None:
        """Answers under way first, then the cluster, then what it submitted; reverse of the start."""
        self.serves = False
        await cancel(*self._chores)
        await self.world.stop()
        await self._driver.stop()
        self._off_loop.close()

    def _core(self, cluster_id: str) -> ApiServices:
        return ApiServices(
            __version__,
            cluster_id,
            self.state,
            self,
            self._off_loop,
            self.world.sizes,
            self._progress,
            self._spark.view,
            self.world.brokers,
        )

    def _spark_planning(self, settings: Settings) -> SparkPlanning:
        master = settings.planner_spark_master
        return SparkPlanning(
            self.state,
            self,
            self._off_loop,
            Facts(self.world.sizes.size, lambda: throttle_rate(self.state) or self.world.bandwidth()),
            lambda request: exchange_lines(worker(master), request, SPARK_SECONDS),
            lambda: obstacle(master),
            settings.planner_spark_min_partitions,
        )

    def _failed(self, who: str, error: BaseException) -> None:
        self.serves = False
        text = f"{who} failed ({error!r}); start again: nothing acknowledged is lost"
        if not self.failure.done():
            self.failure.set_exception(
                CommandError(str(error) if isinstance(error, StoreError | CommandError) else text)
            )


def _new_id() -> bytes:
    return uuid.uuid4().bytes
