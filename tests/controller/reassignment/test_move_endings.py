"""Moves between log directories of topics that are deleted."""

import pytest

from controller.messages.events import DeleteTopics
from controller.model.disks import MoveStage
from tests.builders import partition
from tests.controller.disks.directories import Directories


@pytest.fixture
def here() -> Directories:
    return Directories()


def test_a_deleted_topic_ends_its_moves(here: Directories) -> None:
    here.order(("foo-0", 1, "/b"), ("foo-1", 1, "/b"))
    here.look()
    here.controller.do(DeleteTopics(["foo"]))
    here.look()
    assert set(here.stages().values()) == {MoveStage.TOPIC_DELETED}
    assert here.controller.state.orders.jobs[1].ended_ms


def test_another_topic_of_the_name_of_a_deleted_one_is_left_alone(here: Directories) -> None:
    here.order(("foo-0", 1, "/b"), ("foo-1", 1, "/b"))
    here.look()
    here.copy()
    here.look()
    here.controller.do(DeleteTopics(["foo"]))
    here.controller.with_partitions(*(partition(name, (1, 2, 3)) for name in here.names))
    assert set(here.stages().values()) == {MoveStage.DONE, MoveStage.TOPIC_DELETED}
    reply = here.roll_back(1)
    assert (reply.job, [why for _, why in reply.skipped]) == (0, ["the topic was deleted"])
