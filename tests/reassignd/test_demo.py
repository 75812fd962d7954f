import logging
from typing import Any

import pytest

from common.error_codes import ErrorCode
from controller.messages.event import AnyEvent
from controller.messages.events import CreatedTopic, CreateTopics
from controller.model.errors import Outcome
from reassignd.demo import create_demo_topics


class Controller:
    """Returns the same outcome for every topic, and records the requests."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        self.asked: dict[str, int] = {}

    async def submit(self, event: AnyEvent) -> Any:
        assert isinstance(event, CreateTopics)
        self.asked = {topic.name: topic.replication_factor for topic in event.topics}
        return [CreatedTopic(topic.name, self.outcome) for topic in event.topics]


async def test_the_demo_topics_are_created() -> None:
    controller = Controller(Outcome())
    await create_demo_topics(controller, brokers=6)
    assert controller.asked == {"orders": 3, "payments": 3, "clicks": 2, "events": 3}


async def test_a_small_cluster_gets_fewer_replicas() -> None:
    controller = Controller(Outcome())
    await create_demo_topics(controller, brokers=1)
    assert set(controller.asked.values()) == {1}


async def test_a_refused_topic_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        await create_demo_topics(Controller(Outcome(ErrorCode.INVALID_PARTITIONS, "no")), brokers=6)
    assert "topic orders was not created: INVALID_PARTITIONS" in caplog.text
