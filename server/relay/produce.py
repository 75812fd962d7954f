"""Produce (0): replaces new leaders' addresses in responses (KIP-951); detects requests with acks=0.

Hiding the later versions is no alternative: version 12 is what makes transactions safe (KIP-890).
"""

from struct import error as NoMoreBytes  # noqa: N812
from typing import Protocol

from common.address import Address
from protocol.codec import reading
from protocol.codec.errors import DecodeError
from protocol.codec.wire import codec
from protocol.messages.produce_response import ProduceResponse
from protocol.messages.response_header import ResponseHeader
from server.relay.exchange import (
    PASSED,
    Exchange,
    IncomingRequest,
    Interceptor,
    RelayedClient,
    buffered,
    with_length,
)


class AdvertisedAddresses(Protocol):
    """The addresses at which clients reach brokers through the relay."""

    def advertised(self, broker: int, actual: Address) -> Address | None:
        """Return the address for clients, or None when the broker has none.

        A broker seen for the first time may get one, which leads to its `actual` address.
        """
        ...


FLEXIBLE = 9
"""First flexible version."""


NAMES_LEADERS = 10
"""First version whose responses name the addresses of new leaders."""


NO_ANSWER = Exchange(answered=False)


LARGEST_HEAD = 70_000
"""Most bytes before `acks`: a client id and a transactional id of 32 KB each."""


def produce(addresses: AdvertisedAddresses | None = None) -> Interceptor:
    """Return the interceptor of Produce. Without `addresses`, clients get the brokers' own."""

    def intercept(incoming: IncomingRequest, _client: RelayedClient) -> Exchange | int:
        version = incoming.api_version
        try:
            acks = _acks(bytes(incoming.frame[:LARGEST_HEAD]), version)
        except (IndexError, NoMoreBytes, DecodeError, UnicodeDecodeError) as error:
            # All but invalid text may mean that more bytes are needed.
            needed = min(incoming.size, LARGEST_HEAD)
            if isinstance(error, UnicodeDecodeError) or len(incoming.frame) >= needed:
                raise DecodeError("a Produce request that cannot be read") from error
            return needed
        if acks == 0:
            return NO_ANSWER
        if addresses is None or version < NAMES_LEADERS:
            return PASSED
        return Exchange(finish=buffered(lambda payload: _answer(payload, version, addresses)))

    return intercept


def _acks(head: bytes, version: int) -> int:
    if len(head) < 10:
        raise IndexError
    flexible = version >= FLEXIBLE
    _, position = reading.string_reader(False, True)(head, 8)  # client id
    if flexible:
        position = reading.skip_tags(head, position)
    if version >= 3:
        _, position = reading.string_reader(flexible, True)(head, position)  # transactional id
    return int.from_bytes(head[position : reading.check_room(2, head, position)], signed=True)


def _answer(payload: bytes, version: int, addresses: AdvertisedAddresses) -> bytes:
    _, start = codec(ResponseHeader, 1).decode_prefix(payload)
    response = codec(ProduceResponse, version).decode(payload[start:])
    if not response.node_endpoints:
        return with_length(payload)
    advertised = [
        (endpoint, addresses.advertised(endpoint.node_id, Address(endpoint.host, endpoint.port)))
        for endpoint in response.node_endpoints
    ]
    endpoints = [
        endpoint._replace(host=address.host, port=address.port)
        for endpoint, address in advertised
        if address is not None
    ]
    changed = response._replace(node_endpoints=endpoints)
    return with_length(payload[:start] + codec(ProduceResponse, version).encode(changed))
