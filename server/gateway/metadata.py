"""Metadata (3): changes brokers and controller at the head of the response; the topics pass unchanged.

The head is parsed by hand. The compiled codec needs the whole message, which is megabytes for many
partitions.
"""

from collections.abc import Collection
from struct import error as NoMoreBytes  # noqa: N812
from struct import pack, unpack_from
from typing import NamedTuple

from common.address import Address
from protocol.codec import reading, writing
from protocol.errors import DecodeError
from server.gateway.addresses import controller_among
from server.relay.addresses import AdvertisedAddresses
from server.relay.exchange import ClientIdentity, Exchange, IncomingRequest, Interceptor
from server.relay.splitter import FrameAction

LARGEST_HEAD = 1024 * 1024
"""Most bytes before the topics, enough for about ten thousand brokers."""

SMALLEST_BROKER = 10


def metadata(addresses: AdvertisedAddresses) -> Interceptor:
    """Return the interceptor of Metadata."""

    def intercept(incoming: IncomingRequest, _client: ClientIdentity) -> Exchange:
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
