"""What computes beside the driver of a served cluster, and what HTTP answers from it.

Bytes of jobs, waiting times, plans on Spark and proposals: all of it reads the state, and no answer to a
Kafka client needs it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from backends.load.sampling import LoadSampling, Setup
from common.clock import Clock, wall_clock
from common.off_loop import WorkerThread
from common.tasks import Turns, spawn_lasting
from controller.execution.throttle import throttle_rate
from controller.state.state import State
from planner.spark import obstacle
from reassignd.config.prometheus_logins import prometheus_login
from reassignd.config.settings import Settings
from reassignd.config.version import __version__
from reassignd.runtime.served_cluster import ServedCluster
from reassignd.runtime.storage.retention import AuditStore
from reassignd.workers.processes import HelperProcess, compute, review, solver_obstacle
from reassignd.workers.spark_planning import ClusterRates, SparkPlanning, SparkUse
from reassignd.workers.spark_worker import worker
from server.api.shared.forecasts import Reviews
from server.api.shared.proposals import ProposalStore
from server.counters import Counters
from server.driver.driver import Driver
from server.events.hub import EventHub
from server.metrics.kafka_names import hidden_prefixes
from server.metrics.sources import Sources
from server.metrics.waiting_ages import WaitingAges
from server.progress.counts import JobCounts
from server.progress.progress import Progress

# What only HTTP and several instances need is imported when it is used: tests start clusters without it.
if TYPE_CHECKING:
    from reassignd.runtime.presence import Presence
    from reassignd.tracing.job_spans import Traces
    from server.api.shared.call import ApiServices
    from server.metrics.exposition import Metrics

SPARK_SECONDS = 900.0
"""Time limit of a plan on Spark. A million partitions take a minute."""


class ProcessParts(NamedTuple):
    """The parts that all assemblies of a process share. `close` is to be called after the last assembly."""

    off_loop: WorkerThread
    stats: Counters
    audit: AuditStore | None = None
    """None without an audit log: in ZooKeeper mode without `audit.dir`."""
    instances: Presence | None = None
    """This instance and others; None without a state topic."""
    traces: Traces | None = None
    """None while `traces.exporter=none`."""

    def close(self) -> None:
        """End the worker thread, and send the last spans for a limited time."""
        self.off_loop.close()
        if self.traces is not None:
            self.traces.close()


class Background:
    """The parts of an assembly that only observe. `close` is called after the tasks were cancelled."""

    def __init__(
        self,
        settings: Settings,
        state: State,
        served: ServedCluster,
        driver: Driver,
        parts: ProcessParts,
        clock: Clock,
    ) -> None:
        self._settings, self._state, self._served = settings, state, served
        self._driver, self._parts, self._clock = driver, parts, clock
        turns = Turns(lambda: driver.is_busy or parts.off_loop.is_busy)
        self._spark = self._new_spark_planning()
        self._proposals = ProposalStore(compute, solver_obstacle, wall_clock, clock, served.bandwidth)
        self._progress = Progress(state, served.sizes, totals=parts.stats.copied, turns=turns)
        self._counts = JobCounts(state)
        self._load = LoadSampling(
            served.load_brokers,
            Setup(
                state,
                parts.off_loop,
                clock,
                wall_clock,
                driver.submit,
                prometheus_login(settings.prometheus_credentials_file),
            ),
        )
        self._waits = WaitingAges(state, lambda: self._counts.tally(self._progress.stalled), clock, turns)

    def start(self) -> Iterator[asyncio.Task[None]]:
        """Start the tasks, and yield them."""
        yield spawn_lasting(self._progress.run, "bytes", self._clock)
        yield spawn_lasting(self._waits.run, "waiting times", self._clock)
        yield spawn_lasting(self._load.run, "load sampling", self._clock)
        yield spawn_lasting(self._spark.run, "planning on Spark", self._clock)

    async def close(self) -> None:
        """Stop the computation of proposals."""
        await self._proposals.close()

    def api(self, cluster_id: Callable[[], str], events: EventHub) -> ApiServices:
        """Return what the API answers from."""
        from server.api.shared.call import ApiServices

        served, audit = self._served, self._parts.audit
        return ApiServices(
            version=__version__,
            cluster_id=cluster_id,
            cluster_name=self._settings.cluster_name,
            state=self._state,
            driver=served,
            off_loop=self._parts.off_loop,
            sizes=served.sizes,
            progress=self._progress,
            counts=self._counts,
            spark=self._spark.view,
            seen_ms=lambda: None if served.upstream is None else served.upstream.last_whole_poll_ms or None,
            brokers=served.brokers,
            proposals=self._proposals,
            audit=None if audit is None else audit.reader,
            events=events,
            hidden_brokers=lambda: served.relayed.hidden_brokers,
            instances=self._parts.instances,
            load=self._load,
            reviews=Reviews(review, served.bandwidth),
            refresh=served.refresh,
        )

    def metrics(self, is_serving: Callable[[], bool]) -> Metrics:
        """Return what `/metrics` is made from."""
        from server.metrics.exposition import Metrics

        served, settings = self._served, self._settings
        return Metrics(
            Sources(
                __version__,
                self._state,
                self._parts.stats,
                lambda: self._driver.queue_length,
                served.traffic,
                is_serving,
                served.relayed,
                served.znodes,
                audited={} if self._parts.audit is None else self._parts.stats.audited,
                upstream=served.upstream,
                instances=self._parts.instances,
                progress=self._progress,
                load=self._load,
                waits=self._waits,
                moving_partitions=settings.metrics_moving_partitions,
                hidden=hidden_prefixes(settings.metrics_kafka_names, settings.backend),
            )
        )

    def _new_spark_planning(self) -> SparkPlanning:
        master, served = self._settings.planner_spark_master, self._served
        return SparkPlanning(
            self._state,
            served,
            self._parts.off_loop,
            ClusterRates(served.sizes.size, lambda: throttle_rate(self._state) or served.bandwidth()),
            HelperProcess(worker(master), SPARK_SECONDS),
            lambda: obstacle(master),
            SparkUse(self._settings.planner_spark_min_partitions, self._settings.planner_spark_warm),
        )
