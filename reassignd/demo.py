"""A few topics to try things on."""

import logging
import uuid
from typing import NamedTuple

from controller.messages.events import CreateTopics, NewTopic
from controller.ports import Submitter

log = logging.getLogger(__name__)


class Demo(NamedTuple):
    """A topic to create, with as many replicas as there are brokers for."""

    name: str
    partitions: int
    replication_factor: int


TOPICS = (Demo("orders", 12, 3), Demo("payments", 6, 3), Demo("clicks", 24, 2))


async def create_demo_topics(controller: Submitter, brokers: int) -> None:
    """Create them; one that is refused is logged, and left."""
    topics = [
        NewTopic(each.name, uuid.uuid4().bytes, each.partitions, min(each.replication_factor, brokers))
        for each in TOPICS
    ]
    created = await controller.submit(CreateTopics(topics))
    for each in created:
        if each.outcome.ok:
            log.info("created topic %s with %d partitions", each.name, each.partitions)
        else:
            log.warning("topic %s was not created: %s", each.name, each.outcome.error.name)
