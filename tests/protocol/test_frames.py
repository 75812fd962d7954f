"""Frames: sizes and headers."""

import tracemalloc
from contextlib import suppress
from struct import pack
from typing import Any, NamedTuple, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.apis import ApiKey
from protocol.codec.errors import DecodeError, EncodeError
from protocol.codec.schema import Request
from protocol.codec.wire import codec
from protocol.frames import (
    ClientConnection,
    Connection,
    FrameSplitter,
    RequestFrame,
    ResponseFrame,
    encode_request,
    encode_response,
    frame_response,
    parse_request,
    parse_response,
)
from protocol.messages.alter_partition_reassignments_request import AlterPartitionReassignmentsRequest
from protocol.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from protocol.messages.controlled_shutdown_request import ControlledShutdownRequest
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from protocol.messages.list_partition_reassignments_response import ListPartitionReassignmentsResponse
from protocol.messages.metadata_request import MetadataRequest
from protocol.messages.metadata_response import MetadataResponse
from tests.examples import examples
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
    with pytest.raises(DecodeError, match="API key 999 is unknown"):
        parse_response(bytes(4), 999, 0)


LIST = ListPartitionReassignmentsRequest()
LISTED = ListPartitionReassignmentsResponse(error_code=41)


class Pair:
    """A client and a server with nothing but bytes between them."""

    def __init__(self) -> None:
        self.client = ClientConnection()
        self.server = Connection()

    def ask(self, *requests: tuple[Request[NamedTuple], int]) -> list[RequestFrame]:
        """Send requests in one piece; return the frames that the server sees."""
        return self.server.receive_data(b"".join(self.client.send_request(*request) for request in requests))


def test_a_request_and_its_answer_cross() -> None:
    pair = Pair()
    (frame,) = pair.ask((AlterPartitionReassignmentsRequest(timeout_ms=1), 1))
    assert decode_request(frame) == AlterPartitionReassignmentsRequest(timeout_ms=1)
    assert frame.client_id == "reassignd"
    (answer,) = pair.ask((LIST, 0))[:1]
    assert answer.correlation_id == frame.correlation_id + 1


def test_answers_are_matched_to_requests_in_order() -> None:
    pair = Pair()
    first, second = pair.ask((LIST, 0), (MetadataRequest(), 12))
    data = pair.server.send_encoded(first, encode_response(first, LISTED)) + pair.server.send_encoded(
        second, encode_response(second, MetadataResponse())
    )
    assert [decode_response(frame) for frame in pair.client.receive_data(data)] == [
        LISTED,
        MetadataResponse(),
    ]
    assert (pair.client.unanswered, pair.server.unanswered) == (0, 0)


def test_an_answer_out_of_turn_is_refused_and_changes_nothing() -> None:
    pair = Pair()
    first, second = pair.ask((LIST, 0), (LIST, 0))
    with pytest.raises(EncodeError, match="the answer to request 2 is out of turn"):
        pair.server.send_encoded(second, encode_response(second, LISTED))
    assert pair.server.unanswered == 2
    pair.server.send_encoded(first, encode_response(first, LISTED))
    with pytest.raises(EncodeError, match="request 1 is out of turn"):
        pair.server.send_encoded(first, encode_response(first, LISTED))


def test_an_encoded_answer_is_sent_in_its_turn() -> None:
    pair = Pair()
    (frame,) = pair.ask((LIST, 0))
    encoded = encode_response(frame, LISTED)
    assert pair.server.send_encoded(frame, encoded) is encoded


def test_a_truncated_frame_waits_for_more() -> None:
    pair = Pair()
    data = pair.client.send_request(LIST, 0)
    assert pair.server.receive_data(data[:10]) == []
    assert len(pair.server.receive_data(data[10:])) == 1


@pytest.mark.parametrize("garbage", [pack(">i", -5), pack(">i", 2**31 - 1), pack(">i", 3) + b"abc"])
def test_good_requests_before_garbage_are_returned_and_nothing_after_it(garbage: bytes) -> None:
    pair = Pair()
    data = pair.client.send_request(LIST, 0)
    assert len(pair.server.receive_data(data + garbage + data)) == 1
    assert pair.server.error is not None
    assert pair.server.receive_data(data) == []


@settings(max_examples=examples(200), deadline=None)
@given(payloads=st.lists(st.binary(max_size=40), max_size=4), rest=st.binary(max_size=20))
def test_random_bytes_raise_only_decode_errors(payloads: list[bytes], rest: bytes) -> None:
    server = Connection()
    data = b"".join(pack(">i", len(payload)) + payload for payload in payloads) + rest
    for frame in server.receive_data(data):
        with suppress(DecodeError):
            decode_request(frame)


@given(key=st.sampled_from(ApiKey), version=st.integers(-1, 15), body=st.binary(max_size=60))
def test_random_bodies_raise_only_decode_errors(key: int, version: int, body: bytes) -> None:
    payload = pack(">hhih", key, version, 1, -1) + body
    for frame in Connection().receive_data(pack(">i", len(payload)) + payload):
        with suppress(DecodeError):
            decode_request(frame)


def test_a_large_frame_in_small_pieces_arrives_whole() -> None:
    payload = pack(">hhih", ApiKey.METADATA, 0, 1, -1) + bytes(10_000_000)
    data, server = pack(">i", len(payload)) + payload, Connection()
    frames = [f for at in range(0, len(data), 65536) for f in server.receive_data(data[at : at + 65536])]
    assert [len(frame.body) for frame in frames] == [10_000_000]


def test_a_connection_knows_that_a_request_has_begun() -> None:
    server, data = Connection(), ClientConnection().send_request(LIST, 0)
    for at in range(len(data) - 1):
        assert server.receive_data(data[at : at + 1]) == []
        assert server.splitter.incomplete == data[: at + 1]
    assert len(server.receive_data(data[-1:])) == 1
    assert not server.splitter.incomplete


def test_a_request_of_an_unknown_version_does_not_break_the_connection() -> None:
    server = Connection()
    frames = server.receive_data(pack(">ihhi", 8, 18, 9, 7) + ClientConnection().send_request(LIST, 0))
    assert [frame.known for frame in frames] == [False, True]
    assert server.error is None


@pytest.mark.parametrize("data", [pack(">ii", 4, 99), pack(">i", -1)])
def test_an_answer_without_a_request_is_an_error(data: bytes) -> None:
    client = ClientConnection()
    client.send_request(MetadataRequest(), 0)
    assert client.receive_data(data) == []
    assert client.error is not None
    assert client.receive_data(data) == []


def test_a_client_without_requests_expects_no_answer() -> None:
    client = ClientConnection()
    client.receive_data(pack(">ii", 4, 1))
    assert str(client.error) == "a response without a request"


def test_a_request_that_cannot_be_encoded_takes_no_place() -> None:
    client = ClientConnection()
    with pytest.raises(EncodeError):
        client.send_request(LIST._replace(timeout_ms=2**31), 0)
    assert client.unanswered == 0
