"""Requests and answers with hundreds of thousands of rows, as bytes to columns and back.

A row of these messages has a fixed size if it has no tagged fields. So an answer is walked topic by topic,
and all its rows become an array at once, without an object for each.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from struct import Struct, error, pack
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from protocol.codec.errors import DecodeError
from protocol.codec.reading import read_varint
from protocol.codec.writing import varint

Ints = npt.NDArray[np.int64]

LATEST, EARLIEST, EARLIEST_LOCAL = -1, -2, -4
"""Timestamps that stand for offsets in ListOffsets; the last one since version 8 (KIP-405)."""

LOG_DIRS_VERSIONS = range(1, 6)
OFFSETS_VERSIONS = range(4, 10)
GROUPS_VERSIONS = range(6)
COMMITTED_VERSIONS = range(8, 10)
"""From version 8 on a request takes many groups; later ones than 9 have ids in place of names."""
LOCAL_VERSION = 8

_INT16, _INT32 = Struct(">h"), Struct(">i")


class Rows(NamedTuple):
    """Rows of an answer. `topics` has the number of each row's topic, -1 for one that was not asked about."""

    topics: Ints
    partitions: Ints
    values: tuple[Ints, ...]


class Places(NamedTuple):
    """Where the figures of an answer are: the bytes that change although its rows stay the same."""

    kind: np.dtype[np.void]
    starts: Ints
    """Where each row begins."""
    figures: tuple[int, int]
    """The first byte of a row's figures, and that after the last one."""
    others: Sequence[tuple[int, int]]
    """The same of figures that belong to none of these rows."""


class Walked(NamedTuple):
    """An answer, all of which was read."""

    rows: Rows
    places: Places


class Refused(NamedTuple):
    """An error code in place of rows."""

    code: int


class _Scan:
    """A position in an answer. Reading beyond its end raises DecodeError."""

    def __init__(self, body: bytes, *, flexible: bool) -> None:
        self.body, self.at, self._flexible = body, 0, flexible
        self.starts: list[int] = []
        self.counts: list[int] = []
        self.topics: list[int] = []
        self.others = [(0, 4)]
        """Figures that belong to no row. The first one is the time for which the request was throttled."""

    def int16(self) -> int:
        self.at += 2
        return int(_INT16.unpack_from(self.body, self.at - 2)[0])

    def length(self) -> int:
        """Read the length of an array."""
        if self._flexible:
            return self._varint() - 1
        self.at += 4
        return int(_INT32.unpack_from(self.body, self.at - 4)[0])

    def text(self) -> bytes:
        length = self._varint() - 1 if self._flexible else self.int16()
        start, self.at = self.at, self.at + max(0, length)
        return self.body[start : self.at]

    def _varint(self) -> int:
        value, self.at = read_varint(self.body, self.at)
        return value

    def tags(self) -> None:
        if self._flexible and self._varint():
            raise DecodeError("an answer with tagged fields that are not known")

    def note(self, topics: Mapping[bytes, int], width: int) -> None:
        """Note the rows of all topics that follow, and go to their end."""
        walk = self._walk_flexible if self._flexible else self._walk
        walk(self.length(), topics, width)
        if any(count < 0 for count in self.counts) or self.at > len(self.body):
            raise DecodeError("rows in an answer that is shorter")

    def _walk(self, number: int, topics: Mapping[bytes, int], width: int) -> None:
        for _ in range(number):
            self.topics.append(topics.get(self.text(), -1))
            count = self.length()
            self.starts.append(self.at)
            self.counts.append(count)
            self.at += count * width

    def _walk_flexible(self, number: int, topics: Mapping[bytes, int], width: int) -> None:
        """Walk without calls: there may be as many topics as partitions."""
        body, at = self.body, self.at
        numbers, starts, counts = self.topics, self.starts, self.counts
        for _ in range(number):
            length = body[at]
            at += 1
            if length > 127:
                length, at = read_varint(body, at - 1)
            end = at + length - 1
            numbers.append(topics.get(body[at:end], -1))
            count, at = body[end] - 1, end + 1
            if count > 126:
                count, at = read_varint(body, end)
                count -= 1
            starts.append(at)
            counts.append(count)
            at += count * width
            if body[at]:
                raise DecodeError("an answer with tagged fields that are not known")
            at += 1
        self.at = at

    def table(self, kind: np.dtype[np.void]) -> tuple[Ints, Ints, npt.NDArray[np.void]]:
        """Return the topic and the start of each noted row, and the rows."""
        counts = np.array(self.counts, np.int64)
        within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        starts = np.repeat(np.array(self.starts, np.int64), counts) + within * kind.itemsize
        table = records(self.body, starts, kind)
        if "tags" in (kind.names or ()) and table["tags"].any():
            raise DecodeError("rows with tagged fields that are not known")
        return np.repeat(np.array(self.topics, np.int64), counts), starts, table


