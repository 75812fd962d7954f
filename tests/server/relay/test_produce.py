"""Produce (0): requests without response, and the addresses of new leaders in responses."""

from struct import pack

import pytest

from protocol.codec.errors import DecodeError
from protocol.codec.wire import codec
from protocol.messages.produce_response import (
    NodeEndpoint,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from server.relay.exchange import PASSED, Exchange
from server.relay.produce import NO_ANSWER, produce
from tests.server.relay.doubles import FakePorts, client, finished, incoming_part

RULE = produce(FakePorts())


def request(version: int, acks: int, transaction: bytes | None = b"tx", client_id: bytes = b"me") -> bytes:
    """Return a request up to `acks`, followed by some records."""
    head = pack(">hhih", 0, version, 7, len(client_id)) + client_id
    if version >= 9:
        head += b"\0"
        head += b"\0" if transaction is None else bytes([len(transaction) + 1]) + transaction
    elif version >= 3:
        head += pack(">h", -1) if transaction is None else pack(">h", len(transaction)) + transaction
    return head + pack(">hi", acks, 30_000) + bytes(100)


@pytest.mark.parametrize("transaction", [None, b"tx"])
@pytest.mark.parametrize("version", range(14))
def test_no_answer_is_expected_without_acks(version: int, transaction: bytes | None) -> None:
    assert RULE(incoming_part(request(version, 0, transaction)), client()) is NO_ANSWER
    assert RULE(incoming_part(request(version, 1, transaction)), client()) is not NO_ANSWER
    assert RULE(incoming_part(request(version, -1, transaction)), client()) is not NO_ANSWER


def test_answers_without_addresses_pass() -> None:
    assert RULE(incoming_part(request(9, -1)), client()) is PASSED


def test_only_the_head_of_a_request_is_decoded() -> None:
    payload = request(12, -1)
    wanted = RULE(incoming_part(payload[:15], 10_000_000), client())
    assert isinstance(wanted, int)
    assert wanted < 100_000
    assert isinstance(RULE(incoming_part(payload, 10_000_000), client()), Exchange)


@pytest.mark.parametrize(
    "payload",
    [b"\0\0\0\x0c\0\0\0\7", request(12, -1)[:12], request(3, 1)[:13], request(3, 1, client_id=b"\xff")],
)
def test_a_request_without_a_head_closes_the_connection(payload: bytes) -> None:
    with pytest.raises(DecodeError, match="Produce request that cannot be read"):
        RULE(incoming_part(payload), client())


def answer(version: int, response: ProduceResponse) -> bytes:
    body = pack(">i", 7) + b"\0" + codec(ProduceResponse, version).encode(response)
    return pack(">i", len(body)) + body


def moved(*endpoints: NodeEndpoint) -> ProduceResponse:
    row = PartitionProduceResponse(0, 6)
    return ProduceResponse([TopicProduceResponse(partition_responses=[row])], 5, endpoints)


async def through(version: int, response: ProduceResponse) -> ProduceResponse:
    exchange = RULE(incoming_part(request(version, -1)), client())
    assert isinstance(exchange, Exchange)
    frame = await finished(exchange, answer(version, response))
    assert frame[:9] == pack(">ii", len(frame) - 4, 7) + b"\0"
    return codec(ProduceResponse, version).decode(frame[9:])


@pytest.mark.parametrize("version", range(10, 14))
async def test_new_leaders_get_the_addresses_of_the_relay(version: int) -> None:
    read = await through(version, moved(NodeEndpoint(2, "b", 9092, "r"), NodeEndpoint(77, "c", 9092)))
    assert read.node_endpoints == (NodeEndpoint(2, "gate", 9002, "r"),)
    assert read.responses[0].partition_responses[0].error_code == 6


async def test_an_answer_without_new_leaders_is_unchanged() -> None:
    frame = answer(12, moved())
    exchange = RULE(incoming_part(request(12, -1)), client())
    assert isinstance(exchange, Exchange)
    assert await finished(exchange, frame) == frame
