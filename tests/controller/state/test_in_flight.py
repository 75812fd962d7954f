from controller.model.cluster import TopicPartition
from controller.state.orders import AT_UPSTREAM, MOVING, StepsInFlight
from tests.builders import key


def two_steps() -> StepsInFlight:
    result = StepsInFlight()
    result.note("foo", 0, MOVING, True)
    result.note("foo", 1, MOVING, True)
    result.changed_topics.clear()
    return result


def test_partitions_with_a_step_in_flight_are_members() -> None:
    assert list(two_steps()) == [key("foo-0"), key("foo-1")]
    assert key("foo-1") in two_steps()
    assert TopicPartition("foo", 2) not in two_steps()
    assert TopicPartition("bar", 0) not in two_steps()


def test_a_topic_is_removed_with_its_last_step() -> None:
    steps = two_steps()
    steps.note("foo", 0, MOVING, False)
    assert (list(steps), len(steps)) == ([key("foo-1")], 1)
    steps.note("foo", 1, MOVING, False)
    assert (steps.by_topic, len(steps)) == ({}, 0)


def test_a_step_is_in_flight_while_one_reason_applies() -> None:
    steps = two_steps()
    steps.note("foo", 0, AT_UPSTREAM, True)
    steps.note("foo", 0, MOVING, False)
    assert (key("foo-0") in steps, len(steps), steps.at_upstream()) == (True, 2, [key("foo-0")])
    steps.note("foo", 0, AT_UPSTREAM, False)
    assert (key("foo-0") in steps, len(steps), steps.at_upstream()) == (False, 1, [])


def test_topics_whose_steps_begin_change_or_end_are_noted() -> None:
    steps = two_steps()
    steps.note("foo", 0, MOVING, True)
    assert steps.changed_topics == {"foo"}
    steps.changed_topics.clear()
    steps.note("foo", 0, MOVING, False)
    assert steps.changed_topics == {"foo"}


def test_a_partition_without_a_step_changes_no_topic() -> None:
    steps = two_steps()
    steps.note("foo", 7, MOVING, False)
    steps.note("bar", 0, MOVING, False)
    assert steps.changed_topics == set()


def test_moves_that_end_together_leave_what_the_upstream_carries_out() -> None:
    steps = two_steps()
    steps.note("foo", 1, AT_UPSTREAM, True)
    steps.changed_topics.clear()
    steps.end_moves("foo", [0, 1, 2])
    assert (list(steps), len(steps), steps.changed_topics) == ([key("foo-1")], 1, {"foo"})
    steps.end_moves("bar", [0])
    assert steps.changed_topics == {"foo"}
