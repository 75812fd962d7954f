"""Tests that every backend must pass: how it carries out the decisions of the controller.

A harness runs a controller with its backend; see `tests.backends.harness`.
"""

from collections.abc import AsyncIterator, Callable, Coroutine
from random import Random

import pytest

from controller.messages.events import AlterReassignments
from controller.messages.job_events import AlterRow, AlterTopic
from controller.model.cluster import NO_LEADER
from controller.model.configs import RATES, SCHEDULE, THROTTLE, THROTTLED_REPLICAS
from controller.model.limits import PlanLimits
from controller.scheduling.limits import LETTERED
from tests.backends.harness import EmbeddedHarness
from tests.backends.upstream.harness import GatewayHarness
from tests.backends.zookeeper.harness import OLD, ZookeeperHarness

pytestmark = pytest.mark.whole

AnyHarness = EmbeddedHarness | GatewayHarness
"""ZookeeperHarness is a subclass of EmbeddedHarness: its brokers are embedded, too."""

P = "reassignment.max.concurrent.partition.movements"


LIMITS = dict(zip((limit.config for limit in LETTERED), ("1", "2", "1", "2", "2"), strict=True))
"""R, P, L, C and B: replicas of a partition move one at a time, of two partitions and one leader at most."""


async def limited(harness: AnyHarness) -> AnyHarness:
    """Set all limits of KIP-435."""
    await harness.configure(**LIMITS)
    return harness


async def embedded() -> AnyHarness:
    return await EmbeddedHarness().start()


async def embedded_limited() -> AnyHarness:
    return await limited(await embedded())


async def upstream() -> AnyHarness:
    """Without the health guard, which would start no steps while a broker is stopped."""
    harness = await GatewayHarness(await EmbeddedHarness().start()).start()
    await harness.configure(**{"reassignment.health.guard": "off"})
    return harness


async def upstream_limited() -> AnyHarness:
    return await limited(await upstream())


async def zookeeper() -> AnyHarness:
    return await ZookeeperHarness().start()


async def zookeeper_limited() -> AnyHarness:
    return await limited(await zookeeper())


async def old_zookeeper() -> AnyHarness:
    return await ZookeeperHarness(version=OLD).start()


BACKENDS: dict[str, Callable[[], Coroutine[None, None, AnyHarness]]] = {
    "embedded": embedded,
    "embedded, limited": embedded_limited,
    "upstream": upstream,
    "upstream, limited": upstream_limited,
    "zookeeper": zookeeper,
    "zookeeper, limited": zookeeper_limited,
    "zookeeper, brokers store ISRs": old_zookeeper,
}
"""KIP-435's test plan: all tests run with its limits unset and set."""


def batched(harness: AnyHarness) -> bool:
    """Whether R is 1: replicas are added one by one, the preferred leader of the target first."""
    return harness.state.backlog.usage.limits.step == 1


def throttles(harness: AnyHarness) -> dict[tuple[str, str, str], str]:
    """Return the throttle configs that are set in the cluster, by kind, name and config."""
    state = harness.inner.state if isinstance(harness, GatewayHarness) else harness.state
    return {
        (kind.name.lower(), name, config): value
        for (kind, name), configs in state.settings.configs.items()
        for config, value in configs.items()
        if config in {*RATES, *THROTTLED_REPLICAS}
    }


@pytest.fixture(params=BACKENDS)
async def harness(request: pytest.FixtureRequest) -> AsyncIterator[AnyHarness]:
    harness = await BACKENDS[request.param]()
    yield harness
    await harness.stop()


async def test_a_reassignment_ends_at_its_target_and_leaves_no_old_replica(harness: AnyHarness) -> None:
    await harness.having({"foo-0": [1, 2, 3]})
    await harness.alter({"foo-0": [4, 5, 6]})
    assert set(harness.replicas("foo-0")) > {1, 2, 3}
    assert 2 < await harness.until_idle() < 10
    assert harness.replicas("foo-0") == (4, 5, 6)
    assert set(harness["foo-0"].isr) == {4, 5, 6}
    assert harness.hosts("foo-0") == {4, 5, 6}
    assert harness.leaders("foo-0") == {harness["foo-0"].leader}


