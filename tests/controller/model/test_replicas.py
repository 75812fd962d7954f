from controller.model.replicas import Reassignment, TopicPartition, display_name, without
from controller.scheduling.steps import step_lists
from tests.builders import partition

MOVING = partition("foo-0", (4, 1, 2, 3), adding=(4,), removing=(2, 3), leader=1, isr=(1, 2, 3))


def test_a_partition_has_the_text_that_kafka_gives_it() -> None:
    assert str(TopicPartition("foo", 3)) == "foo-3"


def test_removing_members_keeps_the_order_of_the_others() -> None:
    assert without((3, 1, 2, 4), (4, 1)) == (3, 2)


def test_equal_arguments_share_one_resulting_list() -> None:
    assert without((1, 2, 3), (3,)) is without((*range(1, 4),), (3,))


def test_a_step_in_flight_lists_the_next_replicas_and_then_those_that_it_removes() -> None:
    assert step_lists((1, 2, 3), (4, 2)) == ((4, 2, 1, 3), (4,), (1, 3))
    assert step_lists((1, 2), (2, 1)) == ((2, 1), (), ())
    assert step_lists((1, 2), (3,)) is step_lists((1, 2), (3,))


def test_during_a_step_current_is_the_list_before_it_and_next_the_one_after() -> None:
    assert MOVING.moving
    assert MOVING.current == (1, 2, 3)
    assert MOVING.next == (4, 1)


def test_without_a_step_current_and_next_are_the_replicas() -> None:
    healthy = partition("foo-0", (1, 2, 3))
    assert not healthy.moving
    assert healthy.current == healthy.next == (1, 2, 3)


def test_an_adding_replica_never_makes_a_partition_under_replicated() -> None:
    assert not MOVING.under_replicated


def test_a_lost_original_is_not_masked_by_an_adding_replica_in_sync() -> None:
    assert MOVING._replace(isr=(1, 2, 4)).under_replicated


def test_a_reassignment_to_its_original_is_a_rollback() -> None:
    there = Reassignment("foo", 0, original=(1, 2, 3), target=(4, 5, 6))
    assert not there.rolling_back
    assert there._replace(target=(1, 2, 3)).rolling_back
    assert not there._replace(target=(3, 2, 1)).rolling_back


def test_a_long_name_is_shortened_in_messages() -> None:
    assert display_name("foo") == "foo"
    assert display_name("x" * 30_000) == "x" * 250 + "… (30000 characters)"
