"""The driver decides one event at a time.

Effects and answers follow the commit, in the order of decisions.
"""

import asyncio
import gc
from collections.abc import AsyncIterator, Iterator

import pytest

from backends.memory import MemoryStore
from common.clock import wall_clock
from common.tasks import POLL_SECONDS
from controller.messages.effects import BrokerLeft
from controller.messages.event import AnyEvent
from controller.messages.events import BrokerStopped, PeriodChanged, RebalanceLeaders
from controller.model.cluster import ControllerEpoch
from controller.modes import EMBEDDED
from controller.ports import StoreLostError
from controller.state.state import Decision, State
from server.driver.driver import Driver, DriverStoppedError
from tests.server.rig import Rig, settle


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    rig = Rig()
    async with rig.running():
        yield rig


async def test_an_event_is_decided_performed_and_answered(rig: Rig) -> None:
    assert await rig.submit(7) == 7
    assert rig.log == [BrokerLeft(7)]
    assert list(rig.store.load()) == [ControllerEpoch(7)]


async def test_the_queue_of_an_idle_driver_is_empty(rig: Rig) -> None:
    await rig.submit(7)
    assert rig.driver.queue_length == 0


async def test_no_effect_or_answer_precedes_the_commit(rig: Rig) -> None:
    rig.store.hold()
    reply = rig.submit(7)
    await settle()
    assert not reply.done()
    assert rig.log == []
    rig.store.release(1)
    assert await reply == 7


async def test_the_next_event_is_decided_while_the_last_commit_runs(rig: Rig) -> None:
    rig.store.hold()
    replies = [rig.submit(1), rig.submit(2)]
    await settle()
    assert rig.state.cluster.controller_epoch == 2
    rig.store.release(2)
    assert await asyncio.gather(*replies) == [1, 2]
    assert rig.log == [BrokerLeft(1), BrokerLeft(2)]


async def test_answers_keep_the_order_of_decisions(rig: Rig) -> None:
    rig.store.hold()
    replies = [rig.submit(number) for number in (1, 2, 3)]
    await settle()
    rig.store.release(1)
    await settle()
    assert [reply.done() for reply in replies] == [True, False, False]
    rig.store.release(2)
    await asyncio.gather(*replies)


async def test_a_decision_without_changes_waits_for_earlier_commits(rig: Rig) -> None:
    rig.store.hold()
    first = rig.submit(5)
    await settle()
    rig.decide = rig.look
    second = rig.submit(0)
    await settle()
    assert not second.done()
    rig.store.release(1)
    assert (await first, await second) == (5, 5)


async def test_a_decision_without_changes_does_not_use_the_store(rig: Rig) -> None:
    rig.decide = rig.look
    assert await rig.submit(0) == 0
    assert rig.store.commits == []


async def test_other_tasks_run_between_the_slices_of_a_decision(rig: Rig) -> None:
    seen: list[int] = []

    def sliced(decision: Decision, _: AnyEvent) -> Iterator[None]:
        for number in range(3):
            decision.put(ControllerEpoch(number))
            yield
        decision.reply = "whole"

    async def watch() -> None:
        for _ in range(6):
            seen.append(rig.state.cluster.controller_epoch)
            await asyncio.sleep(0)

    rig.decide = sliced
    watching = asyncio.create_task(watch())
    assert await rig.submit(0) == "whole"
    await watching
    assert {0, 1, 2} <= set(seen)
    assert len(rig.store.commits) == 1


