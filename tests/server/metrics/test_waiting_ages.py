"""For how long partitions have waited, by kind of reason."""

from common.clock import ManualClock
from server.metrics.waiting_ages import WaitingAges
from server.progress.counts import JobCounts
from tests.builders import InMemoryController, partition


class Rig:
    """Three partitions of foo; broker 6 is stopped."""

    def __init__(self) -> None:
        names = [f"foo-{n}" for n in range(3)]
        self.cluster = InMemoryController().with_partitions(*(partition(name, [1, 2, 3]) for name in names))
        self.cluster.stop(6)
        self.clock = ManualClock()
        counts = JobCounts(self.cluster.state, self.clock)
        self.ages = WaitingAges(self.cluster.state, lambda: counts.tally({}), self.clock)

    async def later(self, seconds: float) -> None:
        await self.clock.advance(seconds)
        await self.ages.update()


async def test_the_oldest_partition_counts() -> None:
    rig = Rig()
    rig.cluster.alter({"foo-0": [6, 2, 3]})
    await rig.later(0)
    rig.cluster.alter({"foo-1": [6, 2, 3]})
    await rig.later(10)
    await rig.later(5)
    assert rig.ages.oldest()["broker_offline"] == 15
    assert rig.ages.counts["broker_offline"] == 2


async def test_a_partition_that_no_longer_waits_does_not_count() -> None:
    rig = Rig()
    rig.cluster.alter({"foo-0": [6, 2, 3]})
    await rig.later(0)
    rig.cluster.alter({"foo-1": [6, 2, 3], "foo-0": [4, 2, 3]})
    await rig.later(10)
    await rig.later(5)
    assert rig.ages.oldest()["broker_offline"] == 5


async def test_limits_count_from_when_the_job_began_to_wait_for_them() -> None:
    rig = Rig()
    rig.cluster.with_limits(partitions=1).alter({"foo-0": [4, 2, 3], "foo-1": [5, 2, 3]})
    await rig.later(0)
    await rig.later(20)
    assert rig.ages.oldest()["limit"] == 20
    rig.cluster.with_limits(partitions=5)
    rig.cluster.catch_up()
    await rig.later(5)
    assert (rig.ages.oldest()["limit"], rig.ages.counts["limit"]) == (0, 0)


async def test_all_kinds_are_there_from_the_start() -> None:
    assert set(Rig().ages.oldest().values()) == {0}
