from controller.model.replicas import TopicPartition, display_name, without
from controller.scheduling.steps import step_lists


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


def test_a_long_name_is_shortened_in_messages() -> None:
    assert display_name("foo") == "foo"
    assert display_name("x" * 30_000) == "x" * 250 + "… (30000 characters)"
