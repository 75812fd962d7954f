import pytest

from backends.client.errors import UnreachableError
from backends.upstream.topic_configs import SELDOM_SECONDS, TOPICS, TopicConfigs
from common.clock import ManualClock
from controller.messages.upstream_events import TopicConfigsSeen
from controller.model.cluster import Partition, Reassignment, Topic
from controller.state.state import State
from protocol.messages.describe_configs_request import DescribeConfigsRequest
from tests.backends.upstream.configured import Configured
from tests.backends.upstream.scripted import Events

MIN_ISR, UNCLEAN = "min.insync.replicas", "unclean.leader.election.enable"


class Rig:
    def __init__(self) -> None:
        self.upstream, self.events, self.clock, self.state = Configured(), Events(), ManualClock(), State()
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


async def test_topics_with_reassignments_are_asked_for_once_in_a_while(rig: Rig) -> None:
    rig.having("foo")
    rig.having("quiet", wanted=False)
    rig.upstream.topic("foo")[MIN_ISR] = "2"
    rig.upstream.defaults[UNCLEAN] = "false"
    await rig.configs.read()
    await rig.configs.read()
    assert rig.asked() == [["foo"]]
    assert rig.events == [TopicConfigsSeen({"foo": {MIN_ISR: "2", UNCLEAN: None}})]
    await rig.clock.advance(SELDOM_SECONDS)
    await rig.configs.read()
    assert rig.asked() == [["foo"], ["foo"]]


async def test_topics_in_trouble_are_asked_for_too(rig: Rig) -> None:
    rig.having("foo", isr=(1,), wanted=False)
    await rig.configs.read()
    assert rig.asked() == [["foo"]]


async def test_a_topic_that_matters_again_is_asked_for_at_once(rig: Rig) -> None:
    rig.having("foo")
    await rig.configs.read()
    known = rig.state.reassignments.copy()
    rig.state.reassigning.clear()
    await rig.configs.read()
    rig.state.reassigning.update({key.topic: 1 for key in known})
    await rig.configs.read()
    assert rig.asked() == [["foo"], ["foo"]]


async def test_many_topics_have_their_turn_a_bounded_number_at_a_time(rig: Rig) -> None:
    for number in range(TOPICS + 1):
        rig.having(f"t{number}")
    await rig.configs.read()
    await rig.configs.read()
    await rig.configs.read()
    assert list(map(len, rig.asked())) == [TOPICS, 1]


async def test_what_was_not_answered_is_asked_again(rig: Rig) -> None:
    rig.having("foo")
    fine = rig.upstream.answers[DescribeConfigsRequest]
    rig.upstream.answers[DescribeConfigsRequest] = lambda *_: UnreachableError("cut")
    await rig.configs.read()
    rig.upstream.answers[DescribeConfigsRequest] = fine
    await rig.configs.read()
    assert len(rig.events) == 1


async def test_a_topic_that_is_gone_or_not_for_us_spoils_no_other(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    for topic in ("foo", "gone", "secret"):
        rig.having(topic)
    rig.upstream.gone.add("gone")
    rig.upstream.refused.add("secret")
    await rig.configs.read()
    assert [list(event.topics) for event in rig.events] == [["foo"]]
    assert "the configs of topic secret cannot be read: not for you" in caplog.text
    assert "gone" not in caplog.text
