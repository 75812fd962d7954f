"""Planning of large jobs, with a test double for Spark."""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import AsyncIterable, Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from common.off_loop import WorkerThread
from controller.messages.event import AnyEvent
from controller.messages.events import AlterReassignments
from controller.messages.job_events import AlterRow, AlterTopic
from controller.model.cluster import Job, JobKind, Reassignment, Replicas
from planner import handover
from planner.model.step_table import schedule
from reassignd.workers import spark_planning
from reassignd.workers.processes import HelperError
from reassignd.workers.spark_planning import ClusterRates, SparkPlanning, SparkUse
from server.api.shared.spark import BegunSteps, SparkState
from server.driver.driver import DriverStoppedError
from tests.builders import InMemoryController, key, partition
from tests.reassignd.shell import SLOW, Shell, started

RATES = ClusterRates(lambda _: 100, lambda: 50)


class Spark:
    """Plans inline, once it has read all and `meanwhile` has happened."""

    def __init__(self, meanwhile: Callable[[], object] = lambda: None) -> None:
        self.requests: list[handover.Request] = []
        self.calls: list[str] = []
        self.failure = ""
        self.meanwhile = meanwhile

    async def stop(self) -> None:
        self.calls.append("stop")

    async def ask(self, request: AsyncIterable[bytes]) -> bytes:
        text = "".join([piece.decode() async for piece in request])
        if self.failure:
            raise HelperError(self.failure)
        read = handover.read_request(iter(StringIO(text)))
        assert read is not None
        self.calls.append("ask")
        if read.moves:
            self.requests.append(read)
            self.meanwhile()
        return "".join(handover.answer(read, schedule)).encode()


class RecordingController:
    """Decides at once, and records the events."""

    def __init__(self, cluster: InMemoryController) -> None:
        self.cluster = cluster
        self.events: list[AnyEvent] = []
        self.stopped = False

    async def submit(self, event: AnyEvent) -> Any:
        if self.stopped:
            raise DriverStoppedError("stopped")
        self.events.append(event)
        return self.cluster.do(event).reply


class Case:
    """A cluster with topics of twenty partitions, and the planner on it."""

    def __init__(self, least: int = 10, missing: str | None = None, warm: bool = False) -> None:
        self.cluster = InMemoryController().with_limits(partitions=2, per_partition=1)
        self.controller = RecordingController(self.cluster)
        self.spark = Spark()
        self.missing = missing
        self.planning = SparkPlanning(
            self.cluster.state,
            self.controller,
            WorkerThread(),
            RATES,
            self.spark,
            lambda: self.missing,
            SparkUse(least, warm),
            lambda: 7,
        )

    def submit(self, topic: str = "foo", count: int = 20, target: Replicas = (1, 4, 3)) -> None:
        self.cluster.with_partitions(*(partition(f"{topic}-{n}", [1, 2, 3]) for n in range(count)))
        rows = [AlterRow(n, target) for n in range(count)]
        self.cluster.do(AlterReassignments([AlterTopic(topic, rows)]))

    async def served(self, condition: Callable[[], bool] = lambda: True) -> None:
        """Run the planner until it is idle and the condition holds."""
        task = asyncio.create_task(self.planning.run(0.0))
        async with asyncio.timeout(30):
            for _ in range(50):
                await asyncio.sleep(0)
            while not condition() or self.planning.view().state is SparkState.WORKING:
                await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    def in_state(self, state: SparkState) -> Callable[[], bool]:
        return lambda: self.planning.view().state is state


async def test_a_large_job_is_put_in_order_and_forecast() -> None:
    case = Case()
    case.submit()
    await case.served(case.in_state(SparkState.ORDERED))
    view = case.planning.view()
    assert (view.job, view.partitions, view.since_ms) == (1, 18, 7)
    assert view.forecast is not None
    assert (view.forecast.partitions, view.forecast.bytes) == (20, 2000)
    assert set(case.cluster.state.backlog.planned) == {key(f"foo-{n}") for n in range(2, 20)}


async def test_steps_that_the_core_gives_too_are_counted_as_the_same() -> None:
    case = Case()
    case.submit(target=(1, 4, 5))
    await case.served(case.in_state(SparkState.ORDERED))
    case.cluster.settle()
    assert case.cluster.state.orders.reassignments == {}
    assert case.planning.view().steps == BegunSteps(same=38)


async def test_steps_under_another_limit_differ_and_the_core_plans_the_rest() -> None:
    case = Case()
    case.submit(target=(4, 5, 6))
    await case.served(case.in_state(SparkState.ORDERED))
    case.cluster.with_limits(partitions=2, per_partition=2)
    case.cluster.settle()
    steps = case.planning.view().steps
    assert steps.differs > 0
    assert steps.replanned > 0
    assert {tuple(each.replicas) for each in case.cluster.state.cluster.all_partitions()} == {(4, 5, 6)}


async def test_a_partition_with_a_new_target_leaves_its_plan() -> None:
    case = Case()
    case.spark.meanwhile = lambda: case.cluster.alter({"foo-5": (1, 5, 3)})
    case.submit()
    await case.served(case.in_state(SparkState.ORDERED))
    planned = set(case.cluster.state.backlog.planned)
    assert planned == {key(f"foo-{n}") for n in range(2, 20)} - {key("foo-5")}


async def test_spark_is_started_for_the_first_large_job_and_ends_with_the_server() -> None:
    case = Case()
    await case.served()
    assert case.spark.calls == ["stop"]
    case.submit()
    await case.served(case.in_state(SparkState.ORDERED))
    assert case.spark.calls == ["stop", "ask", "stop"]


async def test_it_is_started_with_the_server_if_it_is_to_be_warm() -> None:
    case = Case(warm=True)
    await case.served(lambda: "ask" in case.spark.calls)
    assert case.spark.requests == []


