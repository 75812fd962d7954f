"""The records of Cruise Control's metrics topic, which its reporter in each broker writes once a minute.

The value of a record, big-endian: its class (0 of a broker, 1 of a topic, 2 of a partition), a version and
the metric (int8 each), the time in milliseconds (int64), the broker (int32); of a topic the length of the
name (int32) and the name; then the figure (float64). Rates are those of the last minute. Names of topics
have `_` in place of `.`.
"""

import math
import zlib
from collections.abc import Collection, Iterator
from struct import Struct, error
from typing import NamedTuple

from protocol.codec.errors import DecodeError
from protocol.record_batch import COMPRESSION_MASK, Batch

TOPIC_IN, TOPIC_OUT, CPU_OF_BROKER = 2, 3, 5
"""Metrics: bytes per second of a topic on a broker without replication, and the CPU of the broker's JVM as a
fraction of the host's."""
OF_BROKER, OF_TOPIC = 0, 1
WANTED = {(OF_TOPIC, TOPIC_IN), (OF_TOPIC, TOPIC_OUT), (OF_BROKER, CPU_OF_BROKER)}

_HEAD, _LENGTH, _FIGURE = Struct(">bbbqi"), Struct(">i"), Struct(">d")
NONE, GZIP = 0, 1
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
LARGEST = 64 * 1024 * 1024
"""Bytes of a batch when it is unpacked. The reporter makes batches of 0.8 MB."""
MOST_REPORTS = 5_000_000
"""That are read in one measurement."""


class Figure(NamedTuple):
    """One figure. `topic` is empty for that of a broker."""

    metric: int
    at_ms: int
    broker: int
    topic: str
    value: float


class Found:
    """The figures of one metric, broker and topic."""

    def __init__(self) -> None:
        self._total, self._count = 0.0, 0
        self.least, self.most = math.inf, -math.inf

    def add(self, value: float) -> None:
        """Add a figure."""
        self._total, self._count = self._total + value, self._count + 1
        self.least, self.most = min(self.least, value), max(self.most, value)

    @property
    def mean(self) -> float:
        """Return the mean of the figures."""
        return self._total / self._count


class Means:
    """What the reports of these brokers and topics since a time say, in the mean.

    Names of topics are those in reports.
    """

    def __init__(self, since_ms: int, brokers: Collection[int], topics: Collection[str]) -> None:
        self.since_ms, self._brokers, self._topics = since_ms, brokers, topics
        self._found: dict[tuple[int, int, str], Found] = {}
        self.brokers: set[int] = set()
        """Those that have reported anything that is wanted."""
        self._read = 0

    def add(self, batch: Batch) -> None:
        """Add the figures of a batch. Raises DecodeError, also for too many reports."""
        self._read += max(0, batch.header.size)
        if self._read > MOST_REPORTS:
            raise DecodeError(f"more than {MOST_REPORTS:,} reports are to be read")
        for each in figures(batch):
            if each.broker not in self._brokers or each.at_ms < self.since_ms:
                continue
            self.brokers.add(each.broker)
            if not each.topic or each.topic in self._topics:
                key = each.metric, each.broker, each.topic
                if (found := self._found.get(key)) is None:
                    found = self._found[key] = Found()
                found.add(each.value)

    def of(self, metric: int) -> Iterator[tuple[int, str, Found]]:
        """Yield the broker, the topic and the figures of a metric."""
        for (number, broker, topic), found in self._found.items():
            if number == metric:
                yield broker, topic, found


def figures(batch: Batch) -> Iterator[Figure]:
    """Yield the wanted figures of a batch. Raises DecodeError."""
    for _, record in unpacked(batch).records():
        if record.value is not None and (figure := _figure(record.value)) is not None:
            yield figure


def unpacked(batch: Batch) -> Batch:
    """Return the batch without compression. Raises DecodeError."""
    codec = batch.header.attributes & COMPRESSION_MASK
    if codec == NONE:
        return batch
    if codec != GZIP:
        name = CODECS[codec] if codec < len(CODECS) else str(codec)
        raise DecodeError(
            f"its batches are compressed with {name}; only gzip, the reporter's default, is read"
        )
    unpacking = zlib.decompressobj(wbits=31)
    try:
        payload = unpacking.decompress(batch.payload, LARGEST)
    except zlib.error as reason:
        raise DecodeError(f"a batch that is not gzip: {reason}") from reason
    if not unpacking.eof:
        raise DecodeError(f"a batch that is cut off, or has more than {LARGEST:,} bytes")
    header = batch.header._replace(attributes=batch.header.attributes & ~COMPRESSION_MASK)
    return Batch(header, payload)


def _figure(value: bytes) -> Figure | None:
    try:
        kind, version, metric, at_ms, broker = _HEAD.unpack_from(value)
        if (kind, metric) not in WANTED:
            return None
        if version:
            raise DecodeError(f"a report of version {version}; only 0 is known")
        topic, at = "", _HEAD.size
        if kind == OF_TOPIC:
            [length] = _LENGTH.unpack_from(value, at)
            at += _LENGTH.size
            topic = value[at : at + length].decode().replace(".", "_")
            at += max(0, length)
        [figure] = _FIGURE.unpack_from(value, at)
    except (error, UnicodeDecodeError) as reason:
        raise DecodeError("a record that is no report of Cruise Control") from reason
    return Figure(metric, at_ms, broker, topic, figure)
