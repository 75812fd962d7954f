import asyncio
import errno
from pathlib import Path
from typing import Any

import pytest

from backends.client.errors import RequestLostError
from backends.upstream.applied_throttles import AppliedThrottles
from backends.upstream.throttler import CHECK_SECONDS, PATIENCE_SECONDS, RETRY_SECONDS, Throttler
from common.clock import ManualClock, settle
from common.tasks import cancel
from controller.configs.names import FOLLOWER_REPLICAS, LEADER_REPLICAS, RATES
from controller.model.cluster import Broker, Deleted
from controller.reassignment.throttle import Throttle
from controller.state.state import State
from protocol.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from tests.backends.upstream.configured import Configured

NOTHING = Throttle(None, (), {}, {})
FOO = Throttle(5, (1, 2), {"foo": ["0:1"]}, {"foo": ["0:2"]})
SET = dict.fromkeys(RATES, "5")


class Rig:
    def __init__(self, directory: Path, upstream: Configured | None = None) -> None:
        self.directory = directory
        self.upstream = upstream or Configured()
        self.clock, self.state = ManualClock(), State()
        for broker in self.upstream.brokers:
            self.state.put(Broker(broker, "localhost", 9000 + broker, None, 0))
            self.state.live.add(broker)
        self.ledger = AppliedThrottles(directory)
        self.throttler = Throttler(self.upstream, self.state, self.ledger, self.clock)

    def again(self) -> "Rig":
        """Another process on the same directory."""
        return Rig(self.directory, self.upstream)

    def alterations(self) -> list[IncrementalAlterConfigsRequest]:
        return self.upstream.requests(IncrementalAlterConfigsRequest)


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


def too_many_files(_ledger: AppliedThrottles, _text: str) -> None:
    raise OSError(errno.EMFILE, "Too many open files")


def assert_clean(rig: Rig) -> None:
    assert {c: v for values in rig.upstream.values.values() for c, v in values.items()} == {}
    assert AppliedThrottles(rig.directory).empty


async def test_a_throttle_is_set_and_taken_off_again(rig: Rig) -> None:
    assert await rig.throttler.apply(FOO)
    assert rig.upstream.topic("foo") == {LEADER_REPLICAS: "0:1", FOLLOWER_REPLICAS: "0:2"}
    assert rig.upstream.broker(1) == rig.upstream.broker(2) == SET
    assert await rig.throttler.apply(NOTHING)
    assert_clean(rig)


