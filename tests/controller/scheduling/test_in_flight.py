from controller.scheduling.in_flight import StepsInFlight
from tests.builders import partition

STILL = partition("foo-0", (1, 2))
MOVING = partition("foo-0", (3, 1, 2), adding=(3,), isr=(1, 2))


def flight() -> StepsInFlight:
    made = StepsInFlight()
    made.note(MOVING)
    made.note(MOVING._replace(partition=1))
    made.take_touched()
    return made


def test_partitions_with_a_step_in_flight_are_there_by_topic() -> None:
    assert dict(flight()) == {"foo": {0, 1}}


def test_a_topic_goes_with_its_last_step() -> None:
    flying = flight()
    flying.note(STILL)
    assert dict(flying) == {"foo": {1}}
    flying.note(STILL._replace(partition=1))
    assert not flying


def test_topics_whose_steps_begin_change_or_end_are_touched_once() -> None:
    flying = flight()
    flying.note(MOVING._replace(isr=(1,)))
    assert flying.take_touched() == {"foo"}
    assert flying.take_touched() == set()
    flying.note(STILL)
    assert flying.take_touched() == {"foo"}


def test_a_partition_that_does_not_move_touches_nothing() -> None:
    flying = flight()
    flying.note(STILL._replace(partition=7))
    flying.note(partition("bar-0", (1, 2)))
    assert flying.take_touched() == set()
