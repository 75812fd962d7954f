import pytest

from backends.client.errors import UnreachableError
from backends.upstream.topic_configs import SELDOM_SECONDS, TOPICS, TopicConfigs
from common.clock import ManualClock
from controller.gateway.events import TopicConfigsSeen
from controller.model.cluster import Partition, Reassignment, Topic
from controller.modes import EMBEDDED
from controller.state.state import State
from protocol.messages.describe_configs_request import DescribeConfigsRequest
from tests.backends.upstream.configured import Configured
from tests.backends.upstream.scripted import Events

MIN_ISR, UNCLEAN = "min.insync.replicas", "unclean.leader.election.enable"
TIERED = "remote.storage.enable"


class Rig:
    def __init__(self) -> None:
        self.upstream, self.events, self.clock, self.state = (
            Configured(),
            Events(),
            ManualClock(),
            State(mode=EMBEDDED),
        )
        self.configs = TopicConfigs(self.upstream, self.state, self.events.submit, self.clock)

    def having(self, topic: str, *, isr: tuple[int, ...] = (1, 2), wanted: bool = True) -> None:
        self.state.put(Topic(topic, topic.encode().ljust(16)))
        self.state.put(Partition(topic, 0, (1, 2), isr, 1))
        if wanted:
            self.state.put(Reassignment(topic, 0, (1, 2), (3,), 1))

    def asked(self) -> list[list[str]]:
        requests = self.upstream.requests(DescribeConfigsRequest)
        return [sorted(each.resource_name for each in request.resources) for request in requests]


@pytest.fixture
def rig() -> Rig:
    return Rig()


async def test_topics_with_reassignments_are_read_from_time_to_time(rig: Rig) -> None:
    rig.having("foo")
    rig.having("quiet", wanted=False)
    rig.upstream.topic("foo")[MIN_ISR] = "2"
    rig.upstream.defaults[UNCLEAN] = "false"
    await rig.configs.read()
    await rig.configs.read()
    assert rig.asked() == [["foo"]]
    assert rig.events == [TopicConfigsSeen({"foo": {MIN_ISR: "2", UNCLEAN: None, TIERED: None}})]
    await rig.clock.advance(SELDOM_SECONDS)
    await rig.configs.read()
    assert rig.asked() == [["foo"], ["foo"]]


async def test_a_value_that_makes_no_sense_is_left_out_and_logged(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    rig.having("foo")
    rig.upstream.topic("foo")[MIN_ISR] = "many"
    await rig.configs.read()
    assert rig.events == []
    assert f"{MIN_ISR} has a value that makes no sense" in caplog.text


async def test_under_replicated_and_offline_topics_are_read(rig: Rig) -> None:
    rig.having("foo", isr=(1,), wanted=False)
    await rig.configs.read()
    assert rig.asked() == [["foo"]]


async def test_a_topic_that_is_relevant_again_is_read_immediately(rig: Rig) -> None:
    rig.having("foo")
    await rig.configs.read()
    known = rig.state.orders.reassignments.copy()
    rig.state.orders.reassigning.clear()
    await rig.configs.read()
    rig.state.orders.reassigning.update({key.topic: 1 for key in known})
    await rig.configs.read()
    assert rig.asked() == [["foo"], ["foo"]]


async def test_many_topics_take_turns_in_bounded_requests(rig: Rig) -> None:
    for number in range(TOPICS + 1):
        rig.having(f"t{number}")
    await rig.configs.read()
    await rig.configs.read()
    await rig.configs.read()
    assert list(map(len, rig.asked())) == [TOPICS, 1]


async def test_a_failed_read_is_repeated(rig: Rig) -> None:
    rig.having("foo")
    fine = rig.upstream.answers[DescribeConfigsRequest]
    rig.upstream.answers[DescribeConfigsRequest] = lambda *_: UnreachableError("cut")
    await rig.configs.read()
    rig.upstream.answers[DescribeConfigsRequest] = fine
    await rig.configs.read()
    assert len(rig.events) == 1


async def test_a_deleted_or_unauthorized_topic_does_not_affect_others(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    for topic in ("foo", "gone", "secret"):
        rig.having(topic)
    rig.upstream.gone.add("gone")
    rig.upstream.refused.add("secret")
    await rig.configs.read()
    assert [list(event.topics) for event in rig.events] == [["foo"]]
    assert caplog.messages == ["the configs of 1 topic (secret) cannot be read: not for you"]


async def test_refused_topics_are_logged_in_one_line_until_they_can_be_read(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    everything = {f"t{number}" for number in range(5)}
    for topic in everything:
        rig.having(topic)
    for refused in (everything, everything, {"t4"}, {"t3", "t4"}):
        rig.upstream.refused = refused
        await rig.configs.read()
        await rig.clock.advance(SELDOM_SECONDS)
    assert caplog.messages == [
        "the configs of 5 topics (t0, t1, t2 and 2 more) cannot be read: not for you",
        "the configs of 1 topic (t3) cannot be read: not for you",
    ]


async def test_a_refused_topic_that_is_relevant_again_is_not_logged_again(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    rig.upstream.refused.add("secret")
    for isr in ((1,), (1, 2), (1,)):
        rig.having("secret", isr=isr, wanted=False)
        await rig.configs.read()
    assert rig.asked() == [["secret"], ["secret"]]
    assert len(caplog.messages) == 1
