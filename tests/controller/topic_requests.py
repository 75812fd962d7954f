"""Requests for one topic; each function returns the row of the reply."""

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
from tests.builders import InMemoryController

ID = bytes(16)


def create(controller: InMemoryController, name: str = "foo", **fields: Any) -> CreatedTopic:
    (created,) = controller.do(CreateTopics([NewTopic(name, ID, **fields)])).reply
    assert isinstance(created, CreatedTopic)
    return created


def grow(controller: InMemoryController, total: int, assignments: Any = None, topic: str = "foo") -> Outcome:
    ((_, outcome),) = controller.do(CreatePartitions([NewPartitions(topic, total, assignments)])).reply
    assert isinstance(outcome, Outcome)
    return outcome


def delete(controller: InMemoryController, name: str = "foo") -> Outcome:
    ((_, outcome),) = controller.do(DeleteTopics([name])).reply
    assert isinstance(outcome, Outcome)
    return outcome
