"""The topics of `reassignd serve --demo-topics`."""

import logging
import uuid
from typing import NamedTuple

from controller.messages.events import CreateTopics, NewTopic
from controller.ports import Submitter

log = logging.getLogger(__name__)


class Demo(NamedTuple):
    """A topic to create. The replication factor is limited by the number of brokers."""

    name: str
    partitions: int
    replication_factor: int


TOPICS = (
    Demo("orders", 12, 3),
    Demo("payments", 6, 3),
    Demo("clicks", 24, 2),
    Demo("events", 500, 3),
)


async def create_demo_topics(controller: Submitter, brokers: int) -> None:
    """Create the topics. A topic that is refused is logged and skipped."""
    topics = [
        NewTopic(topic.name, uuid.uuid4().bytes, topic.partitions, min(topic.replication_factor, brokers))
        for topic in TOPICS
    ]
    created = await controller.submit(CreateTopics(topics))
    for row in created:
        if row.outcome.ok:
            log.info("created topic %s with %d partitions", row.name, row.partitions)
        else:
            log.warning("topic %s was not created: %s", row.name, row.outcome.error.name)