async def test_a_session_that_does_not_open_is_tried_again_for_the_first_large_job() -> None:
    case = Case(warm=True)
    case.spark.failure = "no memory"
    await case.served(case.in_state(SparkState.READY))
    case.spark.failure = ""
    case.submit()
    await case.served(case.in_state(SparkState.ORDERED))


async def test_it_ends_when_no_large_job_comes_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_planning, "IDLE_SECONDS", 0.0)
    case = Case()
    await case.served(lambda: case.spark.calls.count("stop") > 1)


async def test_a_small_job_is_not() -> None:
    case = Case()
    case.submit(count=9)
    await case.served()
    assert (case.spark.requests, case.planning.view().state) == ([], SparkState.READY)


async def test_each_large_job_is_handed_over_once() -> None:
    case = Case()
    case.submit("foo")
    case.submit("bar")
    await case.served(lambda: case.planning.view().job == 2)
    await case.served()
    assert [request.moves[0].topic for request in case.spark.requests] == ["foo", "bar"]


async def test_a_job_that_is_still_being_accepted_is_left_until_it_is() -> None:
    case = Case()
    case.cluster.with_partitions(*(partition(f"foo-{n}", [1, 2, 3]) for n in range(10)))
    job = Job(1, JobKind.PLAN, 1, "User:ann", None)
    case.cluster.put(job, *(Reassignment("foo", n, (1, 2, 3), (4, 5, 6), 1) for n in range(10)))
    await case.served()
    assert case.spark.requests == []
    case.cluster.put(job._replace(total=10))
    await case.served(case.in_state(SparkState.ORDERED))


async def test_steps_that_started_meanwhile_are_not_reordered() -> None:
    case = Case()
    case.spark.meanwhile = case.cluster.catch_up
    case.submit(target=(1, 4, 5))
    assert case.cluster.in_flight() == ["foo-0", "foo-1"]
    await case.served(case.in_state(SparkState.ORDERED))
    state = case.cluster.state
    left = Counter(len({4, 5} - {*partition.next}) for partition in state.cluster.all_partitions())
    assert left[1] > 0
    planned = state.backlog.planned
    assert Counter(len(planned.steps_of(each)) for each in planned) == Counter({1: left[1], 2: left[2]})


async def test_partitions_that_ended_meanwhile_are_skipped() -> None:
    case = Case()
    case.spark.meanwhile = case.cluster.settle
    case.submit()
    await case.served(case.in_state(SparkState.ORDERED))
    assert (case.planning.view().partitions, list(case.cluster.state.backlog.planned)) == (0, [])


async def test_a_missing_package_is_shown_and_jobs_continue() -> None:
    case = Case(missing="install it")
    case.submit()
    await case.served()
    view = case.planning.view()
    assert (view.state, view.reason) == (SparkState.MISSING, "install it")
    case.cluster.settle()
    assert case.cluster.state.orders.reassignments == {}


async def test_a_missing_package_may_be_installed_later() -> None:
    case = Case(missing="install it")
    case.missing = None
    case.submit()
    await case.served(case.in_state(SparkState.ORDERED))


async def test_a_failure_is_shown_and_the_next_job_is_planned() -> None:
    case = Case()
    case.spark.failure = "exit code 1: no memory"
    case.submit("foo")
    await case.served(case.in_state(SparkState.FAILED))
    assert case.planning.view().reason == "exit code 1: no memory"
    case.spark.failure = ""
    case.submit("bar")
    await case.served(case.in_state(SparkState.ORDERED))


async def test_with_a_least_of_zero_it_is_off() -> None:
    case = Case(least=0)
    case.submit()
    await asyncio.wait_for(case.planning.run(), 30)
    assert (case.planning.view().state, case.spark.requests) == (SparkState.OFF, [])


async def test_it_ends_with_the_controller() -> None:
    case = Case()
    case.submit()
    case.controller.stopped = True
    await asyncio.wait_for(case.planning.run(0.0), 30)


async def test_an_order_is_submitted_in_several_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_planning, "ROWS_ORDERED", 6)
    monkeypatch.setattr(spark_planning, "ROWS_READ", 7)
    case = Case()
    case.submit()
    await case.served(case.in_state(SparkState.ORDERED))
    assert (len(case.controller.events), case.planning.view().partitions) == (4, 18)


@pytest.mark.spark
@pytest.mark.timeout(600)
def test_a_running_server_starts_the_steps_of_a_real_spark(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    crawling = {**SLOW, "embedded.network.bytes.per.second": "20000"}
    spark_settings = {"min.partitions": "200", "master": "local[2]", "warm": "true"}
    server = started(
        tmp_path, {**crawling, **{f"planner.spark.{name}": value for name, value in spark_settings.items()}}
    )
    try:
        shell = Shell(server, tmp_path, capsys)
        deadline = time.monotonic() + 500
        while "Spark     ready for jobs of 200 partitions or more" not in shell.ok("status"):
            assert time.monotonic() < deadline, server.log
            time.sleep(0.5)
        shell.ok("limits", "R=1", "P=10", "B=4")
        shell.execute(range(200))
        while (spark := shell.json("status")["spark"])["state"] in {"ready", "working"}:
            assert time.monotonic() < deadline, spark
            time.sleep(0.5)
        assert (spark["state"], spark["job"], spark["forecast"]["steps"]) == ("ordered", 1, 800)
        assert spark["partitions"] > 100
        shell.ok("limits", "P=400", "B=100")
        assert (await_steps := shell.json("status")["spark"]["steps"])["same"] > 0, await_steps
        assert "planned on Spark: " in shell.ok("status")
        assert server.stop() == 0
    finally:
        server.kill()
