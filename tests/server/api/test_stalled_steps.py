from server.api.stalled_steps import STALLED_SECONDS
from tests.server.api.desk import MOVE, Desk


class Slow(Desk):
    """Partitions under way to broker 4 and others; `pass_by` lets a minute pass, a look every ten seconds."""

    async def begin(self, **have: int) -> "Slow":
        await self.post("/v1/jobs", MOVE)
        self.arrive(0)
        await self.progress.measure()
        return self

    def arrive(self, more: int) -> None:
        for partition in self.world.state.all_partitions():
            for broker in partition.adding:
                at = (str(partition.key), broker)
                self.sizes.have[at] = self.sizes.have.get(at, 0) + more

    async def pass_by(self, more: int = 0, grown: int = 0) -> None:
        for _ in range(int(STALLED_SECONDS) // 10):
            self.sizes.at += 10
            self.arrive(more)
            self.sizes.grown += grown
            await self.progress.measure()

    async def why(self) -> set[str]:
        shown = await self.get("/v1/jobs/1")
        texts = {row["reason"] for row in shown["partitions"]}
        assert {row["reason"] for row in shown["reasons"]} == texts - {""}
        return texts


async def test_a_move_that_comes_nearer_needs_no_reason() -> None:
    slow = await Slow().begin()
    await slow.pass_by(more=5)
    assert await slow.why() == {""}


async def test_a_large_partition_that_comes_nearer_slowly_needs_no_reason() -> None:
    slow = Slow()
    slow.sizes.grown = 1_000_000
    await slow.begin()
    for _ in range(3):
        await slow.pass_by(more=100)
        assert await slow.why() == {""}
    await slow.pass_by(more=100, grown=99)
    await slow.pass_by(more=100, grown=99)
    assert await slow.why() == {"data is produced as fast as it is copied"}


async def test_a_move_to_which_nothing_arrives_says_so_after_a_minute() -> None:
    slow = await Slow().begin()
    slow.sizes.at += STALLED_SECONDS - 1
    await slow.progress.measure()
    assert await slow.why() == {""}
    await slow.pass_by()
    assert await slow.why() == {"the adding replicas receive no data"}
    assert (await slow.get("/v1/status"))["reasons"] == [
        {"reason": "the adding replicas receive no data", "partitions": 2}
    ]


async def test_that_nothing_is_measured_does_not_mean_that_nothing_arrives() -> None:
    slow = await Slow().begin()
    await slow.clock.advance(10 * STALLED_SECONDS)
    await slow.progress.measure()
    assert await slow.why() == {""}


async def test_a_throttle_below_what_is_produced_is_told() -> None:
    slow = await Slow().begin()
    await slow.pass_by(more=5, grown=5)
    assert await slow.why() == {"data is produced as fast as it is copied"}
    slow.world.default("reassignment.throttle.bytes.per.second", "5000")
    await slow.pass_by(more=5, grown=5)
    assert await slow.why() == {"data is produced as fast as it is copied, with a throttle of 5,000 bytes/s"}


async def test_a_replica_that_is_whole_and_not_in_sync_is_told() -> None:
    slow = await Slow().begin()
    await slow.pass_by(more=1_000)
    await slow.pass_by()
    assert await slow.why() == {"all data is copied, but the replicas do not join the ISR"}


async def test_a_target_that_is_down_is_told_at_once() -> None:
    slow = await Slow().begin()
    slow.world.state.live.discard(4)
    await slow.progress.measure()
    assert await slow.why() == {"target broker 4 is down"}
    slow.world.state.live.discard(5)
    await slow.progress.measure()
    assert await slow.why() == {"target brokers 4, 5 are down"}


async def test_what_is_not_known_says_nothing() -> None:
    slow = await Slow().begin()
    slow.sizes.have.clear()
    for _ in range(2):
        slow.sizes.at += STALLED_SECONDS
        await slow.progress.measure()
        assert await slow.why() == {""}