async def test_many_reassignments_run_in_parallel(harness: AnyHarness) -> None:
    await harness.having({f"foo-{n}": [1, 2] for n in range(20)})
    await harness.alter({f"foo-{n}": [2, 3 + n % 4] for n in range(20)})
    await harness.until_idle(120)
    assert {harness.replicas(f"foo-{n}") for n in range(20)} == {(2, 3), (2, 4), (2, 5), (2, 6)}
    assert harness.hosts("foo-5") == {2, 4}


async def test_a_reorder_moves_no_data_and_ends_at_once(harness: AnyHarness) -> None:
    await harness.having({"foo-0": [1, 2, 3]})
    await harness.alter({"foo-0": [3, 1, 2]})
    assert await harness.until_idle() <= harness.at_once
    assert harness.replicas("foo-0") == (3, 1, 2)
    assert harness["foo-0"].leader == (3 if batched(harness) else 1)


async def test_after_a_reorder_the_isr_can_still_change(harness: AnyHarness) -> None:
    await harness.having({"foo-0": [1, 2, 3]})
    await harness.alter({"foo-0": [3, 1, 2]})
    await harness.alter({"foo-0": [1, 2, 4]})
    await harness.until_idle()
    assert set(harness["foo-0"].isr) == {1, 2, 4}


async def test_a_removal_of_replicas_completes_at_once(harness: AnyHarness) -> None:
    await harness.having({"foo-0": [1, 2, 3]})
    await harness.alter({"foo-0": [3]})
    assert await harness.until_idle() <= harness.at_once
    assert harness.hosts("foo-0") == harness.leaders("foo-0") == {3}


async def test_adding_replicas_keeps_the_leader(harness: AnyHarness) -> None:
    await harness.having({"foo-0": [1]})
    await harness.alter({"foo-0": [1, 2, 3]})
    await harness.until_idle()
    assert (harness["foo-0"].leader, set(harness["foo-0"].isr)) == (1, {1, 2, 3})


async def test_a_cancel_restores_the_replica_order_and_drops_the_new_replicas(harness: AnyHarness) -> None:
    await harness.having({"foo-0": [1, 2, 3]})
    await harness.alter({"foo-0": [3, 4, 2]})
    await harness.advance(0.5)
    assert 4 in harness.hosts("foo-0")
    await harness.alter({"foo-0": None})
    assert await harness.until_idle() <= harness.at_once
    assert harness.replicas("foo-0") == (1, 2, 3)
    assert harness.hosts("foo-0") == {1, 2, 3}


async def test_a_newer_order_replaces_the_target(harness: AnyHarness) -> None:
    await harness.having({"foo-0": [1, 2]})
    await harness.alter({"foo-0": [3, 4]})
    await harness.advance(0.5)
    await harness.alter({"foo-0": [4, 5]})
    await harness.until_idle()
    assert harness.replicas("foo-0") == (4, 5)
    assert harness.hosts("foo-0") == {4, 5}


async def test_a_replica_ordered_again_right_after_a_cancel_is_kept(harness: AnyHarness) -> None:
    await harness.having({"foo-0": [1, 2]})
    await harness.alter({"foo-0": [1, 3]})
    await harness.alter({"foo-0": None})
    await harness.alter({"foo-0": [1, 3]})
    await harness.until_idle()
    assert harness.hosts("foo-0") == {1, 3}


async def test_a_reassignment_waits_for_an_adding_replica_that_crashes_and_returns(
    harness: AnyHarness,
) -> None:
    await harness.having({"foo-0": [1, 2]})
    await harness.alter({"foo-0": [1, 3]})
    await harness.advance(0.3)
    await harness.stop_broker(3, controlled=False)
    await harness.advance(5)
    assert harness.reassignment("foo-0") is not None
    await harness.cluster.start_broker(3)
    await harness.until_idle()
    assert harness.hosts("foo-0") == {1, 3}


async def test_a_reassignment_continues_under_a_new_leader_after_a_crash(harness: AnyHarness) -> None:
    await harness.having({"foo-0": [1, 2]})
    await harness.alter({"foo-0": [3, 4]})
    await harness.advance(0.3)
    await harness.stop_broker(1, controlled=False)
    await harness.until_idle()
    assert set(harness["foo-0"].isr) == {3, 4}
    await harness.cluster.start_broker(1)
    await harness.advance(1)
    assert harness.hosts("foo-0") == {3, 4}


