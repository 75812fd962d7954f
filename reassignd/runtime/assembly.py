"""The composition root of a cluster: state, store, driver and router around a served cluster.

`reassignd.runtime.background` has what computes beside them, the API and metrics.

The embedded cluster and the gateway have one assembly for the life of the process, ZooKeeper mode one for
each term.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

from backends.sqlite.datadir import StoreError
from common.clock import Clock, RealClock, wall_clock
from common.tasks import cancel, spawn_lasting
from controller.machine import decide
from controller.messages.event import AnyEvent, Event, Reply
from controller.model.cluster import TopicPartition
from controller.ports import Store
from controller.state.state import Decision, State
from reassignd.config.errors import CommandError
from reassignd.config.settings import Settings
from reassignd.runtime.background import Background, ProcessParts
from reassignd.runtime.restoring import restore_periodically
from reassignd.runtime.served_cluster import BuildCluster, Hooks
from reassignd.runtime.storage.retention import AgeClock, Retention, prune_periodically
from server.audit.trail import AuditTrail
from server.dispatch.cache import BodyCache
from server.dispatch.context import Services
from server.dispatch.router import Router
from server.driver.driver import Driver, OnDecision
from server.driver.journal import Journal, report_progress_periodically
from server.events.hub import EventHub
from server.handlers import load
from server.security.acls import AclAuthorizer

# What only HTTP and several instances need is imported when it is used: tests start clusters without it.
if TYPE_CHECKING:
    from reassignd.runtime.runtime import HttpContent
    from server.api.shared.call import ApiServices
    from server.metrics.exposition import Metrics


class Failure(NamedTuple):
    """The reason why an assembly ended by itself. `part` names the part that failed."""

    part: str
    error: BaseException

    def command_error(self) -> CommandError:
        """Return the error that ends the process."""
        if isinstance(self.error, StoreError | CommandError):
            return CommandError(str(self.error))
        return CommandError(f"{self.part} failed ({self.error!r}); start again: nothing acknowledged is lost")


class Assembly:
    """One cluster with its driver, router, API and metrics."""

    def __init__(
        self,
        settings: Settings,
        state: State,
        store: Store,
        cluster_id: str,
        build: BuildCluster,
        parts: ProcessParts,
        *,
        show_obstacle: Callable[[str], None] = lambda _: None,
        clock: Clock | None = None,
    ) -> None:
        self.state, self._parts, self._show_obstacle = state, parts, show_obstacle
        self._settings, self._cluster_id = settings, cluster_id
        state.set_static_configs(settings.initial_limits)
        self._clock = clock or RealClock()
        self.is_serving = False
        self.failure: asyncio.Future[Failure] = asyncio.get_running_loop().create_future()
        """The first failure of a part; pending as long as there is none."""
        self._audit = parts.audit
        self._trail = self._new_trail()
        self._events = EventHub(state, self._shown_cluster_id)
        self._driver = self._new_driver(store, cluster_id)
        self.served = build(Hooks(self._driver.submit, self._report_failure, parts.off_loop))
        self.router = self._new_router(cluster_id)
        self.served.serve(self.router, parts.stats)
        self._retention = _retention(settings)
        self._background = Background(settings, state, self.served, self._driver, parts, self._clock)
        self._tasks: list[asyncio.Task[None]] = []

    def submit(self, event: Event[Reply]) -> Awaitable[Reply]:
        """See `ServedCluster.submit`."""
        return self.served.submit(event)

    async def start(self) -> None:
        """Return when clients are served. Raises what `ServedCluster.start` raises, or DriverStoppedError.

        Everything is stopped again then.
        """
        self._driver.start(self.served.backend, lambda: self._parts.off_loop.is_busy)
        try:
            await self.served.start(self._show_obstacle)
        except BaseException:
            await self.stop()
            raise
        clock = self._clock
        jobs_age = AgeClock(self._retention.milliseconds, clock)
        self._tasks = [
            spawn_lasting(
                partial(prune_periodically, self.served, self._retention, jobs_age, clock), "pruning", clock
            ),
            spawn_lasting(partial(report_progress_periodically, self.state, clock), "progress", clock),
            spawn_lasting(
                partial(restore_periodically, self.served, self.state, wall_clock, clock), "restoring", clock
            ),
            *self._background.start(),
        ]
        if self._audit is not None and self._parts.instances is None:
            # Several instances trim their copies themselves, also as standbys.
            audit_age = AgeClock(self._audit.retention.milliseconds, clock)
            trim = partial(self._audit.trim_periodically, audit_age, clock)
            self._tasks.append(spawn_lasting(trim, "audit log", clock))
        self.is_serving = True

    @property
    def http_content(self) -> HttpContent:
        """What HTTP serves while the assembly serves."""
        from reassignd.runtime.runtime import HttpContent

        return HttpContent(None, self.api, self.metrics.page)

    async def stop(self) -> None:
        """Stop in reverse order of the start: clients first, then the backend, then the driver."""
        self.is_serving = False
        self._events.stop()
        await cancel(*self._tasks)
        await self._background.close()
        await self.served.stop()
        await self._driver.stop()

    def _shown_cluster_id(self) -> str:
        """The id that clients of the brokers see.

        A gateway has an id of its own beside it, for its records.
        """
        return self.served.upstream_cluster_id or self._cluster_id

    def _report_failure(self, part: str, error: BaseException) -> None:
        self.is_serving = False
        if not self.failure.done():
            self.failure.set_result(Failure(part, error))

    def _new_trail(self) -> AuditTrail | None:
        if self._audit is None:
            return None
        newest = self._audit.reader.span()[1:]
        return AuditTrail(self.state, *newest, counts=self._parts.stats.audited)

    def _new_driver(self, store: Store, cluster_id: str) -> Driver:
        on_failure = partial(self._report_failure, "the controller")
        return Driver(
            self.state,
            store,
            decide if self._trail is None else self._trail.audited(decide),
            stats=self._parts.stats,
            on_failure=on_failure,
            on_decision=self._observers(cluster_id),
        )

    def _observers(self, cluster_id: str) -> OnDecision:
        """Return what each decision is handed to when it is durable.

        The log, and the traces if they are on.
        """
        journal, traces = Journal(self.state, self._events).log_decision, self._parts.traces
        if traces is None:
            return journal

        def size(key: TopicPartition) -> int | None:
            return self.served.sizes.size(key)  # The cluster is made after the driver.

        spans = traces.follow(self.state, cluster_id, size)

        def observe(event: AnyEvent, decision: Decision) -> None:
            journal(event, decision)
            spans.log_decision(event, decision)

        return observe

    def _new_router(self, cluster_id: str) -> Router:
        served, off_loop = self.served, self._parts.off_loop
        services = Services(
            cluster_id,
            self.state,
            served,
            served.authorizer,
            off_loop,
            BodyCache(off_loop),
            served.new_topic_id,
            manages_acls=isinstance(served.authorizer, AclAuthorizer),
        )
        return Router(services, self._parts.stats, load())

    @cached_property
    def api(self) -> ApiServices:
        """What the API answers from."""
        return self._background.api(self._shown_cluster_id, self._events)

    @cached_property
    def metrics(self) -> Metrics:
        """What `/metrics` is made from."""
        return self._background.metrics(lambda: self.is_serving)


def _retention(settings: Settings) -> Retention:
    return Retention(
        settings.jobs_retention_ms, settings.jobs_retention_count, settings.jobs_retention_partitions
    )
