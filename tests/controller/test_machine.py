from typing import cast

import pytest

from controller import machine
from controller.gateway import events as gateway_events
from controller.machine import decide
from controller.messages import disk_events, events, held_events, job_events, task_events
from controller.messages.event import AnyEvent, Event
from controller.messages.events import AlterReassignments, Continue
from controller.messages.job_events import AlterRow, AlterTopic
from controller.model.cluster import Reassignment
from controller.pace import readings
from controller.reassignment.reassignments import enqueue
from controller.state.state import Decision
from tests.builders import InMemoryController, partition


def event_classes() -> set[type]:
    """Return the event classes that the message modules define."""
    modules = (
        events,
        job_events,
        disk_events,
        held_events,
        task_events,
        gateway_events,
        readings,
    )
    defined = {each for module in modules for each in vars(module).values() if isinstance(each, type)}
    return {each for each in defined if issubclass(each, AnyEvent)} - {Event}


def test_every_event_has_a_handler() -> None:
    assert machine._HANDLERS.keys() == event_classes()


def test_an_object_that_is_not_an_event_is_refused() -> None:
    with pytest.raises(KeyError):
        next(decide(Decision(InMemoryController().state), cast(AnyEvent, "not an event")))


def test_any_event_starts_the_steps_that_have_room() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", (1, 2)))
    controller.put(Reassignment("foo", 0, (1, 2), (3, 4)))
    enqueue(Decision(controller.state), controller["foo-0"])
    controller.stop(6)
    assert controller["foo-0"].moving


def test_a_small_order_is_accepted_and_started_in_one_decision() -> None:
    controller = InMemoryController().with_partitions(partition("foo-0", (1, 2)))
    d = controller.decide(AlterReassignments([AlterTopic("foo", [AlterRow(0, (3, 4))])]))
    assert [type(change).__name__ for change in d.changes] == ["Reassignment", "Job", "Partition"]
    assert [type(effect).__name__ for effect in d.effects] == ["Publish"]


def test_continue_without_background_work_does_nothing() -> None:
    controller = InMemoryController()
    controller.state.woken = True
    d = controller.decide(Continue())
    assert (d.changes, d.effects, controller.state.woken) == ([], [], False)
