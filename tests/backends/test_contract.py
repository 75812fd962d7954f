"""What every backend must do with the controller's decisions, on each backend there is.

A world is one life of a controller with its backend; see `tests.backends.harness`.
"""

from collections.abc import AsyncIterator, Callable, Coroutine
from random import Random

import pytest

from controller.configs.names import RATES, THROTTLE, THROTTLED_REPLICAS
from controller.model.cluster import NO_LEADER
from tests.backends.harness import Embedded
from tests.backends.upstream.harness import Gatewayed
from tests.backends.zookeeper.harness import OLD, ZookeeperHarness

pytestmark = pytest.mark.whole

World = Embedded | Gatewayed
"""The ZooKeeper world is an embedded one too: so are its brokers."""

R = "reassignment.max.concurrent.replica.movements.per.partition"


async def one_by_one(world: World) -> World:
    """With R = 1: replicas move one at a time."""
    await world.configure(**{R: "1"})
    return world


async def embedded() -> World:
    return await Embedded().start()


async def embedded_one_by_one() -> World:
    return await one_by_one(await embedded())


async def upstream() -> World:
    """Without the health guard: what starts while a broker is missing is not what this suite is about."""
    world = await Gatewayed(await Embedded().start()).start()
    await world.configure(**{"reassignment.health.guard": "off"})
    return world


async def upstream_one_by_one() -> World:
    return await one_by_one(await upstream())


async def zookeeper() -> World:
    return await ZookeeperHarness().start()


async def zookeeper_one_by_one() -> World:
    return await one_by_one(await zookeeper())


async def old_zookeeper() -> World:
    return await ZookeeperHarness(version=OLD).start()


BACKENDS: dict[str, Callable[[], Coroutine[None, None, World]]] = {
    "embedded": embedded,
    "embedded, R=1": embedded_one_by_one,
    "upstream": upstream,
    "upstream, R=1": upstream_one_by_one,
    "zookeeper": zookeeper,
    "zookeeper, R=1": zookeeper_one_by_one,
    "zookeeper, brokers store ISRs": old_zookeeper,
}
"""KIP-435's test plan: everything with and without batches."""


def batched(world: World) -> bool:
    """With R set, the target's first replica leads as soon as it can, and replicas come one by one."""
    return world.state.backlog.usage.limits.step == 1


@pytest.fixture(params=BACKENDS)
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    world = await BACKENDS[request.param]()
    yield world
    await world.stop()


async def test_a_move_ends_at_its_target_and_leaves_nothing_behind(world: World) -> None:
    await world.having({"foo-0": [1, 2, 3]})
    await world.alter({"foo-0": [4, 5, 6]})
    assert set(world.replicas("foo-0")) > {1, 2, 3}
    assert 2 < await world.until_idle() < 10
    assert world.replicas("foo-0") == (4, 5, 6)
    assert set(world["foo-0"].isr) == {4, 5, 6}
    assert world.hosts("foo-0") == {4, 5, 6}
    assert world.leaders("foo-0") == {world["foo-0"].leader}


async def test_many_moves_run_side_by_side(world: World) -> None:
    await world.having({f"foo-{n}": [1, 2] for n in range(20)})
    await world.alter({f"foo-{n}": [2, 3 + n % 4] for n in range(20)})
    await world.until_idle(120)
    assert {world.replicas(f"foo-{n}") for n in range(20)} == {(2, 3), (2, 4), (2, 5), (2, 6)}
    assert world.hosts("foo-5") == {2, 4}


async def test_a_reorder_moves_no_data_and_ends_at_once(world: World) -> None:
    await world.having({"foo-0": [1, 2, 3]})
    await world.alter({"foo-0": [3, 1, 2]})
    assert await world.until_idle() <= world.at_once
    assert world.replicas("foo-0") == (3, 1, 2)
    assert world["foo-0"].leader == (3 if batched(world) else 1)


async def test_after_a_reorder_the_isr_can_still_change(world: World) -> None:
    await world.having({"foo-0": [1, 2, 3]})
    await world.alter({"foo-0": [3, 1, 2]})
    await world.alter({"foo-0": [1, 2, 4]})
    await world.until_idle()
    assert set(world["foo-0"].isr) == {1, 2, 4}


