import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.zookeeper.fields import ZnodeError
from backends.zookeeper.plans import Entry, decode_file, decode_plan, encode_plan, topics_of
from controller.job_events import AlterRow, AlterTopic
from controller.model import TopicPartition

REPLICAS = st.lists(st.integers(0, 99), max_size=4).map(tuple)
KEYS = st.builds(TopicPartition, st.text("ab", min_size=1, max_size=2), st.integers(0, 9))
PLANS = st.dictionaries(KEYS, st.builds(Entry, REPLICAS, st.none() | REPLICAS))


@given(PLANS)
def test_a_plan_is_read_as_it_was_written(plan: dict[TopicPartition, Entry]) -> None:
    assert decode_plan(encode_plan(plan)) == plan


def test_keys_are_in_the_order_of_kip_236() -> None:
    plan = {TopicPartition("foo1", 0): Entry((1, 2, 4), (1, 2, 3))}
    text = '{"topic":"foo1","partition":0,"replicas":[1,2,4],"original_replicas":[1,2,3]}'
    assert encode_plan(plan) == f'{{"version":1,"partitions":[{text}]}}'.encode()


def test_of_two_entries_for_a_partition_the_last_counts() -> None:
    row = '{"topic":"foo","partition":0,"replicas":[%d]}'
    data = f'{{"partitions":[{row % 1},{row % 2}]}}'.encode()
    assert decode_plan(data) == {TopicPartition("foo", 0): Entry((2,))}


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ('{"topic":"foo","partition":0}', "replicas of foo-0 is not a list"),
        ('{"topic":"foo","partition":"0","replicas":[1]}', "partition is not a number"),
        ('{"topic":"foo","partition":0,"replicas":[1],"log_dirs":["any"]}', "unknown key 'log_dirs'"),
        ("7", "partitions is not a list of objects"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused_whole(row: str, reason: str) -> None:
    with pytest.raises(ZnodeError, match=reason):
        decode_plan(f'{{"version":1,"partitions":[{row}]}}'.encode())


def test_a_plan_of_the_tools_is_taken_without_its_log_directories() -> None:
    row = '{"topic":"foo","partition":0,"replicas":[1],"log_dirs":["any"]}'
    assert decode_file(f'{{"version":1,"partitions":[{row}]}}'.encode()) == {
        TopicPartition("foo", 0): Entry((1,))
    }
    with pytest.raises(ZnodeError):
        decode_file(f"[{row}]".encode())


def test_a_plan_is_ordered_topic_by_topic() -> None:
    rows = [(TopicPartition("a", 0), (1,)), (TopicPartition("b", 0), None), (TopicPartition("a", 1), (2,))]
    assert topics_of(rows) == [
        AlterTopic("a", [AlterRow(0, (1,)), AlterRow(1, (2,))]),
        AlterTopic("b", [AlterRow(0, None)]),
    ]
