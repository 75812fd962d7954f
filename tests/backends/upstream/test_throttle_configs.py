import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from backends.client.errors import RequestLostError, UnreachableError
from backends.memory import MemoryStore
from backends.sqlite.datadir import StoreError
from backends.upstream.throttle_configs import (
    CHECK_SECONDS,
    PATIENCE_SECONDS,
    READ_BACK_SECONDS,
    Progress,
    ThrottleConfigs,
)
from common.backoff import RETRY_RARELY_SECONDS
from common.clock import ManualClock, settle
from common.tasks import cancel
from controller.execution.throttle import NO_THROTTLE, Throttle
from controller.machine import decide
from controller.messages.effects import AlterThrottle, ReadThrottle
from controller.messages.event import Event, Reply
from controller.model.cluster import Broker, Deleted
from controller.model.configs import (
    CORDONED_LOG_DIRS,
    EXCLUDED_DIRS,
    FOLLOWER_REPLICAS,
    LEADER_REPLICAS,
    RATES,
    Config,
    ResourceType,
    ThrottleLease,
)
from controller.modes import GATEWAY
from controller.state.state import Decision, State
from protocol.apis import ApiKey
from protocol.messages.api_versions_request import ApiVersionsRequest
from protocol.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from protocol.messages.describe_configs_request import DescribeConfigsRequest
from protocol.messages.describe_configs_response import DescribeConfigsResponse, DescribeConfigsResult
from protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from protocol.messages.describe_log_dirs_response import DescribeLogDirsResponse, DescribeLogDirsResult
from protocol.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from protocol.messages.incremental_alter_configs_response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from tests.backends.upstream.configured import Configured

FOO = Throttle(5, (1, 2), {"foo": ["0:1"]}, {"foo": ["0:2"]})
SET = dict.fromkeys(RATES, "5")
PASSES = 10
"""Number of reads after which a missing throttle fails the test."""


class Rig:
    """A controller that always desires `throttle`, and an upstream in memory."""

    throttle = NO_THROTTLE

    def __init__(self, upstream: Configured | None = None, store: MemoryStore | None = None) -> None:
        self.upstream = upstream or Configured()
        self.store = store or MemoryStore()
        self.clock, self.state = ManualClock(), State(mode=GATEWAY)
        for broker in self.upstream.brokers:
            self.state.put(Broker(broker, "localhost", 9000 + broker, None, 0))
            self.state.cluster.live.add(broker)
        self.state.apply(self.store.load())
        self.configs = ThrottleConfigs(self.upstream, self.state, self.submit, self.clock)

    async def submit(self, event: Event[Reply]) -> Reply:
        decision = Decision(self.state)
        for _ in decide(decision, event):
            pass
        await self.store.commit(decision.changes)
        for effect in decision.effects:
            assert isinstance(effect, ReadThrottle | AlterThrottle)
            self.configs.perform(effect)
        reply: Reply = decision.reply
        return reply

    async def apply(self, throttle: Throttle) -> bool:
        """Desire this throttle; return whether the upstream gets it."""
        Rig.throttle = throttle
        for _ in range(PASSES):
            progress = await self.configs.reconcile()
            if progress is not Progress.ALTERED:
                return progress is Progress.DONE
        raise AssertionError("the throttle is altered again and again")

    def again(self, upstream: Configured | None = None) -> "Rig":
        """Start another process with the same records."""
        return Rig(upstream or self.upstream, self.store)

    def alterations(self) -> list[IncrementalAlterConfigsRequest]:
        return self.upstream.requests(IncrementalAlterConfigsRequest)


