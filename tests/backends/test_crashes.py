"""A crash between any two durable writes: nothing acknowledged is lost, and everything ends where it should."""

import pytest

from controller.configs.names import THROTTLE
from controller.messages.events import AlterConfigs, ResourceChanges
from controller.messages.job_events import RollBackJob
from controller.model.cluster import ResourceType
from controller.model.configs import ConfigChange, ConfigOp
from tests.backends.harness import Embedded

pytestmark = pytest.mark.whole

ORIGINAL = {f"foo-{n}": (1 + n % 3, 4, 5) for n in range(4)}
TARGET = {name: (6, 2, 1) if name == "foo-1" else (6, 3, 2) for name in ORIGINAL}
PREFIX = "reassignment.max.concurrent."


async def configure(world: Embedded, **values: str) -> None:
    changes = [ConfigChange(name, ConfigOp.SET, value) for name, value in values.items()]
    await world.do(AlterConfigs([ResourceChanges(ResourceType.BROKER, "", changes)]))


async def limited_and_throttled() -> Embedded:
    world = await Embedded().start()
    await world.having(ORIGINAL)
    limits = {PREFIX + "partition.movements": "2", PREFIX + "replica.movements.per.partition": "1"}
    await configure(world, **limits, **{THROTTLE: "700000"})
    return world


async def lives(world: Embedded, first: int) -> list[Embedded]:
    """What would be there had the process died after each commit from `first` on, all moves ended."""
    ended = []
    for commits in range(first, len(world.store.commits) + 1):
        again = await Embedded(world.store.survived(commits)).start()
        await again.until_idle(300)
        await again.advance(1)
        ended.append(again)
        await again.stop()
    await world.stop()
    return ended


def assert_clean(world: Embedded) -> None:
    """No replica leaked, no lease is left, and every job has ended."""
    for name in ORIGINAL:
        assert world.hosts(name) == set(world.replicas(name)) == set(world[name].isr)
    assert world.state.leases == {}
    assert [key for key in world.state.configs if key[1]] == []
    assert all(job.ended_ms for job in world.state.jobs.values())
    assert len(world.state.backlog.costs) == 0


async def test_a_limited_and_throttled_plan_ends_at_its_target() -> None:
    world = await limited_and_throttled()
    await world.alter(TARGET)
    accepted = len(world.store.commits)
    await world.until_idle(300)
    for again in await lives(world, accepted):
        assert {name: again.replicas(name) for name in TARGET} == TARGET
        assert_clean(again)


async def test_a_job_that_was_taken_back_ends_at_its_originals() -> None:
    world = await limited_and_throttled()
    await world.alter(TARGET)
    await world.advance(6)
    assert (await world.do(RollBackJob(1))).outcome.ok
    accepted = len(world.store.commits)
    await world.until_idle(300)
    for again in await lives(world, accepted):
        assert {name: again.replicas(name) for name in ORIGINAL} == ORIGINAL
        assert_clean(again)


async def test_a_limit_that_was_changed_meanwhile_stays_changed() -> None:
    world = await limited_and_throttled()
    await world.alter(TARGET)
    await world.advance(1)
    await configure(world, **{PREFIX + "partition.movements": "1"})
    accepted = len(world.store.commits)
    await world.until_idle(300)
    for again in await lives(world, accepted):
        assert again.state.backlog.usage.limits.partitions == 1
        assert {name: again.replicas(name) for name in TARGET} == TARGET