async def test_what_cannot_be_written_down_is_not_set_before_it_can(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with monkeypatch.context() as full:
        full.setattr(AppliedThrottles, "write", too_many_files)
        assert not await rig.throttler.apply(FOO)
        assert rig.alterations() == []
        assert not await rig.throttler.apply(FOO)
        assert caplog.text.count("Too many open files") == 1
    assert await rig.throttler.apply(FOO)
    assert rig.upstream.topic("foo") == {LEADER_REPLICAS: "0:1", FOLLOWER_REPLICAS: "0:2"}
    assert AppliedThrottles(rig.directory).brokers == rig.ledger.brokers


async def test_what_was_taken_off_is_written_down_as_soon_as_it_can(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    await rig.throttler.apply(FOO)
    with monkeypatch.context() as full:
        full.setattr(AppliedThrottles, "write", too_many_files)
        assert not await rig.throttler.apply(NOTHING)
    assert not AppliedThrottles(rig.directory).empty
    assert await rig.throttler.apply(NOTHING)
    assert_clean(rig)


async def test_what_is_set_already_is_not_sent_again(rig: Rig) -> None:
    await rig.throttler.apply(FOO)
    asked = len(rig.upstream.asked)
    assert await rig.throttler.apply(FOO)
    assert len(rig.upstream.asked) == asked


async def test_entries_of_others_stay_in_the_lists(rig: Rig) -> None:
    rig.upstream.topic("foo")[LEADER_REPLICAS] = "7:8"
    await rig.throttler.apply(FOO)
    assert rig.upstream.topic("foo")[LEADER_REPLICAS] == "7:8,0:1"
    await rig.throttler.apply(FOO._replace(leaders={"foo": ["1:1"]}))
    assert rig.upstream.topic("foo")[LEADER_REPLICAS] == "7:8,1:1"
    await rig.throttler.apply(NOTHING)
    assert rig.upstream.topic("foo")[LEADER_REPLICAS] == "7:8"


async def test_an_entry_that_others_had_set_before_is_theirs(rig: Rig) -> None:
    rig.upstream.topic("foo")[LEADER_REPLICAS] = "0:1"
    await rig.throttler.apply(FOO)
    await rig.throttler.apply(NOTHING)
    assert rig.upstream.topic("foo") == {LEADER_REPLICAS: "0:1"}


async def test_a_list_of_all_replicas_stays_so(rig: Rig) -> None:
    rig.upstream.topic("foo")[LEADER_REPLICAS] = "*"
    assert await rig.throttler.apply(FOO)
    assert await rig.throttler.apply(NOTHING)
    assert rig.upstream.topic("foo")[LEADER_REPLICAS] == "*"


async def test_a_rate_that_others_have_set_is_left_alone(rig: Rig) -> None:
    rig.upstream.broker(1)[RATES[0]] = "99"
    assert await rig.throttler.apply(FOO)
    assert rig.upstream.broker(1) == {RATES[0]: "99", RATES[1]: "5"}
    await rig.throttler.apply(NOTHING)
    assert rig.upstream.broker(1) == {RATES[0]: "99"}


async def test_a_rate_that_others_have_changed_since_is_theirs(rig: Rig) -> None:
    await rig.throttler.apply(FOO)
    rig.upstream.broker(1)[RATES[0]] = "99"
    await rig.throttler.apply(FOO._replace(rate=6))
    assert rig.upstream.broker(1) == {RATES[0]: "99", RATES[1]: "6"}
    await rig.throttler.apply(NOTHING)
    assert rig.upstream.broker(1) == {RATES[0]: "99"}


async def test_a_dead_broker_does_not_block_the_others_and_gets_its_rate_later(rig: Rig) -> None:
    rig.upstream.dead.add(1)
    assert not await rig.throttler.apply(FOO)
    assert rig.upstream.broker(2) == SET
    rig.upstream.dead.clear()
    assert await rig.throttler.apply(FOO)
    assert rig.upstream.broker(1) == SET


async def test_a_call_that_failed_is_made_again(rig: Rig) -> None:
    fine = rig.upstream.answers[IncrementalAlterConfigsRequest]
    rig.upstream.answers[IncrementalAlterConfigsRequest] = lambda *_: RequestLostError("cut")
    assert not await rig.throttler.apply(FOO)
    rig.upstream.answers[IncrementalAlterConfigsRequest] = fine
    assert await rig.throttler.apply(FOO)
    assert rig.upstream.topic("foo")[LEADER_REPLICAS] == "0:1"
    assert rig.upstream.broker(1) == SET


async def test_a_crash_before_the_call_leaves_nothing_behind(rig: Rig) -> None:
    rig.upstream.answers[IncrementalAlterConfigsRequest] = lambda *_: RequestLostError("killed")
    await rig.throttler.apply(FOO)
    again = Rig(rig.directory)
    assert not again.ledger.empty
    assert await again.throttler.apply(NOTHING)
    assert_clean(again)


async def test_a_crash_after_the_call_leaves_nothing_behind(rig: Rig) -> None:
    await rig.throttler.apply(FOO)
    assert await rig.again().throttler.apply(NOTHING)
    assert_clean(rig)


async def test_a_crash_while_a_rate_is_changed_leaves_nothing_behind(rig: Rig) -> None:
    await rig.throttler.apply(FOO)
    fine = rig.upstream.answers[IncrementalAlterConfigsRequest]
    rig.upstream.answers[IncrementalAlterConfigsRequest] = lambda *_: RequestLostError("killed")
    await rig.throttler.apply(FOO._replace(rate=6))
    rig.upstream.answers[IncrementalAlterConfigsRequest] = fine
    assert await rig.again().throttler.apply(NOTHING)
    assert_clean(rig)


async def test_after_a_crash_what_is_still_wanted_is_set_for_sure(rig: Rig) -> None:
    rig.upstream.answers[IncrementalAlterConfigsRequest] = lambda *_: RequestLostError("killed")
    await rig.throttler.apply(FOO)
    again = Rig(rig.directory)
    assert await again.throttler.apply(FOO)
    assert again.upstream.topic("foo") == {LEADER_REPLICAS: "0:1", FOLLOWER_REPLICAS: "0:2"}
    assert again.upstream.broker(2) == SET


async def test_a_topic_that_is_gone_leaves_nothing_in_the_ledger(rig: Rig) -> None:
    await rig.throttler.apply(FOO)
    rig.upstream.gone.add("foo")
    assert await rig.throttler.apply(NOTHING)
    assert AppliedThrottles(rig.directory).empty


async def test_many_topics_share_few_requests(rig: Rig) -> None:
    many = {f"t{n}": ["0:1"] for n in range(1_200)}
    assert await rig.throttler.apply(Throttle(5, (), many, {}))
    assert [len(request.resources) for request in rig.alterations()] == [500, 500, 200]


async def test_one_topic_that_is_refused_does_not_spoil_the_others(rig: Rig) -> None:
    rig.upstream.refused.add("foo")
    assert not await rig.throttler.apply(FOO._replace(leaders={"foo": ["0:1"], "bar": ["0:1"]}))
    assert rig.upstream.topic("bar") == {LEADER_REPLICAS: "0:1"}


async def test_a_step_waits_for_its_throttle_but_not_for_ever(rig: Rig) -> None:
    rig.throttler.change()
    waiting = asyncio.create_task(rig.throttler.settled())
    await settle()
    assert not waiting.done()
    await rig.clock.advance(PATIENCE_SECONDS)
    assert waiting.done()


async def until(holds: Any) -> None:
    """Ledgers are written in another thread."""
    while not holds():
        await asyncio.sleep(0.001)


async def test_what_a_tool_has_taken_off_meanwhile_is_set_again(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backends.upstream.throttler.wanted_throttle", lambda _: FOO)
    rig.throttler.change()
    running = asyncio.create_task(rig.throttler.run())
    await until(lambda: rig.upstream.broker(2) == SET)
    rig.upstream.values.clear()
    await rig.clock.advance(CHECK_SECONDS)
    await until(lambda: rig.upstream.broker(2) == SET)
    assert rig.upstream.topic("foo") == {LEADER_REPLICAS: "0:1", FOLLOWER_REPLICAS: "0:2"}
    await cancel(running)


async def test_what_failed_holds_up_no_step_and_is_tried_again_later(rig: Rig) -> None:
    rig.upstream.dead.add(1)
    rig.ledger.brokers["1"] = {RATES[0]: ["5"]}
    rig.upstream.broker(1)[RATES[0]] = "5"
    throttler = Throttler(rig.upstream, rig.state, rig.ledger, rig.clock)
    running = asyncio.create_task(throttler.run())
    await settle()
    await throttler.settled()
    rig.upstream.dead.clear()
    await rig.clock.advance(RETRY_SECONDS)
    await until(lambda: rig.ledger.empty)
    assert rig.upstream.broker(1) == {}
    await cancel(running)


async def test_the_rate_of_a_broker_that_is_none_any_more_is_said_once_and_not_tried_for_ever(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    await rig.throttler.apply(FOO)
    gone = rig.state.brokers[1]
    rig.state.live.discard(1)
    rig.state.delete(Deleted(Broker, 1))
    for _ in range(2):
        assert await rig.throttler.apply(NOTHING)
    assert caplog.text.count("the throttle of broker 1 stays as it is") == 1
    rig.state.put(gone)
    rig.state.live.add(1)
    assert await rig.throttler.apply(NOTHING)
    assert_clean(rig)
