"""Brokers' addresses in DescribeCluster, FindCoordinator and Metadata become the gateway's.

`server.relay.produce` does the same for Produce (0). A broker without a port is left out: a client that
learned its own address would bypass the gateway from then on.

Of Metadata, only brokers and controller at the head of the response are parsed, by hand, and the topics pass
unchanged. The compiled codec needs the whole message, which is megabytes for many partitions.
"""

from collections.abc import Collection
from struct import error as NoMoreBytes  # noqa: N812
from struct import pack, unpack_from
from typing import NamedTuple, TypeVar

from common.address import Address
from common.error_codes import ErrorCode
from protocol.codec import reading, writing
from protocol.codec.errors import DecodeError
from protocol.messages.describe_cluster_response import DescribeClusterResponse
from protocol.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from server.relay.exchange import Exchange, IncomingRequest, Interceptor, RelayedClient, rewrite_answer
from server.relay.produce import AdvertisedAddresses
from server.relay.splitter import FrameAction

Found = TypeVar("Found", FindCoordinatorResponse, Coordinator)

DEFAULT_BROKER = 1
"""DescribeCluster: endpoint type of brokers."""

NO_BROKER = -1
NOT_YET = "The coordinator's broker has no port at the gateway yet."


def controller_among(live: Collection[int], named: int) -> int:
    """Return the controller to show to clients, where the upstream named `named`.

    A controller that is not among the live brokers is replaced by one that is. NO_BROKER stays, so that
    clients retry.
    """
    return named if named in live or named == NO_BROKER else next(iter(live), NO_BROKER)


def describe_cluster(addresses: AdvertisedAddresses) -> Interceptor:
    """Return the interceptor of DescribeCluster. Controllers' endpoints (KIP-919) pass unchanged."""

    def change(response: DescribeClusterResponse) -> DescribeClusterResponse:
        if response.error_code or response.endpoint_type != DEFAULT_BROKER:
            return response
        addressed = [
            (broker, addresses.advertised(broker.broker_id, Address(broker.host, broker.port)))
            for broker in response.brokers
        ]
        brokers = [broker._replace(host=at.host, port=at.port) for broker, at in addressed if at is not None]
        live = [broker.broker_id for broker in brokers if not broker.is_fenced]
        return response._replace(
            brokers=brokers, controller_id=controller_among(live, response.controller_id)
        )

    return lambda incoming, _client: Exchange(
        finish=rewrite_answer(incoming, DescribeClusterResponse, change)
    )


def find_coordinator(addresses: AdvertisedAddresses) -> Interceptor:
    """Return the interceptor of FindCoordinator: one coordinator, or from version 4 on a list."""

    def change(response: FindCoordinatorResponse) -> FindCoordinatorResponse:
        coordinators = [moved(row) for row in response.coordinators]
        return moved(response)._replace(coordinators=coordinators)

    def moved(response: Found) -> Found:
        if response.error_code or not response.host:
            return response
        at = addresses.advertised(response.node_id, Address(response.host, response.port))
        if at is None:
            unknown = ErrorCode.COORDINATOR_NOT_AVAILABLE
            return response._replace(
                node_id=NO_BROKER, host="", port=NO_BROKER, error_code=unknown, error_message=NOT_YET
            )
        return response._replace(host=at.host, port=at.port)

    return lambda incoming, _client: Exchange(
        finish=rewrite_answer(incoming, FindCoordinatorResponse, change)
    )


LARGEST_HEAD = 1024 * 1024
"""Most bytes before the topics, enough for about ten thousand brokers."""

SMALLEST_BROKER = 10


def metadata(addresses: AdvertisedAddresses) -> Interceptor:
    """Return the interceptor of Metadata."""

    def intercept(incoming: IncomingRequest, _client: RelayedClient) -> Exchange:
        version = incoming.api_version

        def finish(frame: memoryview, size: int) -> FrameAction | int:
            received = bytes(frame[:LARGEST_HEAD])
            try:
                head = _Head(received, version).moved(addresses)
            except (IndexError, NoMoreBytes, DecodeError, UnicodeDecodeError) as error:
                if isinstance(error, UnicodeDecodeError) or len(received) >= min(size, LARGEST_HEAD):
                    raise DecodeError("the upstream's Metadata cannot be read") from None
                return min(size, 2 * len(received) + 64)
            return FrameAction(4 + head.end, pack(">i", size - head.end + len(head.data)) + head.data)

        return Exchange(finish=finish)

    return intercept


class Moved(NamedTuple):
    """The bytes that replace those of the response before `end`."""

    data: bytes
    end: int


class _Head:
    """Parser of the start of a response.

    Its errors, except UnicodeDecodeError, mean that more bytes are needed.
    """

    def __init__(self, data: bytes, version: int) -> None:
        self._data, self._at = data, 0
        self._version = version
        self._flexible = version >= 9

    def moved(self, addresses: AdvertisedAddresses) -> Moved:
        self._at = 4
        if self._flexible:
            self._tags()
        if self._version >= 3:
            self._number()
        start = self._at
        count, self._at = reading.read_count(self._data, start, self._flexible, False, SMALLEST_BROKER)
        described = [self._broker(addresses) for _ in range(count)]
        rows = {broker: row for broker, row in described if row is not None}
        length = writing.compact_length if self._flexible else writing.long_length
        cluster = self._cluster(rows)
        return Moved(b"".join((self._data[:start], length(len(rows)), *rows.values(), cluster)), self._at)

    def _broker(self, addresses: AdvertisedAddresses) -> tuple[int, bytes | None]:
        """Return the broker's id, and its row with the advertised address; None without one."""
        broker = self._number()
        host = self._text() or ""
        port = self._number()
        start = self._at
        if self._version >= 1:
            self._text()
        if self._flexible:
            self._tags()
        at = addresses.advertised(broker, Address(host, port))
        if at is None:
            return broker, None
        advertised_host = writing.string_writer(self._flexible, False)(at.host)
        return broker, pack(">i", broker) + advertised_host + pack(">i", at.port) + self._data[
            start : self._at
        ]

    def _cluster(self, live: Collection[int]) -> bytes:
        """Return the cluster id, unchanged, and the controller; the oldest versions have neither."""
        start = self._at
        if self._version >= 2:
            self._text()
        cluster_id = self._data[start : self._at]
        if self._version == 0:
            return cluster_id
        return cluster_id + pack(">i", controller_among(live, self._number()))

    def _number(self) -> int:
        (number,) = unpack_from(">i", self._data, self._at)
        self._at += 4
        return int(number)

    def _text(self) -> str | None:
        text, self._at = reading.string_reader(self._flexible, True)(self._data, self._at)
        return None if text is None else str(text)

    def _tags(self) -> None:
        self._at = reading.skip_tags(self._data, self._at)
