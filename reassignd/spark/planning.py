"""Plan large jobs with Spark in the background, for a better order of their steps and a forecast.

A job starts immediately, in the order of the controller. When Spark has finished, the remaining steps get its order.
Planning is optional: if Spark is not installed or fails, the job continues in the order of the controller.
"""

import asyncio
import logging
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterator, Sequence
from io import BytesIO
from itertools import islice
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from common.clock import wall_clock
from common.counted import counted
from common.plan_errors import PlanError
from common.worker_thread import WorkerThread
from controller.messages.job_events import PlannedSteps, Reorder
from controller.model.cluster import Replicas, TopicPartition
from controller.ports import Submitter
from controller.state.state import State
from planner import handover
from planner.schedule import steps_of
from planner.step_table import Move
from reassignd.spark.helper_process import HelperError
from server.api.services.spark import Forecast, Spark, SparkState
from server.driver.driver import DriverStoppedError

log = logging.getLogger(__name__)

PERIOD_SECONDS = 1.0
ROWS_READ = 5_000
"""Partitions that are read at once outside of the event loop, which takes tens of milliseconds."""
ROWS_ORDERED = 250
"""Partitions in one `Reorder` event, which takes one or two milliseconds to decide."""

Requested = tuple[TopicPartition, Replicas]
"""A partition and its replicas at the time of the request."""

Size = Callable[[TopicPartition], int | None]

Ask = Callable[[AsyncIterable[bytes]], Awaitable[bytes]]
"""Sends a request of `planner.handover` to the worker and returns its answer. Raises HelperError."""


class ClusterRates(NamedTuple):
    """Input of a forecast that is not in the controller's state: bytes of a replica, and bytes per second and broker."""

    size: Size
    bandwidth: Callable[[], int]


class SparkPlanning:
    """Plans jobs of at least `min_partitions`, one after the other. `obstacle` returns the line about a missing package, or None."""

    def __init__(
        self,
        state: State,
        controller: Submitter,
        off_loop: WorkerThread,
        facts: ClusterRates,
        ask: Ask,
        obstacle: Callable[[], str | None],
        min_partitions: int,
        now_ms: Callable[[], int] = wall_clock,
    ) -> None:
        self._state = state
        self._controller = controller
        self._off_loop = off_loop
        self._facts = facts
        self._ask = ask
        self._obstacle = obstacle
        self._least = min_partitions
        self._now_ms = now_ms
        self._seen = 0
        self._view = Spark(min_partitions=min_partitions)
        if min_partitions:
            self._check_spark()

    def view(self) -> Spark:
        """The state of the planner, for `/v1/status`."""
        return self._view

    async def run(self, period_seconds: float = PERIOD_SECONDS) -> None:
        """Plan large jobs as they appear, until the controller stops. Returns immediately if planning is disabled."""
        while self._least:
            job = self._next()
            if job is None:
                await asyncio.sleep(period_seconds)
            elif self._check_spark():
                try:
                    await self._plan(job)
                except DriverStoppedError:
                    return
            else:
                log.info("job %d is not planned on Spark: %s", job, self._view.reason)

    def _check_spark(self) -> bool:
        reason = self._obstacle()
        state = SparkState.READY if reason is None else SparkState.MISSING
        self._view = Spark(state, reason or "", self._least)
        return reason is None

    def _next(self) -> int | None:
        """Return the oldest large job that was not examined yet. Accepted jobs do not grow."""
        state = self._state
        for number in sorted(state.open):
            job = state.jobs.get(number)
            if number <= self._seen or job is None:
                continue
            if not job.total:
                return None
            self._seen = number
            if state.open[number] >= self._least:
                return number
        return None

    async def _plan(self, job: int) -> None:
        self._show(SparkState.WORKING, job, self._state.open.get(job, 0))
        requested: list[Requested] = []
        try:
            forecast, waves = handover.read_answer(BytesIO(await self._ask(self._request(job, requested))))
            ordered = await self._reorder(job, zip(requested, waves, strict=True))
        except (HelperError, PlanError) as error:
            self._show(SparkState.FAILED, job, len(requested))
            self._view = replace(self._view, reason=str(error))
            log.warning("job %d continues in the order of the controller: Spark failed: %s", job, error)
            return
        self._show(SparkState.ORDERED, job, ordered)
        self._view = replace(self._view, forecast=msgspec.convert(forecast, Forecast))
        log.info(
            "job %d: %s ordered by Spark, %s",
            job,
            counted(ordered, "partition"),
            counted(forecast["waves"], "wave"),
        )

    def _show(self, state: SparkState, job: int, partitions: int) -> None:
        self._view = Spark(state, "", self._least, job, partitions, self._now_ms())

    async def _request(self, job: int, requested: list[Requested]) -> AsyncIterator[bytes]:
        """Yield the request for a job, read while the state changes. The partitions are appended to `requested`."""
        state = self._state
        yield handover.head(state.backlog.usage.limits, self._facts.bandwidth(), state.live)
        keys = await self._off_loop.run(_keys, state, job)
        for start in range(0, len(keys), ROWS_READ):
            moves = await self._off_loop.run(_moves, state, keys[start : start + ROWS_READ], self._facts.size)
            requested += [(TopicPartition(move.topic, move.partition), move.current) for move in moves]
            yield await self._off_loop.run(handover.rows, moves)
        yield handover.END

    async def _reorder(self, job: int, planned: Iterator[tuple[Requested, list[int]]]) -> int:
        """Submit the waves in small events, so that other events are processed in between."""
        ordered = 0
        while batch := list(islice(planned, ROWS_ORDERED)):
            rows = [
                row
                for requested, waves in batch
                if (row := _remaining(self._state, requested, waves)) is not None
            ]
            ordered += await self._controller.submit(Reorder(job, rows))
            await asyncio.sleep(0)
        return ordered


def _remaining(state: State, requested: Requested, waves: list[int]) -> PlannedSteps | None:
    """Return the waves of the partition's remaining steps, without those of steps that were completed meanwhile."""
    key, replicas = requested
    wanted, partition = state.reassignments.get(key), state.partition(*key)
    if wanted is None or partition is None:
        return None
    if partition.next != replicas:
        replicas = partition.next
        leader = partition.leader if partition.leader in replicas else replicas[0]
        rest = Move(*key, replicas, wanted.target, replicas, leader, state.min_isr(key.topic))
        count = sum(1 for _ in steps_of(rest, state.live, state.backlog.usage.limits.step))
        waves = waves[max(0, len(waves) - count) :]
    return PlannedSteps(key, replicas, waves) if waves else None


def _keys(state: State, job: int) -> list[TopicPartition]:
    return [wanted.key for wanted in list(state.reassignments.values()) if wanted.job == job]


def _moves(state: State, keys: Sequence[TopicPartition], size: Size) -> list[Move]:
    """Return the moves of partitions that have not reached their target, from their last completed step."""
    moves = []
    for key in keys:
        wanted, partition = state.reassignments.get(key), state.partition(*key)
        if wanted is not None and partition is not None:
            current, min_isr = partition.current, state.min_isr(key.topic)
            isr = tuple(r for r in partition.isr if r in current)
            moves.append(Move(*key, current, wanted.target, isr, partition.leader, min_isr, size(key) or 0))
    return moves
