from controller.model.names import TopicPartition, display_name, without


def test_a_partition_has_the_text_that_kafka_gives_it() -> None:
    assert str(TopicPartition("foo", 3)) == "foo-3"


def test_removing_members_keeps_the_order_of_the_others() -> None:
    assert without((3, 1, 2, 4), (4, 1)) == (3, 2)


def test_equal_arguments_share_one_resulting_list() -> None:
    assert without((1, 2, 3), (3,)) is without((*range(1, 4),), (3,))


def test_a_long_name_is_shortened_in_messages() -> None:
    assert display_name("foo") == "foo"
    assert display_name("x" * 30_000) == "x" * 250 + "… (30000 characters)"
