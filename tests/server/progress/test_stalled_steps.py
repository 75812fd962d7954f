from controller.model.configs import LEADER_RATE, Config, ResourceType
from server.progress.stalled_steps import STALLED_SECONDS
from tests.server.api.api_client import MOVE, ApiClient


class Slow(ApiClient):
    """A client of a job in progress. `pass_minute` measures every ten seconds for a minute."""

    async def begin(self, **have: int) -> "Slow":
        await self.post("/v1/jobs", MOVE)
        self.arrive(0)
        await self.progress.measure()
        return self

    def arrive(self, more: int) -> None:
        for partition in self.controller.state.cluster.all_partitions():
            for broker in partition.adding:
                at = (str(partition.key), broker)
                self.sizes.received_bytes[at] = self.sizes.received_bytes.get(at, 0) + more

    async def pass_minute(self, more: int = 0, grown: int = 0) -> None:
        for _ in range(int(STALLED_SECONDS) // 10):
            self.sizes.measured_at += 10
            self.arrive(more)
            self.sizes.produced += grown
            await self.progress.measure()

    async def why(self) -> set[str]:
        shown = await self.get("/v1/jobs/1")
        texts = {row["reason"] for row in shown["partitions"]}
        assert {row["reason"] for row in shown["reasons"]} == texts - {""}
        return texts


async def test_a_step_that_progresses_has_no_reason() -> None:
    slow = await Slow().begin()
    await slow.pass_minute(more=5)
    assert await slow.why() == {""}


async def test_a_large_partition_that_progresses_slowly_has_no_reason() -> None:
    slow = Slow()
    slow.sizes.produced = 1_000_000
    await slow.begin()
    for _ in range(3):
        await slow.pass_minute(more=100)
        assert await slow.why() == {""}
    await slow.pass_minute(more=100, grown=99)
    await slow.pass_minute(more=100, grown=99)
    assert await slow.why() == {"data is produced as fast as it is copied"}


async def test_a_step_that_receives_nothing_is_stalled_after_a_minute() -> None:
    slow = await Slow().begin()
    slow.sizes.measured_at += STALLED_SECONDS - 1
    await slow.progress.measure()
    assert await slow.why() == {""}
    await slow.pass_minute()
    assert await slow.why() == {"the adding replicas receive no data"}
    assert (await slow.get("/v1/status"))["reasons"] == [
        {"reason": "the adding replicas receive no data", "partitions": 2}
    ]


async def test_a_throttle_so_low_that_nothing_arrives_is_named() -> None:
    slow = await Slow().begin()
    slow.controller.default("reassignment.throttle.bytes.per.second", "5000")
    await slow.pass_minute()
    assert await slow.why() == {"the adding replicas receive no data, with a throttle of 5 kB/s"}


async def test_time_without_measurements_does_not_count() -> None:
    slow = await Slow().begin()
    await slow.clock.advance(10 * STALLED_SECONDS)
    await slow.progress.measure()
    assert await slow.why() == {""}


async def test_a_throttle_below_the_produce_rate_is_named() -> None:
    slow = await Slow().begin()
    await slow.pass_minute(more=5, grown=5)
    assert await slow.why() == {"data is produced as fast as it is copied"}
    slow.controller.default("reassignment.throttle.bytes.per.second", "5000")
    await slow.pass_minute(more=5, grown=5)
    assert await slow.why() == {"data is produced as fast as it is copied, with a throttle of 5 kB/s"}


async def test_a_throttle_of_others_below_that_of_reassignd_is_named() -> None:
    slow = await Slow().begin()
    for broker, rate in (("5", "4000"), ("6", "6000")):
        slow.controller.put(Config(ResourceType.BROKER, broker, LEADER_RATE, rate))
    slow.controller.default("reassignment.throttle.bytes.per.second", "5000")
    await slow.pass_minute(more=5, grown=5)
    throttle = "4 kB/s at broker 5, which others have set"
    assert await slow.why() == {f"data is produced as fast as it is copied, with a throttle of {throttle}"}


async def test_a_complete_replica_outside_the_isr_is_a_reason() -> None:
    slow = await Slow().begin()
    await slow.pass_minute(more=1_000)
    await slow.pass_minute()
    assert await slow.why() == {"all data is copied, but not in the ISR: brokers 4, 5, 6"}


async def test_an_offline_target_broker_is_a_reason_at_once() -> None:
    slow = await Slow().begin()
    slow.controller.state.cluster.live.discard(4)
    await slow.progress.measure()
    assert await slow.why() == {"target broker 4 is down"}
    slow.controller.state.cluster.live.discard(5)
    await slow.progress.measure()
    assert await slow.why() == {"target brokers 4, 5 are down"}


async def test_a_dead_source_is_a_reason_at_once() -> None:
    slow = await Slow().begin()
    slow.controller.state.cluster.live.difference_update({1, 2, 3})
    await slow.progress.measure()
    [reason] = await slow.why()
    assert reason == "offline: broker 1, which leads the partition"


async def test_unknown_sizes_give_no_reason() -> None:
    slow = await Slow().begin()
    slow.sizes.received_bytes.clear()
    for _ in range(2):
        slow.sizes.measured_at += STALLED_SECONDS
        await slow.progress.measure()
        assert await slow.why() == {""}