async def test_fewer_replicas_are_there_at_once(world: World) -> None:
    await world.having({"foo-0": [1, 2, 3]})
    await world.alter({"foo-0": [3]})
    assert await world.until_idle() <= world.at_once
    assert world.hosts("foo-0") == world.leaders("foo-0") == {3}


async def test_more_replicas_keep_the_leader(world: World) -> None:
    await world.having({"foo-0": [1]})
    await world.alter({"foo-0": [1, 2, 3]})
    await world.until_idle()
    assert (world["foo-0"].leader, set(world["foo-0"].isr)) == (1, {1, 2, 3})


async def test_a_cancel_restores_the_order_and_drops_what_had_arrived(world: World) -> None:
    await world.having({"foo-0": [1, 2, 3]})
    await world.alter({"foo-0": [3, 4, 2]})
    await world.advance(0.5)
    assert 4 in world.hosts("foo-0")
    await world.alter({"foo-0": None})
    assert await world.until_idle() <= world.at_once
    assert world.replicas("foo-0") == (1, 2, 3)
    assert world.hosts("foo-0") == {1, 2, 3}


async def test_an_override_leads_to_the_newer_target(world: World) -> None:
    await world.having({"foo-0": [1, 2]})
    await world.alter({"foo-0": [3, 4]})
    await world.advance(0.5)
    await world.alter({"foo-0": [4, 5]})
    await world.until_idle()
    assert world.replicas("foo-0") == (4, 5)
    assert world.hosts("foo-0") == {4, 5}


async def test_a_replica_that_is_ordered_again_just_after_its_cancel_stays(world: World) -> None:
    await world.having({"foo-0": [1, 2]})
    await world.alter({"foo-0": [1, 3]})
    await world.alter({"foo-0": None})
    await world.alter({"foo-0": [1, 3]})
    await world.until_idle()
    assert world.hosts("foo-0") == {1, 3}


async def test_a_move_waits_for_a_new_replica_that_dies_and_returns(world: World) -> None:
    await world.having({"foo-0": [1, 2]})
    await world.alter({"foo-0": [1, 3]})
    await world.advance(0.3)
    await world.stop_broker(3, controlled=False)
    await world.advance(5)
    assert world.wanted("foo-0") is not None
    await world.cluster.start_broker(3)
    await world.until_idle()
    assert world.hosts("foo-0") == {1, 3}


async def test_a_move_goes_on_under_a_new_leader_when_the_old_one_dies(world: World) -> None:
    await world.having({"foo-0": [1, 2]})
    await world.alter({"foo-0": [3, 4]})
    await world.advance(0.3)
    await world.stop_broker(1, controlled=False)
    await world.until_idle()
    assert set(world["foo-0"].isr) == {3, 4}
    await world.cluster.start_broker(1)
    await world.advance(1)
    assert world.hosts("foo-0") == {3, 4}


async def test_a_partition_without_a_live_replica_comes_back_with_its_broker(world: World) -> None:
    await world.having({"foo-0": [1]})
    await world.alter({"foo-0": [2]})
    await world.advance(0.3)
    await world.stop_broker(1, controlled=False)
    await world.until(lambda: world["foo-0"].leader == NO_LEADER)
    await world.advance(2)
    await world.cluster.start_broker(1)
    await world.until_idle()
    assert world.hosts("foo-0") == world.leaders("foo-0") == {2}


async def test_a_step_that_gets_nowhere_gives_its_place_back_and_is_begun_again(world: World) -> None:
    await world.configure(**{"reassignment.step.timeout.ms": "5000"})
    await world.having({"foo-0": [1, 2]})
    await world.alter({"foo-0": [1, 3]})
    await world.stop_broker(3, controlled=False)
    await world.until(lambda: not world["foo-0"].moving, 20)
    assert len(world.state.backlog.costs) == 0
    await world.cluster.start_broker(3)
    await world.until_idle()
    assert world.hosts("foo-0") == {1, 3}


async def test_a_broker_that_stops_in_order_hands_its_leaderships_over(world: World) -> None:
    await world.having({"foo-0": [1, 2], "foo-1": [2, 1]})
    await world.stop_broker(1, controlled=True)
    await world.until(lambda: (world["foo-0"].leader, world["foo-0"].isr) == (2, (2,)))
    await world.cluster.start_broker(1)
    await world.until(lambda: set(world["foo-0"].isr) == {1, 2} == set(world["foo-1"].isr))


