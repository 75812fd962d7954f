from controller.names import TopicPartition


def test_a_partition_is_written_as_kafka_does() -> None:
    assert str(TopicPartition("foo", 3)) == "foo-3"
