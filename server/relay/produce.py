"""Produce (0): the addresses of new leaders in its answers (KIP-951), and requests that want none (acks=0).

Its later versions cannot be done without: version 12 is what makes transactions safe (KIP-890).
"""

from struct import error as NoMoreBytes  # noqa: N812

from common.address import Address
from protocol.codec import reading
from protocol.codec.wire import codec
from protocol.errors import DecodeError
from protocol.messages.produce_response import ProduceResponse
from protocol.messages.response_header import ResponseHeader
from server.gateway.addresses import Addresses
from server.relay.exchange import PASSED, Asked, Client, Exchange, Rule, sized, whole

FLEXIBLE = 9
NAMES_LEADERS = 10
NO_ANSWER = Exchange(answered=False)

LARGEST_HEAD = 70_000
"""Bytes before acks: a client id and a transactional id of 32 KB each."""


def produce(addresses: Addresses | None = None) -> Rule:
    """The rule of the key. Without ports of ours, the addresses are the right ones."""

    def ask(asked: Asked, _client: Client) -> Exchange | int:
        try:
            acks = _acks(bytes(asked.frame[:LARGEST_HEAD]), asked.api_version)
        except (IndexError, NoMoreBytes, DecodeError, UnicodeDecodeError) as error:
            text = isinstance(error, UnicodeDecodeError)
            if text or len(asked.frame) >= min(asked.size, LARGEST_HEAD):
                raise DecodeError("a Produce request that cannot be read") from error
            return min(asked.size, LARGEST_HEAD)
        if acks == 0:
            return NO_ANSWER
        if addresses is None or asked.api_version < NAMES_LEADERS:
            return PASSED
        version = asked.api_version
        return Exchange(finish=whole(lambda payload: _answer(payload, version, addresses)))

    return ask


def _acks(head: bytes, version: int) -> int:
    if len(head) < 10:
        raise IndexError
    flexible = version >= FLEXIBLE
    _, at = reading.string_reader(False, True)(head, 8)
    if flexible:
        at = reading.skip_tags(head, at)
    if version >= 3:
        _, at = reading.string_reader(flexible, True)(head, at)
    return int.from_bytes(head[at : reading.check_room(2, head, at)], signed=True)


def _answer(payload: bytes, version: int, addresses: Addresses) -> bytes:
    _, start = codec(ResponseHeader, 1).decode_prefix(payload)
    response = codec(ProduceResponse, version).decode(payload[start:])
    if not response.node_endpoints:
        return sized(payload)
    found = [
        (each, addresses.advertised(each.node_id, Address(each.host, each.port)))
        for each in response.node_endpoints
    ]
    moved = [each._replace(host=at.host, port=at.port) for each, at in found if at is not None]
    return sized(
        payload[:start] + codec(ProduceResponse, version).encode(response._replace(node_endpoints=moved))
    )
