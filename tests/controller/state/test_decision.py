import pytest

from controller.messages.effects import TopicDeleted
from controller.model.cluster import ControllerEpoch, Deleted, Topic
from controller.state.decision import Decision
from tests.builders import InMemoryController


def test_a_change_counts_at_once_and_is_remembered() -> None:
    d = Decision(InMemoryController().state)
    d.put(ControllerEpoch(3))
    assert d.state.controller_epoch == 3
    assert d.changes == [ControllerEpoch(3)]


def test_a_deletion_counts_at_once_and_is_remembered() -> None:
    d = Decision(InMemoryController().state)
    d.put(Topic("foo", bytes(16)))
    d.delete(Topic, "foo")
    assert d.state.topics == {}
    assert d.changes[1:] == [Deleted(Topic, "foo")]


def test_a_missing_record_cannot_be_deleted() -> None:
    d = Decision(InMemoryController().state)
    with pytest.raises(KeyError):
        d.delete(Topic, "ghost")
    assert d.changes == []


def test_effects_are_kept_in_order_and_nothing_is_replied_yet() -> None:
    d = Decision(InMemoryController().state)
    d.effects.append(TopicDeleted("foo"))
    d.effects.append(TopicDeleted("bar"))
    assert d.effects == [TopicDeleted("foo"), TopicDeleted("bar")]
    assert d.reply is None


def test_an_effect_can_be_inserted_before_all_others() -> None:
    d = Decision(InMemoryController().state)
    d.effects.append(TopicDeleted("foo"))
    d.effects.insert(0, TopicDeleted("bar"))
    assert d.effects == [TopicDeleted("bar"), TopicDeleted("foo")]
