"""A crash after any commit: no acknowledged order is lost, and all jobs end at their targets."""

import pytest

from backends.memory import MemoryStore
from controller.messages.events import AlterConfigs, ResourceChanges
from controller.messages.job_events import RollBackJob
from controller.model.cluster import ResourceType
from controller.model.configs import THROTTLE, ConfigChange, ConfigOp
from tests.backends.harness import EmbeddedHarness

pytestmark = pytest.mark.whole

ORIGINAL = {f"foo-{n}": (1 + n % 3, 4, 5) for n in range(4)}
TARGET = {name: (6, 2, 1) if name == "foo-1" else (6, 3, 2) for name in ORIGINAL}
PREFIX = "reassignment.max.concurrent."


async def configure(harness: EmbeddedHarness, **values: str) -> None:
    changes = [ConfigChange(name, ConfigOp.SET, value) for name, value in values.items()]
    await harness.do(AlterConfigs([ResourceChanges(ResourceType.BROKER, "", changes)]))


async def limited_and_throttled() -> EmbeddedHarness:
    harness = await EmbeddedHarness().start()
    await harness.having(ORIGINAL)
    limits = {PREFIX + "partition.movements": "2", PREFIX + "replica.movements.per.partition": "1"}
    await configure(harness, **limits, **{THROTTLE: "700000"})
    return harness


async def restarted_after_each_commit(harness: EmbeddedHarness, first: int) -> list[EmbeddedHarness]:
    """Crash after each commit from `first` on, and return the restarted controllers when they are idle."""
    ended = []
    for commits in range(first, len(harness.store.commits) + 1):
        again = await EmbeddedHarness(MemoryStore(harness.store.commits[:commits])).start()
        await again.until_idle(300)
        await again.advance(1)
        ended.append(again)
        await again.stop()
    await harness.stop()
    return ended


def assert_clean(harness: EmbeddedHarness) -> None:
    """Check that no replica and no lease is left over and that every job has ended."""
    for name in ORIGINAL:
        assert harness.hosts(name) == set(harness.replicas(name)) == set(harness[name].isr)
    assert harness.state.throttle.leases == {}
    assert [key for key in harness.state.settings.configs if key[1]] == []
    assert all(job.ended_ms for job in harness.state.orders.jobs.values())
    assert len(harness.state.backlog.costs) == 0


async def test_a_limited_and_throttled_plan_ends_at_its_target() -> None:
    harness = await limited_and_throttled()
    await harness.alter(TARGET)
    accepted = len(harness.store.commits)
    await harness.until_idle(300)
    for again in await restarted_after_each_commit(harness, accepted):
        assert {name: again.replicas(name) for name in TARGET} == TARGET
        assert_clean(again)


async def test_a_job_that_is_rolled_back_ends_at_its_originals() -> None:
    harness = await limited_and_throttled()
    await harness.alter(TARGET)
    await harness.advance(6)
    assert (await harness.do(RollBackJob(1))).outcome.ok
    accepted = len(harness.store.commits)
    await harness.until_idle(300)
    for again in await restarted_after_each_commit(harness, accepted):
        assert {name: again.replicas(name) for name in ORIGINAL} == ORIGINAL
        assert_clean(again)


async def test_a_limit_that_was_changed_during_a_job_is_kept() -> None:
    harness = await limited_and_throttled()
    await harness.alter(TARGET)
    await harness.advance(1)
    await configure(harness, **{PREFIX + "partition.movements": "1"})
    accepted = len(harness.store.commits)
    await harness.until_idle(300)
    for again in await restarted_after_each_commit(harness, accepted):
        assert again.state.backlog.usage.limits.partitions == 1
        assert {name: again.replicas(name) for name in TARGET} == TARGET
