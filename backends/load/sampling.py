"""The door: samples while `reassignment.load.sampling` is on, and shows what was measured.

Without numpy, which is in the extra `propose`, nothing is measured, and a line says so.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

from common.clock import Clock
from common.off_loop import OffLoop
from common.tasks import cancel, spawn
from controller.cluster.cluster_values import cluster_value
from controller.model.configs import (
    LOAD_METRICS_TOPIC,
    LOAD_PROMETHEUS,
    LOAD_PROMETHEUS_BROKERS,
    LOAD_SAMPLING,
    labelled_items,
)
from controller.model.load import LoadPage, LoadRow, LoadSort, LoadSummary, LoadUnit, Rates
from controller.ports import SubmitEvent
from controller.state.state import State

# numpy is optional, and only needed while sampling is on.
if TYPE_CHECKING:
    from backends.load.asking import Brokers
    from backends.load.sampler import Sampler, Timing
    from backends.load_sources.prometheus import Configured
    from backends.load_sources.source import Source

log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
"""Between two looks whether sampling is on."""

NO_NUMPY = "load is not measured: numpy is not installed (pip install 'reassignd[propose]')"

NewBrokers = Callable[[], "Brokers"]
"""Opens connections of its own to the brokers."""


class Setup(NamedTuple):
    """What sampling needs besides the brokers."""

    state: State
    off_loop: OffLoop
    clock: Clock
    wall_ms: Callable[[], int]
    submit: SubmitEvent
    """Gives events to the controller, which keeps the hours of the day."""
    login: Callable[[str], str] = lambda _: ""
    """Returns the header with the login for the URL of a Prometheus; empty for none."""
    timing: "Timing | None" = None


class LoadSampling:
    """Implements `controller.model.load.Loads`."""

    def __init__(self, new_brokers: NewBrokers, setup: Setup) -> None:
        self._new_brokers, self._setup = new_brokers, setup
        self._sampler: Sampler | None = None
        self._problem = ""
        self._sampling: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Sample while sampling is on. Runs until it is cancelled."""
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self._stop)
            while True:
                if not self._is_on():
                    await self._stop()
                elif self._sampling is None:
                    self._start()
                await self._setup.clock.sleep(LOOK_SECONDS)

    def summary(self) -> LoadSummary:
        """See `Loads.summary`."""
        sampler = self._sampler
        if sampler is None:
            return LoadSummary(self._is_on(), (self._problem,) if self._problem else ())
        return sampler.summary

    def by_broker(self) -> Sequence[LoadRow]:
        """See `Loads.by_broker`."""
        return () if self._sampler is None else self._sampler.by_broker

    def page(self, by: LoadUnit, sort: LoadSort, offset: int, limit: int) -> LoadPage:
        """See `Loads.page`."""
        view = None if self._sampler is None else self._sampler.view
        return LoadPage((), 0) if view is None else view.page(by, sort, offset, limit)

    def rates(self, topic: str, partition: int) -> Rates | None:
        """See `Loads.rates`."""
        view = None if self._sampler is None else self._sampler.view
        row = None if view is None else view.layout.row(topic, partition)
        return None if view is None or row is None else view.rates(row)

    def _is_on(self) -> bool:
        return self._config(LOAD_SAMPLING) == "on"

    def _prometheus(self) -> "Configured | None":
        from backends.load_sources.http_api import Server
        from backends.load_sources.prometheus import Configured

        url, brokers = self._config(LOAD_PROMETHEUS).strip(), self._config(LOAD_PROMETHEUS_BROKERS)
        given = {label: int(broker) for label, broker in labelled_items(brokers)}
        return Configured(Server(url, self._setup.login(url)), given) if url else None

    def _leaders(self, topic: str) -> list[int]:
        return [each.leader for each in self._setup.state.cluster.partitions.get(topic, ())]

    def _sources(self, brokers: "Brokers") -> "Sequence[Source]":
        """Return what may tell bytes out and CPU; the first one that is set counts."""
        from backends.load_sources.metrics_topic import MetricsTopic
        from backends.load_sources.prometheus import Prometheus

        off_loop = self._setup.off_loop
        topic = partial(self._config, LOAD_METRICS_TOPIC)
        return (
            Prometheus(self._prometheus, off_loop),
            MetricsTopic(topic, self._leaders, brokers.exchange, off_loop),
        )

    def _config(self, key: str) -> str:
        return cluster_value(self._setup.state, key)

    def _start(self) -> None:
        if find_spec("numpy") is None:
            if not self._problem:
                log.warning("%s", NO_NUMPY)
            self._problem = NO_NUMPY
            return
        from backends.load.kept_hours import KeptHours
        from backends.load.sampler import Sampler, Timing

        setup = self._setup
        brokers = self._new_brokers()
        sampler = self._sampler = Sampler(
            brokers,
            setup.state,
            setup.off_loop,
            setup.clock,
            setup.wall_ms,
            setup.timing or Timing(),
            KeptHours(setup.state.load_hours, setup.submit, setup.off_loop),
            self._sources(brokers),
        )

        async def sample() -> None:
            try:
                await sampler.run()
            finally:
                await brokers.close()

        self._sampling = spawn(sample(), "load")

    async def _stop(self) -> None:
        self._problem = ""
        if self._sampling is not None:
            await cancel(self._sampling)
        self._sampling = self._sampler = None
