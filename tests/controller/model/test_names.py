from controller.model.names import TopicPartition, display_name, without


def test_a_partition_is_written_as_kafka_does() -> None:
    assert str(TopicPartition("foo", 3)) == "foo-3"


def test_what_is_taken_out_of_a_list_leaves_the_rest_in_order() -> None:
    assert without((3, 1, 2, 4), (4, 1)) == (3, 2)


def test_partitions_with_equal_lists_share_what_is_left() -> None:
    assert without((1, 2, 3), (3,)) is without((*range(1, 4),), (3,))


def test_a_long_name_is_shortened_in_texts() -> None:
    assert display_name("foo") == "foo"
    assert display_name("x" * 30_000) == "x" * 250 + "… (30000 characters)"
