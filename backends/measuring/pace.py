"""Submits a reading of pace every second while `reassignment.pace` is `auto` (`controller.pace`).

What measures the latencies implements `Probes`.
"""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import NamedTuple, Protocol

from backends.measuring.flows import FlowMeter
from common.clock import Clock
from common.tasks import cancel, spawn
from controller.cluster.cluster_values import cluster_value
from controller.model.configs import PACE_TOPIC
from controller.pace.readings import PaceMeasured, Probe, Source
from controller.ports import SubmitEvent
from controller.state.state import State


class Taken(NamedTuple):
    """What was measured since the last time."""

    source: Source
    probes: Sequence[Probe]
    problem: str = ""
    """Why the canary is not used, in one line; empty if it is."""


class Probes(Protocol):
    """Measures latencies again and again while `run` runs."""

    async def run(self) -> None:
        """Measure until cancelled."""
        ...

    def take(self) -> Taken:
        """Return the measurements since the last call."""
        ...

    async def close(self) -> None:
        """Close the connections, after `run` was cancelled."""
        ...


READING_SECONDS = 1.0


class PaceMeasurer:
    """Runs the probes only while pace is on."""

    def __init__(
        self, probes: Probes, flows: FlowMeter, state: State, submit: SubmitEvent, clock: Clock
    ) -> None:
        self._probes, self._flows, self._state = probes, flows, state
        self._submit, self._clock = submit, clock
        self._probing: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Measure until cancelled."""
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self._probes.close)
            stack.push_async_callback(self._stop_probing)
            while True:
                await self._clock.sleep(READING_SECONDS)
                if self._state.pace.settings is None:
                    await self._stop_probing()
                    self._flows.watch(self._clock.now(), self._canary)
                    continue
                if self._probing is None or self._probing.done():
                    self._probing = spawn(self._probes.run(), "canary")
                await self._submit(self._reading())

    def _reading(self) -> PaceMeasured:
        now, taken = self._clock.now(), self._probes.take()
        flows = self._flows.measure(now, self._canary)
        return PaceMeasured(
            now,
            taken.source,
            taken.probes,
            None if flows is None else flows.copied,
            None if flows is None else flows.produced,
            taken.problem,
        )

    @property
    def _canary(self) -> str:
        return cluster_value(self._state, PACE_TOPIC)

    async def _stop_probing(self) -> None:
        if self._probing is not None:
            await cancel(self._probing)
            self._probing = None
