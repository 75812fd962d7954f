import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from backends.client.errors import AuthenticationError, RequestLostError, UnreachableError
from backends.upstream.backend import RETRY_SECONDS
from backends.upstream.old_throttles import FILE, import_leases
from common.clock import settle
from common.error_codes import ErrorCode
from controller.configs.names import LEADER_RATE, LEADER_REPLICAS, THROTTLE
from controller.messages.effects import Publish
from controller.model.configs import ResourceType
from controller.reassignment.phases import Phase, phase_of
from protocol.messages.alter_partition_reassignments_request import AlterPartitionReassignmentsRequest
from tests.backends.harness import Embedded
from tests.backends.upstream.harness import Gatewayed
from tests.builders import key, partition

R = "reassignment.max.concurrent.replica.movements.per.partition"


@pytest.fixture
async def inner() -> Embedded:
    return await Embedded().start()


@pytest.fixture
async def world(inner: Embedded) -> AsyncIterator[Gatewayed]:
    world = await Gatewayed(inner).start()
    await world.configure(**{"reassignment.health.guard": "off"})
    yield world
    await world.stop()


def failing(error: Exception) -> Any:
    async def fail(_: Any) -> None:
        raise error

    return fail


async def test_the_start_waits_for_an_upstream_that_cannot_be_reached_and_says_so_once(
    inner: Embedded,
) -> None:
    world, said = Gatewayed(inner), list[str]()
    world.driver.start(world.upstream)
    reach, world.client.before = world.client.before, failing(UnreachableError("nobody answers on b:1"))
    starting = asyncio.create_task(world.upstream.start(said.append))
    await world.advance(2 * RETRY_SECONDS)
    assert world.state.unreachable == "nobody answers on b:1"
    assert said == ["waiting for the upstream: nobody answers on b:1"]
    world.client.before = reach
    await world.advance(RETRY_SECONDS)
    await starting
    assert set(world.state.live) == set(range(1, 7))
    await world.stop()


async def test_sizes_and_disks_are_known_before_anything_starts(inner: Embedded) -> None:
    await inner.having({"foo-0": [1, 2]})
    world = await Gatewayed(inner).start()
    assert world.state.sizes[key("foo-0")] == inner.settings.partition_bytes
    assert set(world.state.disks) == set(range(1, 7))
    await world.stop()


async def test_the_start_ends_when_credentials_are_refused(inner: Embedded) -> None:
    world = Gatewayed(inner)
    world.client.before = failing(AuthenticationError("wrong password"))
    with pytest.raises(AuthenticationError, match="wrong password"):
        await world.start()
    await world.stop()


async def test_an_upstream_that_goes_away_is_told_and_comes_back(world: Gatewayed) -> None:
    await world.having({"foo-0": [1, 2]})
    reach, world.client.before = world.client.before, failing(UnreachableError("gone"))
    await world.until(lambda: world.state.unreachable == "gone")
    await world.alter({"foo-0": [3, 4]})
    assert phase_of(world.state, key("foo-0")) is Phase.QUEUED
    world.client.before = reach
    await world.until_idle()
    assert world.replicas("foo-0") == (3, 4)


async def test_what_nobody_expects_is_told_once(world: Gatewayed) -> None:
    broken = ZeroDivisionError("broken")
    world.client.before = failing(broken)
    await world.advance(15)
    assert world.failures == [broken]
    world.failures.clear()


async def test_a_broker_command_is_an_error(world: Gatewayed) -> None:
    with pytest.raises(AssertionError, match="unreachable, but got: Publish"):
        world.upstream.perform([Publish(partition("foo-0", (1,)))])  # type: ignore[list-item]


async def test_an_order_reaches_the_upstream_once(world: Gatewayed) -> None:
    await world.having({"foo-0": [1, 2]})
    await world.alter({"foo-0": [3, 4]})
    await world.until_idle()
    assert len(world.sent(AlterPartitionReassignmentsRequest)) == 1


async def test_a_look_under_way_when_a_step_is_decided_sends_it_no_second_time(world: Gatewayed) -> None:
    """The store is slow: the look sees the step in memory, and the upstream has not heard of it yet."""
    await world.having({"foo-0": [1, 2]})
    world.store.hold(after=len(world.store.commits))
    ordered = asyncio.create_task(world.alter({"foo-0": [3, 4]}))
    await world.advance(5)
    assert world.sent(AlterPartitionReassignmentsRequest) == []
    world.store.release()
    await ordered
    await world.until_idle()
    assert len(world.sent(AlterPartitionReassignmentsRequest)) == 1


async def test_min_isr_is_learnt_from_the_upstream_before_the_second_step(world: Gatewayed) -> None:
    await world.configure(**{R: "1"})
    await world.having({"foo-0": [1, 2, 3]}, min_insync_replicas="3")
    await world.alter({"foo-0": [4, 5, 6]})
    await world.until(lambda: world.state.min_isr("foo") == 3, 2)
    await world.until_idle()


