"""Frames: sizes and headers."""

import tracemalloc
from struct import pack
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.apis import ApiKey
from protocol.codec.wire import codec
from protocol.errors import DecodeError, EncodeError
from protocol.frames import (
    FrameSplitter,
    ResponseFrame,
    encode_request,
    encode_response,
    frame_response,
    parse_request,
    parse_response,
)
from protocol.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from protocol.messages.controlled_shutdown_request import ControlledShutdownRequest
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from protocol.messages.list_partition_reassignments_response import ListPartitionReassignmentsResponse
from protocol.messages.metadata_request import MetadataRequest
from protocol.schema import Request
from tests.frames import decode_request, decode_response


def framed(*payloads: bytes) -> bytes:
    return b"".join(pack(">i", len(payload)) + payload for payload in payloads)


@given(
    payloads=st.lists(st.binary(max_size=50), max_size=5),
    cuts=st.lists(st.integers(0, 300), max_size=8).map(sorted),
)
def test_frames_do_not_depend_on_how_the_bytes_arrive(payloads: list[bytes], cuts: list[int]) -> None:
    data, splitter = framed(*payloads), FrameSplitter()
    pieces = [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]
    assert [frame for piece in pieces for frame in splitter.feed(piece)] == payloads


@pytest.mark.parametrize("size", [-1, 11, 2**31 - 1])
def test_an_invalid_length_is_reported_after_the_valid_frames(size: int) -> None:
    splitter = FrameSplitter(max_frame=10)
    assert splitter.feed(framed(b"good") + pack(">i", size) + framed(b"x")) == [b"good"]
    assert f"a frame of {size} bytes" in str(splitter.error)
    assert splitter.feed(framed(b"x")) == []


def test_memory_does_not_depend_on_a_stated_length() -> None:
    splitter = FrameSplitter()
    tracemalloc.start()
    try:
        splitter.feed(pack(">i", 100 * 1024 * 1024) + b"x")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10_000


def test_a_request_header_is_read_without_the_body() -> None:
    encoded = encode_request(MetadataRequest(topics=None), 12, 7, "me")
    frame = parse_request(encoded[4:])
    assert frame[:4] == (ApiKey.METADATA, 12, 7, "me")
    assert decode_request(frame) == MetadataRequest(topics=None)


def test_a_repeated_small_request_is_decoded_once() -> None:
    frames = [parse_request(encode_request(MetadataRequest(), 12, number, "me")[4:]) for number in (1, 2)]
    assert decode_request(frames[0]) is decode_request(frames[1])
    cut_short = frames[0]._replace(body=frames[0].body[:2])
    for _ in range(2):
        with pytest.raises(DecodeError, match="cut short"):
            decode_request(cut_short)


def test_a_client_id_may_be_null() -> None:
    assert parse_request(encode_request(MetadataRequest(), 1, 7, None)[4:]).client_id is None


def test_the_oldest_controlled_shutdown_has_no_client_id() -> None:
    encoded = encode_request(ControlledShutdownRequest(broker_id=3), 0, 7, "me")
    assert encoded == framed(bytes.fromhex("0007 0000 00000007 00000003"))
    assert decode_request(parse_request(encoded[4:])) == ControlledShutdownRequest(broker_id=3)


@pytest.mark.parametrize(("key", "version"), [(1, 0), (-3, 0), (3, 14), (3, -1), (18, 5)])
def test_an_unknown_key_or_version_keeps_its_correlation_id(key: int, version: int) -> None:
    frame = parse_request(pack(">hhi", key, version, 7) + b"\xff no header that we know")
    assert (frame.known, frame.correlation_id, frame.client_id) == (False, 7, None)
    with pytest.raises(DecodeError, match=f"API key {key} version {version} is unknown"):
        decode_request(frame)


def test_a_newer_api_versions_request_is_answered_in_version_0() -> None:
    frame = parse_request(pack(">hhi", ApiKey.API_VERSIONS, 9, 7))
    answer = encode_response(frame, ApiVersionsResponse(35, (ApiVersion(18, 0, 4),)), version=0)
    assert answer == framed(bytes.fromhex("00000007 0023 00000001 0012 0000 0004"))


def test_a_body_that_is_encoded_already_is_framed_as_a_message_is() -> None:
    response = ListPartitionReassignmentsResponse(error_code=41)
    for request, version in ((ListPartitionReassignmentsRequest(), 0), (MetadataRequest(), 1)):
        frame = parse_request(encode_request(request, version, 7, "me")[4:])
        body = codec(ListPartitionReassignmentsResponse, 0).encode(response)
        payload = frame_response(frame, body)[4:]
        assert parse_response(payload, frame.api_key, version).body == body


def test_a_client_reads_the_answer_to_a_newer_api_versions_request() -> None:
    frame = ResponseFrame(18, 4, 7, memoryview(bytes.fromhex("0023 00000001 0012 0000 0003")))
    assert decode_response(frame) == ApiVersionsResponse(35, (ApiVersion(18, 0, 3),))


def test_a_response_has_the_correlation_id_of_its_request() -> None:
    request = parse_request(encode_request(ListPartitionReassignmentsRequest(), 0, 7, "me")[4:])
    encoded = encode_response(request, ListPartitionReassignmentsResponse(error_code=41))
    response = parse_response(encoded[4:], 46, 0)
    assert response.correlation_id == 7
    assert decode_response(response) == ListPartitionReassignmentsResponse(error_code=41)


@pytest.mark.parametrize("payload", [b"", b"1234567", pack(">hhi", 3, 1, 7) + b"\x00\x05ab"])
def test_a_header_cut_short_is_refused(payload: bytes) -> None:
    with pytest.raises(DecodeError):
        parse_request(payload)


def test_only_requests_are_sent_as_requests() -> None:
    with pytest.raises(EncodeError, match="ListPartitionReassignmentsResponse is not a request"):
        encode_request(cast(Request[Any], ListPartitionReassignmentsResponse()), 0, 7, "me")


def test_a_response_to_an_unknown_key_is_refused() -> None:
    with pytest.raises(DecodeError, match="API key 9 is unknown"):
        parse_response(bytes(4), 9, 0)
