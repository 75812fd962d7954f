"""Large jobs are planned on Spark in the background, for a better order of their steps and a forecast.

A job starts at once, in the order that the controller gives it; what still waits when Spark has answered takes the
order over. Nothing depends on the answer: without Spark, or when it fails, all goes on as it began.
"""

import asyncio
import logging
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterator, Sequence
from io import BytesIO
from itertools import islice
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from common.plan_errors import PlanError
from common.worker_thread import WorkerThread
from controller.messages.job_events import PlannedSteps, Reorder
from controller.model.cluster import Replicas, TopicPartition
from controller.ports import Submitter
from controller.state.state import State
from planner import handover
from planner.schedule import Move, steps_of
from reassignd.spark.helper_process import HelperError
from server.api.spark import Forecast, Spark, SparkState
from server.driver.driver import DriverStoppedError, wall_clock

log = logging.getLogger(__name__)

PERIOD_SECONDS = 1.0
ROWS_READ = 5_000
"""Partitions that are described in a row, which takes tens of milliseconds, off the loop."""
ROWS_ORDERED = 250
"""Partitions of one event: a millisecond or two to decide."""

Handed = tuple[TopicPartition, Replicas]
"""A partition as it was described."""

Size = Callable[[TopicPartition], int | None]

Ask = Callable[[AsyncIterable[bytes]], Awaitable[bytes]]
"""Have a request of `planner.handover` answered. Raises HelperError."""


class Facts(NamedTuple):
    """What a forecast needs beside the controller's state: bytes of a replica, and bytes per second and broker."""

    size: Size
    bandwidth: Callable[[], int]


class SparkPlanning:
    """Hands jobs of at least `min_partitions` over, one after the other. `obstacle` tells what is not installed."""

    def __init__(
        self,
        state: State,
        controller: Submitter,
        off_loop: WorkerThread,
        facts: Facts,
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
            self._look()

    def view(self) -> Spark:
        """What it does, for `/v1/status`."""
        return self._view

    async def run(self, period_seconds: float = PERIOD_SECONDS) -> None:
        """Look for large jobs, now and then; ends when the controller has stopped, or when no job is large enough."""
        while self._least:
            job = self._next()
            if job is None:
                await asyncio.sleep(period_seconds)
            elif self._look():
                try:
                    await self._plan(job)
                except DriverStoppedError:
                    return
            else:
                log.info("job %d is not planned on Spark: %s", job, self._view.reason)

    def _look(self) -> bool:
        reason = self._obstacle()
        state = SparkState.READY if reason is None else SparkState.MISSING
        self._view = Spark(state, reason or "", self._least)
        return reason is None

    def _next(self) -> int | None:
        """The oldest large job that was not looked at yet. Jobs do not grow once they are accepted."""
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
        handed: list[Handed] = []
        try:
            forecast, waves = handover.read_answer(BytesIO(await self._ask(self._request(job, handed))))
            ordered = await self._reorder(job, zip(handed, waves, strict=True))
        except (HelperError, PlanError) as error:
            self._show(SparkState.FAILED, job, len(handed))
            self._view = replace(self._view, reason=str(error))
            log.warning("job %d goes on in its own order: Spark failed: %s", job, error)
            return
        self._show(SparkState.ORDERED, job, ordered)
        self._view = replace(self._view, forecast=msgspec.convert(forecast, Forecast))
        log.info("job %d: %d partitions in Spark's order, %d waves", job, ordered, forecast["waves"])

    def _show(self, state: SparkState, job: int, partitions: int) -> None:
        self._view = Spark(state, "", self._least, job, partitions, self._now_ms())

    async def _request(self, job: int, handed: list[Handed]) -> AsyncIterator[bytes]:
        """The job as it is, read while the state changes; `handed` gets what was described."""
        state = self._state
        yield handover.head(state.backlog.usage.limits, self._facts.bandwidth(), state.live)
        keys = await self._off_loop.run(_keys, state, job)
        for start in range(0, len(keys), ROWS_READ):
            moves = await self._off_loop.run(_moves, state, keys[start : start + ROWS_READ], self._facts.size)
            handed += [(TopicPartition(move.topic, move.partition), move.current) for move in moves]
            yield await self._off_loop.run(handover.rows, moves)
        yield handover.END

    async def _reorder(self, job: int, planned: Iterator[tuple[Handed, list[int]]]) -> int:
        """In small events, so that others are decided in between."""
        ordered = 0
        while batch := list(islice(planned, ROWS_ORDERED)):
            rows = [
                row for handed, waves in batch if (row := _to_come(self._state, handed, waves)) is not None
            ]
            ordered += await self._controller.submit(Reorder(job, rows))
            await asyncio.sleep(0)
        return ordered


def _to_come(state: State, handed: Handed, waves: list[int]) -> PlannedSteps | None:
    """The waves of the steps that the partition still has before it; those that it took meanwhile came first."""
    key, replicas = handed
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
    """Those that are still on their way, from their last completed step on."""
    moves = []
    for key in keys:
        wanted, partition = state.reassignments.get(key), state.partition(*key)
        if wanted is not None and partition is not None:
            current, min_isr = partition.current, state.min_isr(key.topic)
            isr = tuple(r for r in partition.isr if r in current)
            moves.append(Move(*key, current, wanted.target, isr, partition.leader, min_isr, size(key) or 0))
    return moves
