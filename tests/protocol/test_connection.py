"""Both ends of a connection, driven against each other."""

from contextlib import suppress
from struct import pack
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.apis import ApiKey
from protocol.connection import ClientConnection, Connection
from protocol.errors import DecodeError, EncodeError
from protocol.frames import RequestFrame, encode_response
from protocol.messages.alter_partition_reassignments_request import AlterPartitionReassignmentsRequest
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from protocol.messages.list_partition_reassignments_response import ListPartitionReassignmentsResponse
from protocol.messages.metadata_request import MetadataRequest
from protocol.messages.metadata_response import MetadataResponse
from protocol.schema import Request
from tests.examples import examples
from tests.frames import decode_request, decode_response

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
