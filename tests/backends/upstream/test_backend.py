import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from backends.client.errors import AuthenticationError, RequestLostError, UnreachableError
from backends.upstream.own_records import FILE, import_leases
from common.backoff import RETRY_LATER_SECONDS
from common.clock import settle
from common.error_codes import ErrorCode
from controller.messages.effects import Publish
from controller.model.configs import LEADER_RATE, LEADER_REPLICAS, THROTTLE, ResourceType
from controller.reassignment.phases import Phase, phase_of
from protocol.messages.alter_partition_reassignments_request import AlterPartitionReassignmentsRequest
from tests.backends.harness import EmbeddedHarness
from tests.backends.upstream.harness import GatewayHarness
from tests.builders import key, partition

R = "reassignment.max.concurrent.replica.movements.per.partition"


@pytest.fixture
async def inner() -> EmbeddedHarness:
    return await EmbeddedHarness().start()


@pytest.fixture
async def harness(inner: EmbeddedHarness) -> AsyncIterator[GatewayHarness]:
    harness = await GatewayHarness(inner).start()
    await harness.configure(**{"reassignment.health.guard": "off"})
    yield harness
    await harness.stop()


def failing(error: Exception) -> Any:
    async def fail(_: Any) -> None:
        raise error

    return fail


async def test_the_start_waits_for_an_upstream_that_cannot_be_reached_and_says_so_once(
    inner: EmbeddedHarness,
) -> None:
    harness, said = GatewayHarness(inner), list[str]()
    harness.driver.start(harness.upstream)
    reach, harness.client.before = harness.client.before, failing(UnreachableError("nobody answers on b:1"))
    starting = asyncio.create_task(harness.upstream.start(said.append))
    await harness.advance(2 * RETRY_LATER_SECONDS)
    assert harness.state.gateway.unreachable == "nobody answers on b:1"
    assert said == ["waiting for the upstream: nobody answers on b:1"]
    harness.client.before = reach
    await harness.advance(RETRY_LATER_SECONDS)
    await starting
    assert set(harness.state.cluster.live) == set(range(1, 7))
    await harness.stop()


async def test_sizes_are_measured_before_the_first_step_starts(inner: EmbeddedHarness) -> None:
    await inner.having({"foo-0": [1, 2]})
    harness = await GatewayHarness(inner).start()
    assert harness.state.cluster.copied_size(key("foo-0")) == inner.settings.partition_bytes
    assert set(harness.state.cluster.disks) == set(range(1, 7))
    await harness.stop()


async def test_the_start_ends_when_credentials_are_refused(inner: EmbeddedHarness) -> None:
    harness = GatewayHarness(inner)
    harness.client.before = failing(AuthenticationError("wrong password"))
    with pytest.raises(AuthenticationError, match="wrong password"):
        await harness.start()
    await harness.stop()


async def test_an_unreachable_upstream_is_reported_until_it_answers_again(harness: GatewayHarness) -> None:
    await harness.having({"foo-0": [1, 2]})
    reach, harness.client.before = harness.client.before, failing(UnreachableError("gone"))
    await harness.until(lambda: harness.state.gateway.unreachable == "gone")
    await harness.alter({"foo-0": [3, 4]})
    assert phase_of(harness.state, key("foo-0")) is Phase.QUEUED
    harness.client.before = reach
    await harness.until_idle()
    assert harness.replicas("foo-0") == (3, 4)


@pytest.mark.parametrize("stopped", [False, True])
async def test_topics_that_cannot_be_polled_are_named_unless_the_backend_has_stopped(
    inner: EmbeddedHarness, caplog: pytest.LogCaptureFixture, stopped: bool
) -> None:
    harness = await GatewayHarness(inner).start()
    if stopped:
        await harness.stop()
    harness.client.before = failing(UnreachableError("the client is closed"))
    await harness.upstream.refresh_topics(["foo"])
    assert ("topics cannot be polled" in caplog.text) == (not stopped)
    if not stopped:
        await harness.stop()


async def test_an_unexpected_error_is_logged_once(harness: GatewayHarness) -> None:
    broken = ZeroDivisionError("broken")
    harness.client.before = failing(broken)
    await harness.advance(15)
    assert harness.failures == [broken]
    harness.failures.clear()


async def test_a_broker_command_is_an_error(harness: GatewayHarness) -> None:
    with pytest.raises(AssertionError, match="unreachable, but got: Publish"):
        harness.upstream.perform([Publish(partition("foo-0", (1,)))])  # type: ignore[list-item]


async def test_a_step_is_submitted_once(harness: GatewayHarness) -> None:
    await harness.having({"foo-0": [1, 2]})
    await harness.alter({"foo-0": [3, 4]})
    await harness.until_idle()
    assert len(harness.sent(AlterPartitionReassignmentsRequest)) == 1


async def test_a_poll_that_started_before_the_step_does_not_repeat_it(harness: GatewayHarness) -> None:
    """The store is slow: the poll finds the step in memory before it is submitted to the upstream."""
    await harness.having({"foo-0": [1, 2]})
    harness.store.hold(after=len(harness.store.commits))
    ordered = asyncio.create_task(harness.alter({"foo-0": [3, 4]}))
    await harness.advance(5)
    assert harness.sent(AlterPartitionReassignmentsRequest) == []
    harness.store.release()
    await ordered
    await harness.until_idle()
    assert len(harness.sent(AlterPartitionReassignmentsRequest)) == 1


