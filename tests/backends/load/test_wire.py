from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.load import wire
from protocol.codec.errors import DecodeError
from protocol.codec.wire import codec
from protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from protocol.messages.describe_log_dirs_response import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from protocol.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from protocol.messages.offset_fetch_request import OffsetFetchRequest
from protocol.messages.offset_fetch_response import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)

NAMES = {b"a": 0, b"b" * 200: 1}
NUMBERS = st.integers(0, 2**31 - 1)
SIZES = st.integers(0, 2**63 - 1)

log_dirs = st.lists(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b" * 200, "new"]), st.lists(st.tuples(NUMBERS, SIZES, st.booleans()))
        ),
        max_size=3,
    ),
    min_size=1,
    max_size=3,
)


@given(log_dirs, st.sampled_from(wire.LOG_DIRS_VERSIONS))
def test_sizes_are_those_that_the_codec_decodes(dirs: list[Any], version: int) -> None:
    results = [
        DescribeLogDirsResult(
            0,
            "/data",
            [
                DescribeLogDirsTopic(
                    name, [DescribeLogDirsPartition(p, size, 0, future) for p, size, future in rows]
                )
                for name, rows in topics
            ],
        )
        for topics in dirs
    ]
    body = codec(DescribeLogDirsResponse, version).encode(DescribeLogDirsResponse(results=results))
    found = wire.read_log_dirs(bytes(body), version, NAMES)
    assert isinstance(found, wire.Walked)
    rows = found.rows
    assert list(
        zip(*(each.tolist() for each in (rows.topics, rows.partitions, *rows.values)), strict=True)
    ) == [
        (NAMES.get(name.encode(), -1), p, size)
        for topics in dirs
        for name, rows in topics
        for p, size, future in rows
        if not future
    ]


@given(
    st.lists(st.lists(st.tuples(NUMBERS, SIZES), min_size=1), max_size=2),
    st.sampled_from(wire.OFFSETS_VERSIONS),
)
def test_offsets_are_those_that_the_codec_decodes(topics: list[Any], version: int) -> None:
    rows = [
        ListOffsetsTopicResponse(
            name.decode(), [ListOffsetsPartitionResponse(p, 6, -1, offset, 5) for p, offset in each]
        )
        for name, each in zip(NAMES, topics, strict=False)
    ]
    body = codec(ListOffsetsResponse, version).encode(ListOffsetsResponse(0, rows))
    found = wire.read_offsets(bytes(body), version, NAMES).rows
    expected = [(number, p, offset, 6) for number, each in enumerate(topics) for p, offset in each]
    assert (
        list(zip(*(x.tolist() for x in (found.topics, found.partitions, *found.values)), strict=True))
        == expected
    )


@pytest.mark.parametrize("version", wire.OFFSETS_VERSIONS)
def test_the_codec_reads_a_request_for_offsets(version: int) -> None:
    named = [(name, np.arange(200)) for name in NAMES]
    request = codec(ListOffsetsRequest, version).decode(wire.offsets_request(version, named, wire.LATEST))
    partitions = tuple(ListOffsetsPartition(number, -1, -1) for number in range(200))
    assert request == ListOffsetsRequest(
        -1, 0, tuple(ListOffsetsTopic(name.decode(), partitions) for name in NAMES)
    )


@pytest.mark.parametrize("version", wire.LOG_DIRS_VERSIONS)
def test_the_codec_reads_a_request_for_sizes(version: int) -> None:
    request = codec(DescribeLogDirsRequest, version).decode(wire.log_dirs_request(version))
    assert request == DescribeLogDirsRequest(None)


def test_a_refusal_has_its_code_and_an_answer_without_directories_is_one() -> None:
    refused = codec(DescribeLogDirsResponse, 3).encode(DescribeLogDirsResponse(error_code=31))
    assert wire.read_log_dirs(bytes(refused), 3, {}) == wire.Refused(31)
    empty = codec(DescribeLogDirsResponse, 1).encode(DescribeLogDirsResponse())
    assert wire.read_log_dirs(bytes(empty), 1, {}) == wire.Refused(31)


@given(st.binary(max_size=60), st.sampled_from(wire.LOG_DIRS_VERSIONS))
def test_an_answer_that_makes_no_sense_is_refused(body: bytes, version: int) -> None:
    try:
        wire.read_log_dirs(body, version, NAMES)
        wire.read_offsets(body, version + 4, NAMES)
    except DecodeError:
        pass


@given(
    st.lists(st.lists(st.tuples(NUMBERS, SIZES, st.sampled_from(["", None, "by me"]))), max_size=2),
    st.sampled_from(wire.COMMITTED_VERSIONS),
)
def test_committed_offsets_are_those_that_the_codec_decodes(topics: list[Any], version: int) -> None:
    rows = [
        OffsetFetchResponseTopics(
            name.decode(),
            partitions=[OffsetFetchResponsePartitions(p, o, -1, text, 0) for p, o, text in each],
        )
        for name, each in zip(NAMES, topics, strict=False)
    ]
    answer = OffsetFetchResponse(
        groups=[OffsetFetchResponseGroup("g", rows), OffsetFetchResponseGroup("h", (), 30)]
    )
    first, second = wire.read_committed(bytes(codec(OffsetFetchResponse, version).encode(answer)), NAMES)
    found = first.rows
    expected = [(number, p, o) for number, each in enumerate(topics) for p, o, _ in each]
    assert (
        list(zip(*(x.tolist() for x in (found.topics, found.partitions, *found.values)), strict=True))
        == expected
    )
    assert (first.name, first.code, second.name, second.code) == ("g", 0, "h", 30)


@pytest.mark.parametrize("version", wire.COMMITTED_VERSIONS)
def test_the_codec_reads_a_request_for_committed_offsets(version: int) -> None:
    request = codec(OffsetFetchRequest, version).decode(wire.committed_request(version, ["a", "b" * 200]))
    assert [(each.group_id, each.topics) for each in request.groups] == [("a", None), ("b" * 200, None)]