async def test_a_partition_without_a_live_replica_is_online_again_with_its_broker(
    harness: AnyHarness,
) -> None:
    await harness.having({"foo-0": [1]})
    await harness.alter({"foo-0": [2]})
    await harness.advance(0.3)
    await harness.stop_broker(1, controlled=False)
    await harness.until(lambda: harness["foo-0"].leader == NO_LEADER)
    await harness.advance(2)
    await harness.cluster.start_broker(1)
    await harness.until_idle()
    assert harness.hosts("foo-0") == harness.leaders("foo-0") == {2}


async def test_a_stalled_step_frees_its_capacity_and_starts_again(harness: AnyHarness) -> None:
    await harness.configure(**{"reassignment.step.timeout.ms": "5000"})
    await harness.having({"foo-0": [1, 2]})
    await harness.alter({"foo-0": [1, 3]})
    await harness.stop_broker(3, controlled=False)
    await harness.until(lambda: not harness["foo-0"].moving, 20)
    assert len(harness.state.backlog.costs) == 0
    await harness.cluster.start_broker(3)
    await harness.until_idle()
    assert harness.hosts("foo-0") == {1, 3}


async def test_a_controlled_shutdown_moves_the_leaders_of_the_broker(harness: AnyHarness) -> None:
    await harness.having({"foo-0": [1, 2], "foo-1": [2, 1]})
    await harness.stop_broker(1, controlled=True)
    await harness.until(lambda: (harness["foo-0"].leader, harness["foo-0"].isr) == (2, (2,)))
    await harness.cluster.start_broker(1)
    await harness.until(lambda: set(harness["foo-0"].isr) == {1, 2} == set(harness["foo-1"].isr))


async def test_a_moving_topic_is_deleted_when_its_steps_have_ended(harness: AnyHarness) -> None:
    await harness.having({"foo-0": [1, 2]})
    await harness.alter({"foo-0": [3, 4]})
    await harness.delete("foo")
    await harness.advance(0.5)
    assert harness.hosts("foo-0") == ({1, 2, 3} if batched(harness) else {1, 2, 3, 4})
    await harness.until(lambda: "foo" not in harness.state.cluster.topics)
    await harness.advance(0.1)
    assert harness.hosts("foo-0") == set()


async def test_a_topic_created_again_under_its_name_keeps_its_replicas(harness: AnyHarness) -> None:
    await harness.having({"foo-0": [1, 2]})
    await harness.alter({"foo-0": [2, 1]})
    await harness.delete("foo")
    await harness.having({"foo-0": [2, 3]})
    await harness.advance(1)
    assert harness.hosts("foo-0") == {2, 3}
    assert harness.leaders("foo-0") == {2}


@pytest.mark.parametrize("backend", BACKENDS)
async def test_a_controller_continues_after_a_crash_after_any_commit(backend: str) -> None:
    harness = await BACKENDS[backend]()
    await harness.having({"foo-0": [1, 2, 3], "foo-1": [2, 3, 4]})
    accepted = harness.commits + 1
    await harness.alter({"foo-0": [4, 5, 6], "foo-1": [4, 5, 6]})
    await harness.until_idle()
    for commits in range(accepted, harness.commits + 1):
        again = await harness.survivor(commits)
        await again.until_idle()
        await again.advance(1)
        for name in ("foo-0", "foo-1"):
            assert again.hosts(name) == {4, 5, 6} == set(again[name].isr)
        await again.stop()


@pytest.mark.parametrize("backend", BACKENDS)
async def test_a_crash_at_any_point_leaves_no_throttle(backend: str) -> None:
    harness = await BACKENDS[backend]()
    await harness.having({"foo-0": [1, 2, 3]})
    await harness.configure(**{THROTTLE: "2000000"})
    accepted = harness.commits + 1
    await harness.alter({"foo-0": [4, 5, 3]})
    await harness.until_idle()
    await harness.until(lambda: not harness.state.throttle.leases)
    for commits in range(accepted, harness.commits + 1):
        again = await harness.survivor(commits)
        await again.until_idle()
        await again.until(lambda harness=again: not harness.state.throttle.leases)  # type: ignore[misc]
        assert throttles(again) == {}
        await again.stop()
    await harness.stop()


