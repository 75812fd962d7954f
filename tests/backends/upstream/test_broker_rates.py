import pytest

from backends.upstream.broker_rates import (
    CHECK_SECONDS,
    ENDED_SECONDS,
    OFTEN_SECONDS,
    SELDOM_SECONDS,
    BrokerRates,
)
from common.clock import ManualClock, settle
from common.tasks import cancel, spawn
from controller.gateway.events import BrokerRatesSeen
from controller.model.configs import FOLLOWER_RATE, LEADER_RATE, ResourceType, ThrottleLease
from controller.model.replicas import TopicPartition
from controller.modes import EMBEDDED
from controller.state.state import State
from protocol.messages.describe_configs_request import DescribeConfigsRequest
from tests.backends.upstream.configured import Configured
from tests.backends.upstream.scripted import Events

FOO = TopicPartition("foo", 0)


class Rig:
    """A state in which one partition moves until `end`, and an upstream in memory."""

    def __init__(self) -> None:
        self.upstream, self.events, self.clock, self.state = (
            Configured(),
            Events(),
            ManualClock(),
            State(mode=EMBEDDED),
        )
        self.state.cluster.live.update(self.upstream.brokers)
        self.rates = BrokerRates(self.upstream, self.state, self.events.submit, self.clock)
        self.begin()

    def begin(self) -> None:
        self.state.gateway.add_external(FOO)

    def end(self) -> None:
        self.state.gateway.discard_external(FOO)

    async def after(self, seconds: float) -> None:
        await self.clock.advance(seconds)
        await self.rates.read()

    def asked(self) -> int:
        return len(self.upstream.requests(DescribeConfigsRequest))


@pytest.fixture
def rig() -> Rig:
    return Rig()


async def test_no_broker_is_asked_while_nothing_moves(rig: Rig) -> None:
    rig.end()
    await rig.after(0)
    await rig.after(SELDOM_SECONDS)
    assert (rig.asked(), rig.events) == (0, [])


async def test_each_broker_is_asked_when_a_move_begins_and_then_every_minute(rig: Rig) -> None:
    rig.upstream.broker(2)[LEADER_RATE] = "7"
    await rig.after(0)
    await rig.after(SELDOM_SECONDS - 1)
    assert rig.asked() == len(rig.upstream.brokers)
    await rig.after(1)
    assert rig.asked() == 2 * len(rig.upstream.brokers)
    assert rig.events == [BrokerRatesSeen({2: {LEADER_RATE: "7"}})] * 2


async def test_without_a_throttle_of_others_nothing_is_submitted(rig: Rig) -> None:
    rig.upstream.defaults[LEADER_RATE] = "9223372036854775807"
    await rig.after(0)
    assert (rig.asked(), rig.events) == (len(rig.upstream.brokers), [])


async def test_short_pauses_between_moves_cause_no_further_reads(rig: Rig) -> None:
    for _ in range(5):
        await rig.after(0)
        rig.end()
        await rig.after(ENDED_SECONDS)
        rig.begin()
    assert rig.asked() == len(rig.upstream.brokers)


async def test_a_new_job_reads_the_rates_again_after_ten_seconds(rig: Rig) -> None:
    await rig.after(0)
    rig.state.orders.open[1] = 1
    await rig.after(OFTEN_SECONDS - 1)
    assert rig.asked() == len(rig.upstream.brokers)
    await rig.after(1)
    await rig.after(OFTEN_SECONDS)
    assert rig.asked() == 2 * len(rig.upstream.brokers)


async def test_the_rates_are_forgotten_after_the_moves_and_read_at_the_next(rig: Rig) -> None:
    await rig.after(0)
    rig.state.gateway.others_rates = {2: 7}
    rig.end()
    await rig.after(ENDED_SECONDS + 1)
    assert rig.events == [BrokerRatesSeen({})]
    rig.begin()
    await rig.after(0)
    assert rig.asked() == 2 * len(rig.upstream.brokers)


async def test_a_rate_whose_lease_ends_during_the_read_is_not_one_of_others(rig: Rig) -> None:
    lease = ThrottleLease(ResourceType.BROKER, "2", LEADER_RATE, "7", None)
    rig.state.put(lease)
    rig.upstream.broker(2).update({LEADER_RATE: "7", FOLLOWER_RATE: "9"})
    await rig.after(0)
    assert rig.events == [BrokerRatesSeen({2: {FOLLOWER_RATE: "9"}})]


async def test_a_broker_that_does_not_answer_is_logged_once(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    rig.upstream.broker(2)[LEADER_RATE] = "7"
    rig.upstream.dead.add(1)
    rig.upstream.refused.add("3")
    await rig.after(0)
    await rig.after(SELDOM_SECONDS)
    assert rig.events == [BrokerRatesSeen({2: {LEADER_RATE: "7"}})] * 2
    assert caplog.messages == ["throttles of others cannot be read at brokers 1, 3: dead"]


async def test_a_move_that_begins_is_noticed_soon(rig: Rig) -> None:
    rig.end()
    running = spawn(rig.rates.run(), "rates", lambda _: None)
    await settle()
    rig.begin()
    await rig.clock.advance(CHECK_SECONDS)
    assert rig.asked() == len(rig.upstream.brokers)
    await cancel(running)