async def test_a_topic_deleted_while_it_moves_goes_when_it_has_stopped(world: World) -> None:
    await world.having({"foo-0": [1, 2]})
    await world.alter({"foo-0": [3, 4]})
    await world.delete("foo")
    await world.advance(0.5)
    assert world.hosts("foo-0") == ({1, 2, 3} if batched(world) else {1, 2, 3, 4})
    await world.until(lambda: "foo" not in world.state.topics)
    await world.advance(0.1)
    assert world.hosts("foo-0") == set()


async def test_a_topic_made_anew_under_an_old_name_keeps_its_replicas(world: World) -> None:
    await world.having({"foo-0": [1, 2]})
    await world.alter({"foo-0": [2, 1]})
    await world.delete("foo")
    await world.having({"foo-0": [2, 3]})
    await world.advance(1)
    assert world.hosts("foo-0") == {2, 3}
    assert world.leaders("foo-0") == {2}


@pytest.mark.parametrize("backend", BACKENDS)
async def test_a_controller_killed_after_any_commit_goes_on_where_it_was(backend: str) -> None:
    world = await BACKENDS[backend]()
    await world.having({"foo-0": [1, 2, 3], "foo-1": [2, 3, 4]})
    accepted = world.commits + 1
    await world.alter({"foo-0": [4, 5, 6], "foo-1": [4, 5, 6]})
    await world.until_idle()
    for commits in range(accepted, world.commits + 1):
        again = await world.survivor(commits)
        await again.until_idle()
        await again.advance(1)
        for name in ("foo-0", "foo-1"):
            assert again.hosts(name) == {4, 5, 6} == set(again[name].isr)
        await again.stop()


@pytest.mark.parametrize("backend", BACKENDS)
async def test_a_crash_at_any_point_leaves_no_throttle(backend: str) -> None:
    world = await BACKENDS[backend]()
    await world.having({"foo-0": [1, 2, 3]})
    await world.configure(**{THROTTLE: "2000000"})
    accepted = world.commits + 1
    await world.alter({"foo-0": [4, 5, 3]})
    await world.until_idle()
    await world.until(lambda: not world.state.leases)
    for commits in range(accepted, world.commits + 1):
        again = await world.survivor(commits)
        await again.until_idle()
        await again.until(lambda world=again: not world.state.leases)  # type: ignore[misc]
        state = again.inner.state if isinstance(again, Gatewayed) else again.state
        assert not any(
            each in configs for configs in state.configs.values() for each in (*RATES, *THROTTLED_REPLICAS)
        )
        await again.stop()
    await world.stop()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("seed", range(12))
async def test_whatever_goes_wrong_meanwhile_all_moves_end_in_order(backend: str, seed: int) -> None:
    world = await BACKENDS[backend]()
    random = Random(seed)
    names = [f"foo-{n}" for n in range(6)] + [f"bar-{n}" for n in range(3)]
    await world.having({name: random.sample(range(1, 7), 3) for name in names})
    stopped: set[int] = set()
    for _ in range(25):
        await _trouble(world, random, names, stopped)
        await world.advance(random.choice([0, 0.05, 0.3, 2]))
    for broker in stopped:
        await world.cluster.start_broker(broker)
    await world.until_idle()
    await world.until(lambda: all(set(world[name].isr) == set(world.replicas(name)) for name in names))
    await world.until(lambda: all(world.leaders(name) == {world[name].leader} for name in names))
    for name in names:
        assert world.hosts(name) == set(world.replicas(name))
    await world.stop()


async def _trouble(world: World, random: Random, names: list[str], stopped: set[int]) -> None:
    """One thing that people or machines do."""
    live = [broker for broker in range(1, 7) if broker not in stopped]
    match random.randrange(6):
        case 0 if len(live) > 3:
            broker = random.choice(live)
            await world.stop_broker(broker, controlled=random.random() < 0.5)
            stopped.add(broker)
        case 1 if stopped:
            await world.cluster.start_broker(stopped.pop())
        case 2:
            await world.try_alter({random.choice(names): None})
        case _:
            wanted = random.sample(live, min(len(live), random.randrange(1, 4)))
            await world.try_alter({random.choice(names): wanted})