@contextmanager
def _to_the_end() -> Iterator[None]:
    """Read an answer. DecodeError is raised if it ends too early."""
    try:
        yield
    except (IndexError, ValueError, error) as reason:
        raise DecodeError("an answer that ends too early") from reason


def records(
    body: bytes | memoryview, starts: npt.NDArray[np.integer], kind: np.dtype[np.void]
) -> npt.NDArray[np.void]:
    """Return the rows that begin at these positions. Raises ValueError for one beyond the end."""
    width = kind.itemsize
    if len(starts) and (len(body) < width or starts.max() > len(body) - width):
        raise ValueError("rows in an answer that is shorter")
    # All places at which a row could begin, one byte apart, of which some are copied.
    places = np.ndarray(max(0, len(body) - width + 1), f"V{width}", body, strides=(1,))
    taken: npt.NDArray[np.void] = places[starts].view(kind)
    return taken


def _kind(fields: Sequence[tuple[str, str]], *, flexible: bool) -> "np.dtype[np.void]":
    return np.dtype([*fields, ("tags", "u1")] if flexible else list(fields))


_SIZE = (("partition", ">i4"), ("size", ">i8"), ("lag", ">i8"), ("future", "u1"))
_OFFSET = (("partition", ">i4"), ("error", ">i2"), ("timestamp", ">i8"), ("offset", ">i8"), ("epoch", ">i4"))
_SIZE_FIGURES, _OFFSET_FIGURES = (4, 20), (4, 26)
"""Bytes of a row that change: `size` and `lag`, and all but the partition."""
_ASKED = (("partition", ">i4"), ("epoch", ">i4"), ("timestamp", ">i8"))


def log_dirs_request(version: int) -> bytes:
    """Return the body of a DescribeLogDirs request for all topics."""
    return b"\0\0" if version >= 2 else pack(">i", -1)


def read_log_dirs(body: bytes, version: int, topics: Mapping[bytes, int]) -> Walked | Refused:
    """Return the size of each replica, without those that move to another directory. Raises DecodeError.

    `topics` has the numbers of topics by name.
    """
    flexible = version >= 2
    kind, scan = _kind(_SIZE, flexible=flexible), _Scan(body, flexible=flexible)
    with _to_the_end():
        scan.at = 4
        if version >= 3 and (code := scan.int16()):
            return Refused(code)
        results = scan.length()
        codes = [_log_dir(scan, version, kind.itemsize, topics) for _ in range(results)]
    if not results or all(codes):
        # Before version 3 an unauthorized principal gets an empty answer (KIP-784).
        return Refused(max(codes, default=31))
    numbers, starts, table = scan.table(kind)
    kept = table["future"] == 0
    first, end = _SIZE_FIGURES
    copied = [(start + first, start + end) for start in starts[~kept].tolist()]
    places = Places(kind, starts[kept], _SIZE_FIGURES, [*scan.others, *copied])
    rows = Rows(numbers[kept], _int64(table["partition"][kept]), (_int64(table["size"][kept]),))
    return Walked(rows, places)


def _log_dir(scan: _Scan, version: int, width: int, topics: Mapping[bytes, int]) -> int:
    code = scan.int16()
    scan.text()
    scan.note(topics, width)
    if version >= 4:  # The bytes of the disk, in all and free.
        scan.others.append((scan.at, scan.at + 16))
    scan.at += 16 * (version >= 4) + (version >= 5)
    scan.tags()
    return code


