import sys
from importlib import import_module

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.error_codes import ErrorCode
from protocol.apis import ApiKey, find_api
from protocol.codec.errors import ApiError, DecodeError, EncodeError, ProtocolError
from protocol.codec.schema import ZERO_UUID, Field, array_format, default_of, version_range
from protocol.codec.wire import codec
from protocol.listing import Lists, encode_listing, encode_topic
from protocol.messages.list_partition_reassignments_response import (
    CurrentBatchPartition,
    CurrentBatchTopic,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from protocol.messages.metadata_response import SCHEMA, MetadataResponse, MetadataResponseTopic


@pytest.mark.parametrize("key", ApiKey)
def test_every_key_has_a_request_and_a_response_of_the_same_versions(key: ApiKey) -> None:
    api = find_api(key)
    assert api is not None
    assert (api.request.api_key, api.response.api_key) == (key, key)
    assert (api.request.kind, api.response.kind) == ("request", "response")
    assert api.request.versions == api.response.versions


def test_an_unknown_key_has_nothing() -> None:
    assert find_api(8) is None
    assert find_api(-1) is None


@pytest.mark.parametrize(
    ("key", "version", "headers"),
    [
        (ApiKey.METADATA, 8, (1, 0)),
        (ApiKey.METADATA, 9, (2, 1)),
        (ApiKey.API_VERSIONS, 2, (1, 0)),
        (ApiKey.API_VERSIONS, 3, (2, 0)),
        (ApiKey.CONTROLLED_SHUTDOWN, 0, (0, 0)),
        (ApiKey.CONTROLLED_SHUTDOWN, 1, (1, 0)),
        (ApiKey.CONTROLLED_SHUTDOWN, 3, (2, 1)),
    ],
)
def test_header_versions_follow_flexible_versions_with_two_exceptions(
    key: ApiKey, version: int, headers: tuple[int, int]
) -> None:
    api = find_api(key)
    assert api is not None
    assert (api.request_header_version(version), api.response_header_version(version)) == headers


def test_messages_are_imported_when_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    module = "protocol.messages.elect_leaders_request"
    monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.delitem(sys.modules, "protocol.apis")
    fresh = import_module("protocol.apis")
    assert module not in sys.modules
    fresh.find_api(fresh.ApiKey.ELECT_LEADERS)
    assert module in sys.modules


brokers = st.lists(st.integers(0, 2**31 - 1), max_size=4).map(tuple)
rows = st.tuples(
    st.integers(0, 2**31 - 1), st.tuples(brokers, brokers, brokers, st.none() | brokers, brokers)
)
topics = st.lists(st.tuples(st.text(max_size=200), st.lists(rows, max_size=4)), max_size=200)


def topic(name: str, rows: list[tuple[int, Lists]]) -> OngoingTopicReassignment:
    return OngoingTopicReassignment(
        name, [OngoingPartitionReassignment(number, *lists[:3]) for number, lists in rows]
    )


def batch(name: str, rows: list[tuple[int, Lists]]) -> CurrentBatchTopic:
    moving = [(number, lists) for number, lists in rows if lists[3] is not None]
    return CurrentBatchTopic(
        name, [CurrentBatchPartition(number, current, step or ()) for number, (*_, step, current) in moving]
    )


@given(topics)
def test_encoded_topics_are_joined_to_the_bytes_that_the_codec_makes(
    listed: list[tuple[str, list[tuple[int, Lists]]]],
) -> None:
    batches = [each for name, rows in listed if (each := batch(name, rows)).partitions]
    response = ListPartitionReassignmentsResponse(
        error_message=None,
        topics=[topic(name, rows) for name, rows in listed],
        current_batch=batches or None,
    )
    parts = [encode_topic(name, rows) for name, rows in listed]
    assert encode_listing(parts) == codec(ListPartitionReassignmentsResponse, 0).encode(response)


def test_codes_have_the_numbers_of_kafka() -> None:
    assert sorted(ErrorCode) == list(range(-1, 121))
    assert ErrorCode(85) is ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    assert ErrorCode(39) is ErrorCode.INVALID_REPLICA_ASSIGNMENT


@pytest.mark.parametrize("error", [DecodeError("x"), EncodeError("x"), ApiError(ErrorCode.NOT_CONTROLLER)])
def test_all_errors_have_one_base(error: Exception) -> None:
    assert isinstance(error, ProtocolError)


def test_a_refusal_shows_its_code_and_message() -> None:
    error = ApiError(ErrorCode.INVALID_CONFIG, "no such key")
    assert (error.code, error.message, str(error)) == (40, "no such key", "INVALID_CONFIG: no such key")
    assert str(ApiError(ErrorCode.INVALID_CONFIG)) == "INVALID_CONFIG"


def test_version_ranges_are_written_as_in_kafka() -> None:
    assert version_range("3") == range(3, 4)
    assert version_range("0-2") == range(3)
    assert version_range("5+") == range(5, 32768)
    assert not version_range("none")


def test_a_field_knows_its_versions() -> None:
    field = Field("x", "[]int32", "1-3", nullable="2+", tag=0, tagged="3+")
    assert [field.in_version(version) for version in range(5)] == [False, True, True, True, False]
    assert [field.is_nullable(version) for version in range(4)] == [False, False, True, True]
    assert [field.is_tagged(version) for version in range(4)] == [False, False, False, True]
    assert (field.is_array, field.element) == (True, "int32")


def test_a_message_knows_its_structs_and_flexible_versions() -> None:
    assert SCHEMA.struct("MetadataResponseTopic") is MetadataResponseTopic
    assert SCHEMA.struct("int32") is None
    assert [SCHEMA.is_flexible(version) for version in (8, 9)] == [False, True]


def test_defaults_are_those_of_the_class() -> None:
    (topic_id,) = [field for field in SCHEMA.structs[MetadataResponseTopic] if field.name == "topic_id"]
    assert default_of(MetadataResponseTopic, topic_id) == ZERO_UUID
    assert MetadataResponse().controller_id == -1


def test_an_array_format_repeats_wide_codes() -> None:
    assert array_format("int32", 3) == ">3i"
    assert array_format("uuid", 2) == ">16s16s"
