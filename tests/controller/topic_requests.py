"""Requests for one topic, and the row of the reply."""

from typing import Any

from controller.messages.events import (
    CreatedTopic,
    CreatePartitions,
    CreateTopics,
    DeleteTopics,
    NewPartitions,
    NewTopic,
)
from controller.model.errors import Outcome
from tests.builders import World

ID = bytes(16)


def create(world: World, name: str = "foo", **fields: Any) -> CreatedTopic:
    (created,) = world.do(CreateTopics([NewTopic(name, ID, **fields)])).reply
    assert isinstance(created, CreatedTopic)
    return created


def grow(world: World, total: int, assignments: Any = None, topic: str = "foo") -> Outcome:
    ((_, outcome),) = world.do(CreatePartitions([NewPartitions(topic, total, assignments)])).reply
    assert isinstance(outcome, Outcome)
    return outcome


def delete(world: World, name: str = "foo") -> Outcome:
    ((_, outcome),) = world.do(DeleteTopics([name])).reply
    assert isinstance(outcome, Outcome)
    return outcome