def offsets_request(version: int, named: Sequence[tuple[bytes, Ints]], timestamp: int) -> bytes:
    """Return the body of a ListOffsets request for these partitions of topics."""
    flexible = version >= 6
    table = np.zeros(sum(len(each) for _, each in named), _kind(_ASKED, flexible=flexible))
    table["partition"] = np.concatenate([each for _, each in named])
    table["epoch"], table["timestamp"] = -1, timestamp
    rows, width, at = table.tobytes(), table.dtype.itemsize, 0
    end = b"\0" if flexible else b""
    parts = [pack(">ib", -1, 0), _length(len(named), flexible=flexible)]
    for name, partitions in named:
        size = len(partitions) * width
        prefix = varint(len(name) + 1) if flexible else pack(">h", len(name))
        parts += prefix, name, _length(len(partitions), flexible=flexible), rows[at : at + size], end
        at += size
    return b"".join((*parts, end))


def read_offsets(body: bytes, version: int, topics: Mapping[bytes, int]) -> Walked:
    """Return the offset and the error code of each partition. Raises DecodeError."""
    flexible = version >= 6
    kind, scan = _kind(_OFFSET, flexible=flexible), _Scan(body, flexible=flexible)
    with _to_the_end():
        scan.at = 4
        scan.note(topics, kind.itemsize)
    numbers, starts, table = scan.table(kind)
    values = _int64(table["offset"]), _int64(table["error"])
    places = Places(kind, starts, _OFFSET_FIGURES, scan.others)
    return Walked(Rows(numbers, _int64(table["partition"]), values), places)


def _int64(column: npt.NDArray[np.generic]) -> Ints:
    return column.astype(np.int64)


def _length(count: int, *, flexible: bool) -> bytes:
    return varint(count + 1) if flexible else pack(">i", count)


class Committed(NamedTuple):
    """The offsets of a group, or an error code in place of them."""

    name: str
    rows: Rows
    code: int


def committed_request(version: int, groups: Sequence[str]) -> bytes:
    """Return the body of an OffsetFetch request for all offsets of these groups."""
    parts = [_length(len(groups), flexible=True)]
    for group in groups:
        name = group.encode()
        # No member, all topics, no tagged fields.
        parts += varint(len(name) + 1), name, b"\0\xff\xff\xff\xff" if version >= 9 else b"", b"\0\0"
    return b"".join((*parts, b"\0\0"))


_COMMITTED = np.dtype([("partition", ">i4"), ("offset", ">i8")])
_AFTER_METADATA = 16
"""Bytes of a row of committed offsets before the metadata."""


def read_committed(body: bytes, topics: Mapping[bytes, int]) -> list[Committed]:
    """Return the offsets of each group; -1 where there is none. Raises DecodeError."""
    scan, found = _Scan(body, flexible=True), []
    with _to_the_end():
        scan.at = 4
        for _ in range(scan.length()):
            name = scan.text().decode()
            rows = _committed_rows(scan, topics)
            found.append(Committed(name, rows, scan.int16()))
            scan.tags()
    return found


def _committed_rows(scan: _Scan, topics: Mapping[bytes, int]) -> Rows:
    """Read the topics of a group. The metadata that clients may add makes rows of different sizes."""
    parts: list[Ints] = []
    counts, numbers = [], []
    for _ in range(scan.length()):
        numbers.append(topics.get(scan.text(), -1))
        counts.append(scan.length())
        parts.append(_committed_starts(scan, counts[-1]))
        scan.tags()
    table = records(scan.body, np.concatenate([np.zeros(0, np.int64), *parts]), _COMMITTED)
    codes = np.repeat(np.array(numbers, np.int64), np.array(counts, np.int64))
    return Rows(codes, _int64(table["partition"]), (_int64(table["offset"]),))


def _committed_starts(scan: _Scan, count: int) -> Ints:
    """Return where the rows of a topic start, and go to their end."""
    width = _AFTER_METADATA + 4
    end = scan.at + count * width
    if count < 0:
        raise DecodeError("rows in an answer that is shorter")
    if end <= len(scan.body):
        # Without metadata all rows have the same size: its length is 0 (null) or 1 (empty) in each.
        lengths = np.frombuffer(scan.body, np.uint8)[scan.at + _AFTER_METADATA : end : width]
        if (lengths <= 1).all():
            starts: Ints = scan.at + width * np.arange(count)
            scan.at = end
            return starts
    found = []
    for _ in range(count):
        found.append(scan.at)
        scan.at += _AFTER_METADATA
        scan.text()
        scan.at += 2
        scan.tags()
    return np.array(found, np.int64)