@pytest.fixture
def rig(monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    monkeypatch.setattr("controller.gateway.throttle.desired_throttle", lambda _: Rig.throttle)
    yield Rig()
    Rig.throttle = NO_THROTTLE


def assert_clean(rig: Rig) -> None:
    """Check that no config is set and that no lease is left in memory or in the store."""
    assert {c: v for values in rig.upstream.values.values() for c, v in values.items()} == {}
    assert rig.state.throttle.leases == {}
    assert not any(isinstance(record, ThrottleLease) for record in rig.store.load())


async def test_a_throttle_is_set_and_removed(rig: Rig) -> None:
    assert await rig.apply(FOO)
    assert rig.upstream.topic("foo") == {LEADER_REPLICAS: "0:1", FOLLOWER_REPLICAS: "0:2"}
    assert rig.upstream.broker(1) == rig.upstream.broker(2) == SET
    assert await rig.apply(NO_THROTTLE)
    assert_clean(rig)


CORDONED = NO_THROTTLE._replace(cordons={2: "*"})


def serving(rig: Rig, version: int) -> None:
    """Let the brokers serve DescribeLogDirs up to this version."""
    rows = [ApiVersion(int(ApiKey.DESCRIBE_LOG_DIRS), 1, version)]
    rig.upstream.answers[ApiVersionsRequest] = lambda *_: ApiVersionsResponse(0, rows)


async def test_a_cordon_is_set_and_removed(rig: Rig) -> None:
    serving(rig, 5)
    assert await rig.apply(CORDONED)
    assert rig.upstream.broker(2) == {CORDONED_LOG_DIRS: "*"}
    assert await rig.apply(NO_THROTTLE)
    assert_clean(rig)


async def test_a_cordon_outlives_a_crash_and_is_removed_after_it(rig: Rig) -> None:
    serving(rig, 5)
    await rig.apply(CORDONED)
    later = rig.again()
    assert await later.apply(NO_THROTTLE)
    assert_clean(later)


OF_DIRS = NO_THROTTLE._replace(cordons={2: "/a,/b"})


async def test_directories_are_cordoned_beside_those_of_others(rig: Rig) -> None:
    serving(rig, 5)
    rig.upstream.broker(2)[CORDONED_LOG_DIRS] = "/old"
    assert await rig.apply(OF_DIRS)
    assert rig.upstream.broker(2) == {CORDONED_LOG_DIRS: "/old,/a,/b"}
    later = rig.again()
    assert await later.apply(NO_THROTTLE._replace(cordons={2: "/b"}))
    assert rig.upstream.broker(2) == {CORDONED_LOG_DIRS: "/old,/b"}
    assert await later.apply(NO_THROTTLE)
    assert rig.upstream.broker(2) == {CORDONED_LOG_DIRS: "/old"}
    assert later.state.throttle.leases == {}


async def test_what_is_set_counts_where_a_broker_could_not_apply_it(rig: Rig) -> None:
    serving(rig, 5)
    rig.upstream.broker(2)[CORDONED_LOG_DIRS] = "/old"
    await rig.apply(OF_DIRS)
    rig.upstream.unapplied = {CORDONED_LOG_DIRS}
    assert await rig.apply(NO_THROTTLE)
    assert rig.upstream.broker(2) == {CORDONED_LOG_DIRS: "/old"}


async def test_one_directory_replaces_another(rig: Rig) -> None:
    serving(rig, 5)
    await rig.apply(NO_THROTTLE._replace(cordons={2: "/a"}))
    assert await rig.apply(NO_THROTTLE._replace(cordons={2: "/b"}))
    assert rig.upstream.broker(2) == {CORDONED_LOG_DIRS: "/b"}


async def test_cordons_of_the_settings_of_a_broker_are_not_replaced(rig: Rig) -> None:
    """Kafka does not add to a value of server.properties: a dynamic value replaces it."""
    serving(rig, 5)
    rig.upstream.own_settings = {CORDONED_LOG_DIRS: "/old"}
    await rig.apply(OF_DIRS)
    [reason] = rig.state.gateway.cordon_refusals.values()
    assert reason == "its own settings have cordoned.log.dirs=/old, which another value would replace"
    assert await rig.apply(CORDONED)
    assert rig.upstream.broker(2) == {CORDONED_LOG_DIRS: "*"}


def having(rig: Rig, dirs: dict[int, list[DescribeLogDirsResult]]) -> None:
    """Exclude `/a` and `/b` of brokers 2 and 3, which have these directories."""
    rig.state.put(Config(ResourceType.BROKER, "", EXCLUDED_DIRS, "2:/a,2:/b,3:/a,9:/a"))

    def answer(_: DescribeLogDirsRequest, broker: int | None) -> Any:
        return DescribeLogDirsResponse(results=dirs[broker]) if broker in dirs else UnreachableError("gone")

    rig.upstream.answers[DescribeLogDirsRequest] = answer


async def test_removed_directories_are_not_excluded_any_more(rig: Rig) -> None:
    """A broker with a cordon of a directory that it does not have ignores its dynamic configs."""
    b, failed_a = DescribeLogDirsResult(log_dir="/b"), DescribeLogDirsResult(56, "/a")
    having(rig, {2: [b], 3: [b, failed_a]})
    await rig.configs.reconcile()
    assert rig.state.settings.excluded_dirs == {2: ["/b"], 3: ["/a"], 9: ["/a"]}


async def test_removed_directories_are_looked_for_now_and_then_also_while_changes_fail(rig: Rig) -> None:
    having(rig, {2: []})
    Rig.throttle, rig.upstream.refused = FOO, {"2"}
    for _ in range(3):
        assert await rig.configs.reconcile() is not Progress.DONE
    await rig.clock.advance(CHECK_SECONDS)
    await rig.configs.reconcile()
    looked = [broker for request, broker in rig.upstream.asked if isinstance(request, DescribeLogDirsRequest)]
    assert looked == [2, 3, 2, 3]


async def test_directories_of_a_broker_that_tells_none_stay_excluded(rig: Rig) -> None:
    having(rig, {2: []})
    await rig.configs.reconcile()
    assert rig.state.settings.excluded_dirs == {2: ["/a", "/b"], 3: ["/a"], 9: ["/a"]}


async def test_an_older_broker_gets_no_cordon_and_a_throttle_all_the_same(rig: Rig) -> None:
    """Kafka accepts configs that it does not know, without effect."""
    serving(rig, 4)
    await rig.apply(FOO._replace(cordons={2: "*"}))
    assert rig.state.gateway.cordon_refusals == {2: "it is older than Kafka 4.3"}
    assert await rig.apply(FOO)
    assert rig.upstream.broker(2) == SET


@pytest.mark.parametrize(("error", "refusals"), [(40, {2: "not for you"}), (7, {})])
async def test_a_cordon_is_refused_or_tried_again(rig: Rig, error: int, refusals: dict[int, str]) -> None:
    serving(rig, 5)
    row = AlterConfigsResourceResponse(error, "not for you", ResourceType.BROKER, "2")
    rig.upstream.answers[IncrementalAlterConfigsRequest] = lambda *_: IncrementalAlterConfigsResponse(
        responses=[row]
    )
    assert not await rig.apply(CORDONED)
    assert rig.state.gateway.cordon_refusals == refusals
    assert (not rig.state.throttle.leases) is bool(refusals)


async def test_a_broker_that_does_not_tell_its_versions_is_asked_again(rig: Rig) -> None:
    rig.upstream.answers[ApiVersionsRequest] = lambda *_: ApiVersionsResponse(42)
    assert not await rig.apply(CORDONED)
    assert (rig.upstream.broker(2), rig.state.gateway.cordon_refusals) == ({}, {})


async def test_the_request_for_versions_names_the_client(rig: Rig) -> None:
    """Kafka answers INVALID_REQUEST and no versions if it does not."""
    serving(rig, 5)
    await rig.apply(CORDONED)
    [request] = rig.upstream.requests(ApiVersionsRequest)
    assert (request.client_software_name, request.client_software_version) == ("reassignd", "0")


async def test_nothing_is_set_before_its_record_is_durable(rig: Rig) -> None:
    rig.store.failure = StoreError("the disk is full")
    with pytest.raises(StoreError):
        await rig.apply(FOO)
    assert rig.alterations() == []


async def test_a_lease_ends_when_its_config_is_seen_to_be_removed(rig: Rig) -> None:
    await rig.apply(FOO)
    Rig.throttle = NO_THROTTLE
    assert await rig.configs.reconcile() is Progress.ALTERED
    assert rig.upstream.topic("foo") == {LEADER_REPLICAS: "", FOLLOWER_REPLICAS: ""}
    assert len(rig.state.throttle.leases) == 6
    assert await rig.again().apply(NO_THROTTLE)
    assert {c: v for values in rig.upstream.values.values() for c, v in values.items()} == {}


async def test_a_confirmed_throttle_is_not_sent_again(rig: Rig) -> None:
    await rig.apply(FOO)
    asked = len(rig.upstream.asked)
    assert await rig.apply(FOO)
    assert len(rig.upstream.asked) == asked


async def test_entries_of_others_stay_in_the_lists(rig: Rig) -> None:
    rig.upstream.topic("foo")[LEADER_REPLICAS] = "7:8"
    await rig.apply(FOO)
    assert rig.upstream.topic("foo")[LEADER_REPLICAS] == "7:8,0:1"
    await rig.apply(FOO._replace(leaders={"foo": ["1:1"]}))
    assert rig.upstream.topic("foo")[LEADER_REPLICAS] == "7:8,1:1"
    await rig.apply(NO_THROTTLE)
    assert rig.upstream.topic("foo")[LEADER_REPLICAS] == "7:8"


async def test_an_existing_entry_is_not_owned_and_not_removed(rig: Rig) -> None:
    rig.upstream.topic("foo")[LEADER_REPLICAS] = "0:1"
    await rig.apply(FOO)
    await rig.apply(NO_THROTTLE)
    assert rig.upstream.topic("foo") == {LEADER_REPLICAS: "0:1"}


async def test_a_list_of_all_replicas_is_not_changed(rig: Rig) -> None:
    rig.upstream.topic("foo")[LEADER_REPLICAS] = "*"
    assert await rig.apply(FOO)
    assert await rig.apply(NO_THROTTLE)
    assert rig.upstream.topic("foo")[LEADER_REPLICAS] == "*"


async def test_a_change_that_kafka_finds_invalid_is_no_success(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    rig.upstream.topic("foo")[LEADER_REPLICAS] = "*"
    rig.upstream.shown = {(ResourceType.BROKER, str(broker)): SET for broker in (1, 2)}
    assert not await rig.apply(FOO)
    assert "the throttle of topic foo cannot be set: * stands alone" in caplog.text


async def test_configs_that_were_not_asked_for_are_ignored(rig: Rig) -> None:
    honest = rig.upstream.answers[DescribeConfigsRequest]

    def answer(request: DescribeConfigsRequest, broker: int | None) -> DescribeConfigsResponse:
        given: DescribeConfigsResponse = honest(request, broker)
        return given._replace(results=[*given.results, DescribeConfigsResult(0, None, 4, "x", [])])

    rig.upstream.answers[DescribeConfigsRequest] = answer
    assert await rig.apply(FOO)


async def test_an_existing_rate_of_others_is_not_changed(rig: Rig) -> None:
    rig.upstream.broker(1)[RATES[0]] = "99"
    assert await rig.apply(FOO)
    assert rig.upstream.broker(1) == {RATES[0]: "99", RATES[1]: "5"}
    await rig.apply(NO_THROTTLE)
    assert rig.upstream.broker(1) == {RATES[0]: "99"}


async def test_a_rate_that_others_changed_during_the_lease_is_kept(rig: Rig) -> None:
    await rig.apply(FOO)
    rig.upstream.broker(1)[RATES[0]] = "99"
    await rig.apply(FOO._replace(rate=6))
    assert rig.upstream.broker(1) == {RATES[0]: "99", RATES[1]: "6"}
    await rig.apply(NO_THROTTLE)
    assert rig.upstream.broker(1) == {RATES[0]: "99"}


async def test_a_cluster_wide_rate_is_not_overridden(rig: Rig) -> None:
    rig.upstream.cluster_wide[RATES[0]] = "5"
    assert await rig.apply(FOO)
    assert rig.upstream.broker(1) == {RATES[1]: "5"}


async def test_a_lease_ends_though_the_same_rate_has_become_cluster_wide(rig: Rig) -> None:
    await rig.apply(FOO)
    rig.upstream.cluster_wide[RATES[0]] = "5"
    assert await rig.apply(NO_THROTTLE)
    assert_clean(rig)


async def test_a_rate_that_was_removed_is_set_again_though_another_has_become_cluster_wide(rig: Rig) -> None:
    await rig.apply(FOO)
    rig.upstream.cluster_wide[RATES[0]] = "99"
    rig.upstream.broker(1).clear()
    assert await rig.apply(FOO._replace(rate=6))
    assert rig.upstream.broker(1) == dict.fromkeys(RATES, "6")
    assert await rig.apply(NO_THROTTLE)
    assert_clean(rig)


async def test_a_dead_broker_does_not_block_others_and_gets_its_rate_later(rig: Rig) -> None:
    rig.upstream.dead.add(1)
    assert not await rig.apply(FOO)
    assert rig.upstream.broker(2) == SET
    rig.upstream.dead.clear()
    assert await rig.apply(FOO)
    assert rig.upstream.broker(1) == SET


async def test_a_failed_request_is_repeated(rig: Rig) -> None:
    fine = rig.upstream.answers[IncrementalAlterConfigsRequest]
    rig.upstream.answers[IncrementalAlterConfigsRequest] = lambda *_: RequestLostError("cut")
    assert not await rig.apply(FOO)
    rig.upstream.answers[IncrementalAlterConfigsRequest] = fine
    assert await rig.apply(FOO)
    assert rig.upstream.topic("foo")[LEADER_REPLICAS] == "0:1"
    assert rig.upstream.broker(1) == SET


async def test_a_crash_before_the_request_leaves_no_throttle(rig: Rig) -> None:
    rig.upstream.answers[IncrementalAlterConfigsRequest] = lambda *_: RequestLostError("killed")
    await rig.apply(FOO)
    again = rig.again(Configured())
    assert again.state.throttle.leases
    assert await again.apply(NO_THROTTLE)
    assert_clean(again)


async def test_a_crash_after_the_request_leaves_no_throttle(rig: Rig) -> None:
    await rig.apply(FOO)
    again = rig.again()
    assert await again.apply(NO_THROTTLE)
    assert_clean(again)


async def test_a_crash_while_a_rate_is_changed_leaves_no_throttle(rig: Rig) -> None:
    await rig.apply(FOO)
    fine = rig.upstream.answers[IncrementalAlterConfigsRequest]
    rig.upstream.answers[IncrementalAlterConfigsRequest] = lambda *_: RequestLostError("killed")
    await rig.apply(FOO._replace(rate=6))
    rig.upstream.answers[IncrementalAlterConfigsRequest] = fine
    again = rig.again()
    assert await again.apply(NO_THROTTLE)
    assert_clean(again)


async def test_after_a_crash_a_desired_throttle_is_set_again(rig: Rig) -> None:
    rig.upstream.answers[IncrementalAlterConfigsRequest] = lambda *_: RequestLostError("killed")
    await rig.apply(FOO)
    again = rig.again(Configured())
    assert await again.apply(FOO)
    assert again.upstream.topic("foo") == {LEADER_REPLICAS: "0:1", FOLLOWER_REPLICAS: "0:2"}
    assert again.upstream.broker(2) == SET


async def test_a_deleted_topic_leaves_no_lease(rig: Rig) -> None:
    await rig.apply(FOO)
    rig.upstream.gone.add("foo")
    assert await rig.apply(NO_THROTTLE)
    assert rig.state.throttle.leases == {}


async def test_many_topics_share_few_requests(rig: Rig) -> None:
    many = {f"t{n}": ["0:1"] for n in range(1_200)}
    assert await rig.apply(Throttle(5, (), many, {}))
    assert [len(request.resources) for request in rig.alterations()] == [500, 500, 200]


async def test_a_refused_topic_does_not_affect_others(rig: Rig) -> None:
    rig.upstream.refused.add("foo")
    assert not await rig.apply(FOO._replace(leaders={"foo": ["0:1"], "bar": ["0:1"]}))
    assert rig.upstream.topic("bar") == {LEADER_REPLICAS: "0:1"}


async def test_a_step_waits_for_its_throttle_for_a_limited_time(rig: Rig) -> None:
    rig.configs.perform(ReadThrottle())
    waiting = asyncio.create_task(rig.configs.settled())
    await settle()
    assert not waiting.done()
    await rig.clock.advance(PATIENCE_SECONDS)
    assert waiting.done()


async def test_steps_without_a_throttle_are_logged_once_and_so_is_their_throttle(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    Rig.throttle = FOO
    rig.configs.perform(ReadThrottle())
    for _ in range(2):
        waiting = asyncio.create_task(rig.configs.settled())
        await settle()
        await rig.clock.advance(PATIENCE_SECONDS)
        await waiting
    running = asyncio.create_task(rig.configs.run())
    await settle()
    await rig.clock.advance(READ_BACK_SECONDS)
    await cancel(running)
    warning, news = caplog.messages
    assert warning.startswith("steps start before their throttle is set: ")
    assert news == "the throttle is set, 2 s after steps had started without it"


async def test_a_step_begins_when_its_throttle_is_set(rig: Rig) -> None:
    Rig.throttle = FOO
    rig.configs.perform(ReadThrottle())
    running = asyncio.create_task(rig.configs.run())
    await rig.configs.settled()
    assert rig.clock.now() == 0
    assert rig.upstream.broker(2) == SET
    assert rig.upstream.topic("foo") == {LEADER_REPLICAS: "0:1", FOLLOWER_REPLICAS: "0:2"}
    await cancel(running)


async def test_a_throttle_that_a_tool_removed_is_set_again(rig: Rig) -> None:
    Rig.throttle = FOO
    rig.configs.perform(ReadThrottle())
    running = asyncio.create_task(rig.configs.run())
    await rig.clock.advance(READ_BACK_SECONDS)
    rig.upstream.values.clear()
    await rig.clock.advance(CHECK_SECONDS)
    assert rig.upstream.broker(2) == SET
    assert rig.upstream.topic("foo") == {LEADER_REPLICAS: "0:1", FOLLOWER_REPLICAS: "0:2"}
    await cancel(running)


async def test_a_failure_delays_no_step_and_is_retried(rig: Rig) -> None:
    rig.upstream.dead.add(1)
    rig.state.put(ThrottleLease(ResourceType.BROKER, "1", RATES[0], "5", None))
    rig.upstream.broker(1)[RATES[0]] = "5"
    configs = rig.configs = ThrottleConfigs(rig.upstream, rig.state, rig.submit, rig.clock)
    running = asyncio.create_task(configs.run())
    await settle()
    await configs.settled()
    rig.upstream.dead.clear()
    await rig.clock.advance(RETRY_RARELY_SECONDS + READ_BACK_SECONDS)
    assert rig.state.throttle.leases == {}
    assert rig.upstream.broker(1) == {}
    await cancel(running)


async def test_lagging_values_are_read_at_growing_intervals(rig: Rig) -> None:
    Rig.throttle = FOO
    rig.upstream.shown = {}
    rig.configs.perform(ReadThrottle())
    running = asyncio.create_task(rig.configs.run())
    await rig.clock.advance(60)
    assert len(rig.alterations()) < 12 * 3
    rig.upstream.shown = None
    Rig.throttle = NO_THROTTLE
    rig.configs.perform(ReadThrottle())
    await rig.clock.advance(1)
    assert_clean(rig)
    await cancel(running)


@pytest.mark.parametrize("late", [False, True])
async def test_a_lagging_read_does_not_end_a_lease_early(rig: Rig, late: bool) -> None:
    before: dict[tuple[int, str], dict[str, str]] = {}
    await rig.apply(FOO)
    Rig.throttle = NO_THROTTLE
    rig.upstream.shown = (
        {each: dict(values) for each, values in rig.upstream.values.items()} if late else before
    )
    await rig.configs.reconcile()
    await rig.configs.reconcile()
    rig.upstream.shown = None
    assert await rig.apply(NO_THROTTLE)
    left = {c: v for values in rig.upstream.values.values() for c, v in values.items() if v}
    assert left == {}
    assert rig.state.throttle.leases == {}


async def test_the_rate_of_an_unlisted_broker_is_logged_once_and_not_retried(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    await rig.apply(FOO)
    gone = rig.state.cluster.brokers[1]
    rig.state.cluster.live.discard(1)
    rig.state.delete(Deleted(Broker, 1))
    for _ in range(2):
        assert await rig.apply(NO_THROTTLE)
    assert caplog.text.count("the throttle of broker 1 is not removed") == 1
    rig.state.put(gone)
    rig.state.cluster.live.add(1)
    assert await rig.apply(NO_THROTTLE)
    assert_clean(rig)