async def test_min_isr_is_read_from_the_upstream_before_the_second_step(harness: GatewayHarness) -> None:
    await harness.configure(**{R: "1"})
    await harness.having({"foo-0": [1, 2, 3]}, min_insync_replicas="3")
    await harness.alter({"foo-0": [4, 5, 6]})
    await harness.until(lambda: harness.state.settings.min_isr("foo") == 3, 2)
    await harness.until_idle()


async def test_the_bytes_of_an_adding_replica_are_measured(harness: GatewayHarness) -> None:
    await harness.having({"foo-0": [1, 2]})
    harness.cluster.slow_broker(3, 0.1)
    await harness.alter({"foo-0": [1, 3]})
    await harness.advance(7)
    assert harness.upstream.sizes.size(key("foo-0")) == 1_000_000
    assert 0 < (harness.upstream.sizes.arrived(key("foo-0"), 3) or 0) < 1_000_000


@pytest.mark.parametrize("killed", [False, True])
async def test_a_throttle_lasts_as_long_as_the_reassignment_even_over_a_crash(
    harness: GatewayHarness, killed: bool
) -> None:
    await harness.having({"foo-0": [1, 2]})
    await harness.configure(**{THROTTLE: "200000"})
    await harness.alter({"foo-0": [1, 3]})
    while not harness.inner.state.cluster.partition("foo", 0).adding:  # type: ignore[union-attr]
        await asyncio.sleep(0.001)
        await settle()
    set_ = {
        name: value
        for key, values in harness.inner.state.settings.configs.items()
        for name, value in values.items()
    }
    assert set_["follower.replication.throttled.replicas"] == "0:3"
    assert set_["leader.replication.throttled.rate"] == "200000"
    again = await harness.restarted() if killed else harness
    assert await again.until_idle() > 3
    await again.until(lambda: not again.state.throttle.leases, 2)
    assert not [values for values in harness.inner.state.settings.configs.values() if any(values.values())]
    if killed:
        await again.detach()


async def test_throttles_in_the_file_of_an_older_version_are_removed(tmp_path: Path) -> None:
    inner = await EmbeddedHarness().start()
    await inner.having({"foo-0": [1, 2]})
    await inner.configure_resource(ResourceType.TOPIC, "foo", **{LEADER_REPLICAS: "7:7,0:1"})
    await inner.configure_resource(ResourceType.BROKER, "1", **{LEADER_RATE: "5"})
    tables = {
        "topics": {"foo": {LEADER_REPLICAS: ["0:1"]}},
        "brokers": {"1": {LEADER_RATE: ["5"]}, "2": {LEADER_RATE: ["5"]}},
    }
    (tmp_path / FILE).write_text(json.dumps(tables))
    harness = GatewayHarness(inner)
    harness.driver.start(harness.upstream)
    harness.store.hold()
    importing = asyncio.create_task(import_leases(tmp_path, harness.driver.submit))
    await settle()
    assert (tmp_path / FILE).exists()
    harness.store.release()
    await importing
    assert not (tmp_path / FILE).exists()
    assert len(list(harness.store.load())) == 3
    # A crash right after the upgrade: only the records are left.
    again = await harness.restarted()
    await again.until(lambda: not again.state.throttle.leases, 2)
    assert inner.state.settings.configs == {(ResourceType.TOPIC, "foo"): {LEADER_REPLICAS: "7:7"}}
    await again.stop()


def disturb(harness: GatewayHarness, random: Random) -> None:
    """Loses or delays requests and answers."""

    async def somehow(_: Any) -> None:
        chance = random.random()
        if chance < 0.05:
            raise random.choice([UnreachableError, RequestLostError])("cut")
        if chance < 0.5:
            await harness.clock.sleep(random.choice([0.01, 0.1, 0.4]))

    harness.client.before = harness.client.after = somehow


@pytest.mark.parametrize("step", ["1", "2147483647"])
@pytest.mark.parametrize("seed", [1, 3, 9, 106])
async def test_all_orders_end_as_submitted_despite_lost_answers_delays_and_crashes(
    harness: GatewayHarness, seed: int, step: str
) -> None:
    random, now = Random(seed), harness
    names = [f"foo-{n}" for n in range(6)]
    await harness.configure(**{R: step})
    await harness.having({name: random.sample(range(1, 7), 3) for name in names})
    for _ in range(25):
        if random.random() < 0.15:
            now = await now.restarted()
        disturb(now, random)
        target = random.choice([None, random.sample(range(1, 7), random.randrange(1, 4))])
        outcomes = await now.try_alter({random.choice(names): target})
        # A step that ended before its undo is not reversed, because that could lose data.
        refusals = {ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, ErrorCode.INVALID_REPLICA_ASSIGNMENT}
        assert {each.error for each in outcomes} <= {ErrorCode.NONE, *refusals}
        await now.advance(random.choice([0, 0.05, 0.3, 2]))
    # The undo of a lost step waits for a minute, because brokers may lag behind.
    await now.until_idle(120)
    await now.until(lambda: not now.state.gateway.steps, 120)
    for name in names:
        assert now.hosts(name) == set(now.replicas(name))
    assert now.inner.state.orders.reassignments == {}
    if now is not harness:
        await now.detach()