async def test_bytes_that_have_arrived_are_told(world: Gatewayed) -> None:
    await world.having({"foo-0": [1, 2]})
    world.cluster.slow_broker(3, 0.1)
    await world.alter({"foo-0": [1, 3]})
    await world.advance(7)
    assert world.upstream.sizes.size(key("foo-0")) == 1_000_000
    assert 0 < (world.upstream.sizes.arrived(key("foo-0"), 3) or 0) < 1_000_000


@pytest.mark.parametrize("killed", [False, True])
async def test_a_throttle_lasts_as_long_as_the_move_even_over_a_crash(world: Gatewayed, killed: bool) -> None:
    await world.having({"foo-0": [1, 2]})
    await world.configure(**{THROTTLE: "200000"})
    await world.alter({"foo-0": [1, 3]})
    while not world.inner.state.partition("foo", 0).adding:  # type: ignore[union-attr]
        await asyncio.sleep(0.001)
        await settle()
    set_ = {
        name: value for key, values in world.inner.state.configs.items() for name, value in values.items()
    }
    assert set_["follower.replication.throttled.replicas"] == "0:3"
    assert set_["leader.replication.throttled.rate"] == "200000"
    again = await world.restarted() if killed else world
    assert await again.until_idle() > 3
    await again.until(lambda: not again.state.leases, 2)
    assert not [values for values in world.inner.state.configs.values() if any(values.values())]
    if killed:
        await again.detach()


async def test_throttles_in_the_file_of_an_older_version_are_removed(tmp_path: Path) -> None:
    inner = await Embedded().start()
    await inner.having({"foo-0": [1, 2]})
    await inner.configure_resource(ResourceType.TOPIC, "foo", **{LEADER_REPLICAS: "7:7,0:1"})
    await inner.configure_resource(ResourceType.BROKER, "1", **{LEADER_RATE: "5"})
    tables = {
        "topics": {"foo": {LEADER_REPLICAS: ["0:1"]}},
        "brokers": {"1": {LEADER_RATE: ["5"]}, "2": {LEADER_RATE: ["5"]}},
    }
    (tmp_path / FILE).write_text(json.dumps(tables))
    world = Gatewayed(inner)
    world.driver.start(world.upstream)
    world.store.hold()
    importing = asyncio.create_task(import_leases(tmp_path, world.driver.submit))
    await settle()
    assert (tmp_path / FILE).exists()
    world.store.release()
    await importing
    assert not (tmp_path / FILE).exists()
    assert len(list(world.store.load())) == 3
    # A crash right after the upgrade: the records alone are left.
    again = await world.restarted()
    await again.until(lambda: not again.state.leases, 2)
    assert inner.state.configs == {(ResourceType.TOPIC, "foo"): {LEADER_REPLICAS: "7:7"}}
    await again.stop()


def disturb(world: Gatewayed, random: Random) -> None:
    """Requests and answers get lost, or are late."""

    async def somehow(_: Any) -> None:
        chance = random.random()
        if chance < 0.05:
            raise random.choice([UnreachableError, RequestLostError])("cut")
        if chance < 0.5:
            await world.clock.sleep(random.choice([0.01, 0.1, 0.4]))

    world.client.before = world.client.after = somehow


@pytest.mark.parametrize("step", ["1", "2147483647"])
@pytest.mark.parametrize("seed", [1, 3, 9, 106])
async def test_whatever_is_lost_or_late_or_killed_all_orders_end_and_none_is_blamed_on_others(
    world: Gatewayed, seed: int, step: str
) -> None:
    random, now = Random(seed), world
    names = [f"foo-{n}" for n in range(6)]
    await world.configure(**{R: step})
    await world.having({name: random.sample(range(1, 7), 3) for name in names})
    for _ in range(25):
        if random.random() < 0.15:
            now = await now.restarted()
        disturb(now, random)
        target = random.choice([None, random.sample(range(1, 7), random.randrange(1, 4))])
        outcomes = await now.try_alter({random.choice(names): target})
        # Turning a step that was over before it could be taken back would lose data, as far as is known then.
        refusals = {ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, ErrorCode.INVALID_REPLICA_ASSIGNMENT}
        assert {each.error for each in outcomes} <= {ErrorCode.NONE, *refusals}
        await now.advance(random.choice([0, 0.05, 0.3, 2]))
    # A cancel of what was lost waits for a minute, since brokers may lag behind.
    await now.until_idle(120)
    await now.until(lambda: not now.state.upstream_steps, 120)
    for name in names:
        assert now.hosts(name) == set(now.replicas(name))
    assert now.inner.state.reassignments == {}
    if now is not world:
        await now.detach()