async def test_the_store_may_write_the_changes_of_earlier_slices(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared: list[int] = []
    monkeypatch.setattr(rig.store, "prepare", lambda changes: prepared.append(len(changes)))

    def sliced(decision: Decision, _: AnyEvent) -> Iterator[None]:
        for number in range(3):
            decision.put(ControllerEpoch(number))
            yield

    rig.decide = sliced
    await rig.submit(0)
    assert prepared == [1, 2, 3]


async def test_no_garbage_is_searched_for_during_a_decision_in_slices(rig: Rig) -> None:
    enabled: list[bool] = []

    def sliced(_decision: Decision, _event: AnyEvent) -> Iterator[None]:
        for _ in range(2):
            yield
            enabled.append(gc.isenabled())
        raise KeyError

    rig.decide = sliced
    with pytest.raises(DriverStoppedError):
        await rig.submit(0)
    assert (enabled, gc.isenabled()) == ([False, False], True)


async def test_no_event_is_decided_between_the_slices_of_another(rig: Rig) -> None:
    order: list[int] = []

    def sliced(_: Decision, event: AnyEvent) -> Iterator[None]:
        assert isinstance(event, BrokerStopped)
        order.append(event.broker)
        yield
        order.append(event.broker)

    rig.decide = sliced
    await asyncio.gather(rig.submit(1), rig.submit(2))
    assert order == [1, 1, 2, 2]


async def test_a_failed_commit_stops_the_driver_and_fails_all_waiting_events(rig: Rig) -> None:
    rig.store.hold()
    first = rig.submit(1)
    await settle()
    rig.store.failure = OSError("disk full")
    second = rig.submit(2)
    await settle()
    rig.store.release(1)
    assert await first == 1
    with pytest.raises(DriverStoppedError):
        await second
    assert [str(failure) for failure in rig.failures] == ["disk full"]


@pytest.mark.parametrize(
    ("failure", "lines"), [(OSError("disk full"), 1), (StoreLostError("no ZooKeeper"), 0)]
)
async def test_a_lost_store_is_not_logged_as_an_error_of_the_driver(
    rig: Rig, failure: Exception, lines: int, caplog: pytest.LogCaptureFixture
) -> None:
    rig.store.failure = failure
    with pytest.raises(DriverStoppedError):
        await rig.submit(1)
    assert rig.failures == [failure]
    assert [record.levelname for record in caplog.records] == ["ERROR"] * lines


async def test_after_a_failed_commit_no_later_effect_is_performed(rig: Rig) -> None:
    rig.store.failure = OSError("disk full")
    replies = [rig.submit(1), rig.submit(2)]
    results = await asyncio.gather(*replies, return_exceptions=True)
    assert all(isinstance(result, DriverStoppedError) for result in results)
    assert rig.log == []
    with pytest.raises(DriverStoppedError):
        await rig.submit(3)


async def test_an_exception_in_a_decision_stops_the_driver(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(decision: Decision, _: AnyEvent) -> None:
        decision.put(ControllerEpoch(9))
        raise KeyError("lost")

    rig.decide = broken
    with pytest.raises(DriverStoppedError):
        await rig.submit(1)
    assert rig.store.commits == []
    assert isinstance(rig.failures[0], KeyError)
    assert "while deciding on BrokerStopped" in caplog.text


async def test_an_exception_in_the_backend_stops_the_driver(rig: Rig) -> None:
    rig.backend_failure = RuntimeError("no such broker")
    assert await rig.submit(1) == 1
    await settle()
    assert rig.failures == [rig.backend_failure]
    with pytest.raises(DriverStoppedError):
        await rig.submit(2)


@pytest.mark.parametrize("change", [True, False])
async def test_many_effects_are_passed_to_the_backend_in_slices(rig: Rig, change: bool) -> None:
    def large(decision: Decision, _: AnyEvent) -> None:
        if change:
            decision.put(ControllerEpoch(1))
        decision.effects = [BrokerLeft(number) for number in range(2500)]

    async def watch() -> None:
        while len(rig.log) < 2500:
            seen.add(len(rig.log))
            await asyncio.sleep(0)

    seen: set[int] = set()
    rig.decide = large
    watching = asyncio.create_task(watch())
    await rig.submit(0)
    await asyncio.wait_for(watching, 30)
    assert {1000, 2000} <= seen
    assert rig.log == [BrokerLeft(number) for number in range(2500)]


async def test_the_effects_of_a_large_decision_wait_for_the_worker_thread() -> None:
    def large(decision: Decision, _: AnyEvent) -> None:
        decision.effects = [BrokerLeft(number) for number in range(2500)]

    encoding = True
    rig = Rig()
    rig.decide = large
    async with rig.running(lambda: encoding):
        await rig.submit(0)
        await asyncio.sleep(3 * POLL_SECONDS)
        assert rig.log == []
        encoding = False
    assert len(rig.log) == 2500


async def test_the_driver_is_busy_until_a_decision_in_slices_is_durable(rig: Rig) -> None:
    def sliced(decision: Decision, _: AnyEvent) -> Iterator[None]:
        yield
        decision.put(ControllerEpoch(1))

    rig.decide = sliced
    rig.store.hold()
    reply = rig.submit(0)
    await settle()
    assert rig.driver.is_busy
    rig.store.release(1)
    await reply
    assert not rig.driver.is_busy


async def test_stop_completes_all_submitted_events() -> None:
    rig = Rig()
    async with rig.running():
        rig.store.hold()
        replies = [rig.submit(number) for number in (1, 2)]
        await settle()
        stopping = asyncio.create_task(rig.driver.stop())
        await settle()
        rig.store.release(2)
        await stopping
        assert await asyncio.gather(*replies) == [1, 2]
        with pytest.raises(DriverStoppedError):
            await rig.submit(3)


async def test_a_driver_that_never_started_stops_at_once() -> None:
    await asyncio.wait_for(Rig().driver.stop(), 30)


async def test_a_cancelled_waiter_does_not_affect_other_events(rig: Rig) -> None:
    rig.store.hold()
    first, second = rig.submit(1), rig.submit(2)
    await settle()
    first.cancel()
    await settle()
    rig.store.release(2)
    assert await second == 2
    assert rig.log == [BrokerLeft(1), BrokerLeft(2)]


async def test_the_number_of_waiting_events_is_limited() -> None:
    rig = Rig()
    rig.driver = rig.make(capacity=2)
    async with rig.running():
        rig.store.hold()
        replies = [rig.submit(number) for number in (1, 2, 3)]
        await settle()
        assert rig.state.cluster.controller_epoch == 2
        rig.store.release(2)
        await settle()
        assert rig.state.cluster.controller_epoch == 3
        rig.store.release(1)
        await asyncio.gather(*replies)


@pytest.mark.parametrize("survived", range(4))
async def test_a_crash_loses_nothing_that_was_acknowledged(survived: int) -> None:
    rig = Rig()
    async with rig.running():
        rig.store.hold()
        replies = [rig.submit(number) for number in (1, 2, 3)]
        await settle()
        rig.store.release(survived)
        await settle()
        acknowledged = [reply.result() for reply in replies if reply.done()]
        after = State(mode=EMBEDDED)
        after.apply(MemoryStore(rig.store.commits[:survived]).load())
        assert after.cluster.controller_epoch == max(acknowledged, default=0)
        assert rig.log == [BrokerLeft(number) for number in acknowledged]


async def test_decisions_and_commits_are_counted(rig: Rig) -> None:
    await rig.submit(1)
    first = rig.stats.decision_seconds["BrokerStopped"], rig.stats.commit_seconds
    await rig.submit(2)
    assert rig.stats.decisions == {"BrokerStopped": 2}
    assert (rig.stats.commits, rig.stats.committed_changes) == (2, 2)
    assert 0 < first[0] < rig.stats.decision_seconds["BrokerStopped"]
    assert 0 < first[1] < rig.stats.commit_seconds


async def test_decisions_have_the_current_time(rig: Rig) -> None:
    dates: list[int] = []

    def note(decision: Decision, _: AnyEvent) -> None:
        dates.append(decision.now_ms)

    rig.decide = note
    await rig.submit(1)
    assert abs(dates[0] - wall_clock()) < 60_000


async def test_the_clock_is_a_parameter() -> None:
    rig = Rig()
    driver = Driver(
        rig.state,
        rig.store,
        lambda decision, _: setattr(decision, "reply", decision.now_ms),
        stats=rig.stats,
        on_failure=rig.failures.append,
        now_ns=lambda: 42_999_999,
    )
    driver.start(rig)
    assert await driver.submit(RebalanceLeaders(1)) == 42
    await driver.stop()


async def test_the_controller_is_woken_at_the_time_that_it_asked_for(rig: Rig) -> None:
    def ask_once(decision: Decision, event: AnyEvent) -> None:
        if not isinstance(event, PeriodChanged):
            decision.wake_at_ms = wall_clock() + 5

    rig.decide = ask_once
    await rig.submit(1)
    while PeriodChanged() not in [event for event, _ in rig.decided]:
        await asyncio.sleep(0.001)
    assert rig.log == []
    assert rig.decided[-1][1] is None


async def test_a_stopped_driver_is_not_woken(rig: Rig) -> None:
    rig.decide = lambda decision, _: setattr(decision, "wake_at_ms", wall_clock() + 5)
    await rig.submit(1)
    await rig.driver.stop()
    await asyncio.sleep(0.02)
    assert rig.driver.queue_length == 0
