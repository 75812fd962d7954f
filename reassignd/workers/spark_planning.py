"""Plan large jobs with Spark in the background, for a better order of their steps and a forecast.

A job starts immediately, in the order of the controller. When Spark has finished, the controller gets the
remaining steps: it starts them in Spark's order, and counts those for which its own step rule gives another
list. Planning is optional: if Spark is not installed or fails, the job continues in the order of the
controller.
"""

import asyncio
import logging
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator, Sequence
from io import BytesIO
from itertools import islice
from typing import NamedTuple, Protocol

import msgspec
from msgspec.structs import replace

from common.clock import wall_clock
from common.off_loop import WorkerThread
from common.plan_errors import PlanError
from common.wording import counted
from controller.messages.job_events import PlannedSteps, Reorder
from controller.model.cluster import Replicas, TopicPartition
from controller.model.jobs import JobKind, PlannedStep
from controller.model.limits import PlanLimits
from controller.ports import Submitter
from controller.state.state import State
from planner import handover
from planner.model.step_table import Move
from reassignd.workers.processes import HelperError
from server.api.shared.spark import BegunSteps, Forecast, Spark, SparkState
from server.driver.driver import DriverStoppedError

log = logging.getLogger(__name__)

PERIOD_SECONDS = 1.0
ROWS_READ = 5_000
"""Partitions that are read at once outside of the event loop, which takes tens of milliseconds."""
ROWS_ORDERED = 250
"""Partitions in one `Reorder` event, which takes one or two milliseconds to decide."""

IDLE_SECONDS = 600.0
"""Time without a large job after which Spark is ended, unless it is kept warm. Its JVM takes about a
gigabyte."""


class Requested(NamedTuple):
    """A partition with its replicas and its target at the time of the request."""

    key: TopicPartition
    replicas: Replicas
    target: Replicas


Size = Callable[[TopicPartition], int | None]


class Planner(Protocol):
    """The worker process. `planner.handover` has the format of requests and answers."""

    async def ask(self, request: AsyncIterable[bytes]) -> bytes:
        """Start it if it does not run, send a request, and return its answer. Raises HelperError."""

    async def stop(self) -> None:
        """End it if it runs."""


class ClusterRates(NamedTuple):
    """Input of a forecast that is not in the controller's state.

    It consists of the bytes of a replica, and of bytes per second and broker.
    """

    size: Size
    bandwidth: Callable[[], int]


class SparkUse(NamedTuple):
    """Jobs of at least `min_partitions` are planned on Spark; 0 for none.

    With `warm`, Spark starts with the server and stays.
    """

    min_partitions: int
    warm: bool = False


