"""Encoding and decoding of plans, invalid plans, and the size limit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.zookeeper.admin.plans import Entry, decode_file, decode_plan, encode_plan, fitting
from backends.zookeeper.znodes.fields import ZnodeError, encode

ROW = {"topic": "foo", "partition": 0, "replicas": [1, 2]}

IDS = st.lists(st.integers(0, 9), min_size=1, max_size=3).map(tuple)
ENTRIES = st.lists(
    st.builds(Entry, st.sampled_from(["foo", "bär"]), st.integers(0, 9), IDS, st.none() | IDS),
    unique_by=lambda entry: entry.key,
)


@given(ENTRIES)
def test_an_encoded_plan_is_decoded(entries: list[Entry]) -> None:
    assert decode_plan(encode_plan(entries)) == entries


@given(ENTRIES)
def test_the_plain_format_has_no_originals(entries: list[Entry]) -> None:
    assert decode_plan(encode_plan(entries, plain=True)) == [e._replace(original=None) for e in entries]


@given(ENTRIES, st.integers(35, 600))
def test_a_plan_stays_below_its_limit_with_the_first_entries(entries: list[Entry], limit: int) -> None:
    data = fitting(entries, plain=False, limit=limit)
    held = decode_plan(data)
    assert len(data) <= limit
    assert [each.key for each in held] == [each.key for each in entries[: len(held)]]


def test_originals_are_omitted_before_entries() -> None:
    entries = [Entry("foo", number, (1, 2), (3, 4)) for number in range(3)]
    data = encode_plan(entries, plain=True)
    assert fitting(entries, plain=False, limit=len(data)) == data


def test_the_json_is_that_of_kip_236() -> None:
    assert encode_plan([Entry("foo1", 0, (1, 2, 4), (1, 2, 3))]) == (
        b'{"version":1,"partitions":[{"topic":"foo1","partition":0,"replicas":[1,2,4],'
        b'"original_replicas":[1,2,3]}]}'
    )


def test_the_last_row_of_a_partition_counts() -> None:
    data = encode({"partitions": [ROW, {**ROW, "replicas": [3]}]})
    assert decode_plan(data) == [Entry("foo", 0, (3,))]


def test_empty_originals_count_as_missing() -> None:
    data = encode({"version": 1, "partitions": [{**ROW, "original_replicas": []}]})
    assert decode_plan(data) == [Entry("foo", 0, (1, 2))]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("{garbage", "it is not JSON"),
        ([], "it is not a JSON object"),
        ({}, "partitions is not a list of objects"),
        ({"version": 1, "partitions": [1]}, "partitions is not a list of objects"),
        ({"partitions": [], "also": 1}, "unknown key 'also'"),
        ({"partitions": [{**ROW, "log_dirs": ["any", "any"]}]}, "unknown key 'log_dirs'"),
        ({"partitions": [{**ROW, "replicas": "1,2"}]}, "replicas of foo-0 is not a list of broker ids"),
        ({"partitions": [{**ROW, "replicas": [1, True]}]}, "replicas of foo-0 is not a list of broker ids"),
        ({"partitions": [{**ROW, "replicas": [-1]}]}, "replicas of foo-0 is not a list of broker ids"),
        ({"partitions": [{**ROW, "partition": "0"}]}, "partition is not a number"),
        ({"partitions": [{**ROW, "topic": 7}]}, "topic is not a string"),
        (
            {"partitions": [{**ROW, "original_replicas": 7}]},
            "original_replicas of foo-0 is not a list of broker ids",
        ),
    ],
)
def test_an_invalid_plan_is_rejected(value: object, why: str) -> None:
    data = value.encode() if isinstance(value, str) else encode(value)
    with pytest.raises(ZnodeError, match=why):
        decode_plan(data)


def test_log_directories_in_a_plan_file_are_ignored() -> None:
    assert decode_file(encode({"partitions": [{**ROW, "log_dirs": ["any", "any"]}]})) == [
        Entry("foo", 0, (1, 2))
    ]
    with pytest.raises(ZnodeError):
        decode_file(encode([ROW]))