@pytest.mark.parametrize("backend", BACKENDS)
async def test_steps_start_in_a_period_under_its_throttle_despite_restarts(backend: str) -> None:
    harness = await BACKENDS[backend]()
    await harness.having({"foo-0": [1, 2]})
    await harness.configure(**{SCHEDULE: "00:01-00:02 throttle=400000"})
    await harness.alter({"foo-0": [1, 3]})
    harness = await harness.restarted()
    await harness.advance(10)
    assert harness.hosts("foo-0") == {1, 2}
    assert throttles(harness) == {}
    await harness.at_minute(1)
    await harness.until(lambda: 3 in harness.hosts("foo-0"), 5)
    assert throttles(harness)["broker", "3", RATES[1]] == "400000"
    assert throttles(harness)["topic", "foo", THROTTLED_REPLICAS[1]] == "0:3"
    harness = await harness.restarted()
    await harness.until_idle()
    assert harness.hosts("foo-0") == {1, 3}
    await harness.until(lambda: throttles(harness) == {})
    await harness.stop()


@pytest.mark.parametrize("backend", BACKENDS)
async def test_after_a_period_a_step_ends_and_no_other_starts(backend: str) -> None:
    harness = await BACKENDS[backend]()
    await harness.having({"foo-0": [1, 2], "foo-1": [1, 2]})
    await harness.configure(**{SCHEDULE: "00:00-00:01 throttle=16000", P: "1"})
    await harness.alter({"foo-0": [1, 3], "foo-1": [1, 4]})
    await harness.at_minute(1)
    assert set(throttles(harness).values()) > {"16000"}
    await harness.until(lambda: len(harness.state.orders.reassignments) == 1, 30)
    await harness.advance(10)
    assert {harness.hosts(name) == {1, 2} for name in ("foo-0", "foo-1")} == {True, False}
    assert throttles(harness) == {}
    await harness.stop()


@pytest.mark.parametrize("backend", BACKENDS)
async def test_the_limits_of_a_job_hold_despite_a_restart(backend: str) -> None:
    harness = await BACKENDS[backend]()
    names = [f"foo-{n}" for n in range(3)]
    await harness.having({name: [1, 2] for name in names})
    rows = [AlterTopic("foo", [AlterRow(n, (1, 3 + n)) for n in range(3)])]
    await harness.do(AlterReassignments(rows, limits=PlanLimits(partitions=1)))
    harness = await harness.restarted()
    most = 0
    while harness.state.orders.reassignments:
        most = max(most, sum(bool(harness[name].adding) for name in names))
        await harness.advance(0.05)
    assert most == 1
    assert [harness.hosts(name) for name in names] == [{1, 3}, {1, 4}, {1, 5}]
    await harness.stop()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("seed", range(12))
async def test_all_reassignments_complete_despite_random_failures(backend: str, seed: int) -> None:
    harness = await BACKENDS[backend]()
    random = Random(seed)
    names = [f"foo-{n}" for n in range(6)] + [f"bar-{n}" for n in range(3)]
    await harness.having({name: random.sample(range(1, 7), 3) for name in names})
    stopped: set[int] = set()
    for _ in range(25):
        await _act_at_random(harness, random, names, stopped)
        await harness.advance(random.choice([0, 0.05, 0.3, 2]))
    for broker in stopped:
        await harness.cluster.start_broker(broker)
    await harness.until_idle()
    await harness.until(lambda: all(set(harness[name].isr) == set(harness.replicas(name)) for name in names))
    await harness.until(lambda: all(harness.leaders(name) == {harness[name].leader} for name in names))
    for name in names:
        assert harness.hosts(name) == set(harness.replicas(name))
    await harness.stop()


async def _act_at_random(harness: AnyHarness, random: Random, names: list[str], stopped: set[int]) -> None:
    """Stop or start a broker, cancel a reassignment, or order one."""
    live = [broker for broker in range(1, 7) if broker not in stopped]
    match random.randrange(6):
        case 0 if len(live) > 3:
            broker = random.choice(live)
            await harness.stop_broker(broker, controlled=random.random() < 0.5)
            stopped.add(broker)
        case 1 if stopped:
            await harness.cluster.start_broker(stopped.pop())
        case 2:
            await harness.try_alter({random.choice(names): None})
        case _:
            wanted = random.sample(live, min(len(live), random.randrange(1, 4)))
            await harness.try_alter({random.choice(names): wanted})