class SparkPlanning:
    """Plans large jobs, one after the other. `obstacle` returns the line about a missing package, or None."""

    def __init__(
        self,
        state: State,
        controller: Submitter,
        off_loop: WorkerThread,
        facts: ClusterRates,
        planner: Planner,
        obstacle: Callable[[], str | None],
        use: SparkUse,
        now_ms: Callable[[], int] = wall_clock,
    ) -> None:
        self._state = state
        self._controller = controller
        self._off_loop = off_loop
        self._facts = facts
        self._planner = planner
        self._obstacle = obstacle
        self._least, self._warm = use
        self._now_ms = now_ms
        self._seen = 0
        self._view = Spark(min_partitions=self._least)
        if self._least:
            self._check_spark()

    def view(self) -> Spark:
        """The state of the planner, for `/v1/status`."""
        return replace(self._view, steps=BegunSteps(*self._state.backlog.planned.counts))

    async def run(self, period_seconds: float = PERIOD_SECONDS) -> None:
        """Plan large jobs as they appear, until the controller stops.

        Returns immediately if planning is disabled.
        """
        try:
            if self._warm and self._least and self._check_spark():
                await self._warm_up()
            await self._serve(period_seconds)
        except DriverStoppedError:
            return
        finally:
            await self._planner.stop()

    async def _serve(self, period_seconds: float) -> None:
        idle = 0.0
        while self._least:
            job = self._next()
            if job is None:
                await asyncio.sleep(period_seconds)
                idle += period_seconds
                if idle >= IDLE_SECONDS and not self._warm:
                    await self._planner.stop()
                continue
            if self._check_spark():
                await self._plan(job)
            else:
                log.info("job %d is not planned on Spark: %s", job, self._view.reason)
            idle = 0.0

    async def _warm_up(self) -> None:
        self._view = replace(self._view, state=SparkState.STARTING)
        try:
            handover.read_answer(BytesIO(await self._planner.ask(_nothing())))
        except (HelperError, PlanError) as error:
            log.warning("Spark does not start, and is tried again with the first large job: %s", error)
        self._view = replace(self._view, state=SparkState.READY)

    def _check_spark(self) -> bool:
        reason = self._obstacle()
        state = SparkState.READY if reason is None else SparkState.MISSING
        self._view = Spark(state, reason or "", self._least)
        return reason is None

    def _next(self) -> int | None:
        """Return the oldest large job that was not examined yet. Accepted jobs do not grow."""
        state = self._state
        for number in sorted(state.orders.open):
            job = state.orders.jobs.get(number)
            if number <= self._seen or job is None:
                continue
            if not job.total:
                return None
            self._seen = number
            if state.orders.open[number] >= self._least and job.kind is not JobKind.DISKS:
                return number
        return None

    async def _plan(self, job: int) -> None:
        self._show(SparkState.WORKING, job, self._state.orders.open.get(job, 0))
        requested: list[Requested] = []
        try:
            forecast, steps = handover.read_answer(
                BytesIO(await self._planner.ask(self._request(job, requested)))
            )
            ordered = await self._reorder(job, zip(requested, steps, strict=True))
        except (HelperError, PlanError) as error:
            await self._planner.stop()  # The session may be unusable.
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
        """Yield the request for a job, read while the state changes.

        The partitions are appended to `requested`.
        """
        state = self._state
        limits = state.backlog.usage.limits.lower(state.orders.jobs[job].limits)
        yield handover.head(limits, self._facts.bandwidth(), state.cluster.live)
        keys = await self._off_loop.run(_keys, state, job)
        for start in range(0, len(keys), ROWS_READ):
            moves = await self._off_loop.run(_moves, state, keys[start : start + ROWS_READ], self._facts.size)
            requested += [
                Requested(TopicPartition(move.topic, move.partition), move.current, move.target)
                for move in moves
            ]
            yield await self._off_loop.run(handover.rows, moves)
        yield handover.END

    async def _reorder(self, job: int, planned: Iterator[tuple[Requested, list[PlannedStep]]]) -> int:
        """Submit the steps in small events, so that other events are processed in between."""
        ordered = 0
        while batch := list(islice(planned, ROWS_ORDERED)):
            rows = [
                row
                for requested, steps in batch
                if (row := _remaining(self._state, requested, steps)) is not None
            ]
            ordered += await self._controller.submit(Reorder(job, rows))
            await asyncio.sleep(0)
        return ordered


async def _nothing() -> AsyncIterator[bytes]:
    """Yield a request without moves. Its answer shows that the session is open."""
    yield handover.head(PlanLimits(), 1, ())
    yield handover.END


def _remaining(state: State, requested: Requested, steps: list[PlannedStep]) -> PlannedSteps | None:
    """Return the partition's steps that have not begun.

    The result is None if there are none, or if the partition has left the plan.
    """
    key, replicas, target = requested
    wanted, partition = state.orders.reassignments.get(key), state.cluster.partition(*key)
    if wanted is None or partition is None or wanted.target != target:
        return None
    if partition.next != replicas:
        begun = (number for number, step in enumerate(steps, 1) if step.replicas == partition.next)
        steps = steps[next(begun, len(steps)) :]
    return PlannedSteps(key, partition.next, steps) if steps else None


def _keys(state: State, job: int) -> list[TopicPartition]:
    return [wanted.key for wanted in list(state.orders.reassignments.values()) if wanted.job == job]


def _moves(state: State, keys: Sequence[TopicPartition], size: Size) -> list[Move]:
    """Return the moves of partitions that have not reached their target, from their last completed step."""
    moves = []
    for key in keys:
        wanted, partition = state.orders.reassignments.get(key), state.cluster.partition(*key)
        if wanted is not None and partition is not None:
            current, min_isr = wanted.current_of(partition), state.settings.min_isr(key.topic)
            isr = tuple(r for r in partition.isr if r in current)
            numbers = (partition.leader, min_isr, size(key) or 0)
            moves.append(Move(*key, current, wanted.target, isr, *numbers, wanted.original))
    return moves
