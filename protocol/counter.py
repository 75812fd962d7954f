"""Counts the rows of a message before it is decoded, so that a request that is too large costs little memory.

A decoded row takes about fifty times the memory of its bytes. `Counter.cut` walks over the bytes without
decoding them, and stops when a bound is exceeded. A generated function per struct, `skip_<Struct>(data, pos,
count, left)`, returns the position after `count` rows, and subtracts what it counts from `left`: the rows and
numbers that are still allowed.
"""

from collections.abc import Callable
from functools import cache
from struct import Struct
from struct import error as NoMoreBytes  # noqa: N812
from typing import Any, Generic, NamedTuple, TypeVar

from protocol.codec import reading, writing
from protocol.codec.errors import DecodeError
from protocol.codec.run_reader import RunReader
from protocol.codec.runs import is_flat
from protocol.codec.schema import FIXED_FORMATS, FIXED_SIZES, Field
from protocol.codec.source import Layout, Source, batches
from protocol.codec.wire import codec, schema_of

M = TypeVar("M")

ROWS, NUMBERS = 0, 1
"""Indexes in `left`."""

CHUNKS = (1, 9, 90, 900)
"""Sizes of the first chunks of rows. A truncated message keeps the chunks before the bound, so at most 1,000
rows."""

Skip = Callable[[bytes, int, int, list[int]], int]


class Bounds(NamedTuple):
    """Maximum size of a message.

    `rows` counts structs and strings in arrays, and tagged fields; `numbers` counts numbers in arrays, such
    as broker ids.
    """

    rows: int
    numbers: int

    def surely_hold(self, size: int) -> bool:
        """Whether no message of `size` bytes can exceed the bounds.

        A row or number takes at least one byte.
        """
        return size <= self.rows and size <= self.numbers


class _TooManyError(Exception):
    """A bound is exceeded."""


class Counter(Generic[M]):
    """Counts the rows of messages of one class and version."""

    def __init__(self, message_class: type[M], version: int) -> None:
        self._class, self._version = message_class, version
        message = schema_of(message_class)
        self._layout = Layout(message, version)
        source = Source()
        source.names |= {"skip_tags": _skip_tags, "unpack_h": Struct(">h").unpack_from}
        for struct in message.structs:
            if struct is not message.root and self._layout.plain(struct):
                _write_struct(source, self._layout, struct)
        self._skips = source.compile(f"count {message_class.__name__} v{version}")
        for struct in message.structs:
            if struct is not message.root and is_flat(self._layout, struct):
                name = f"skip_{struct.__name__}"
                self._skips[name] = _in_runs(self._layout, struct, self._skips[name])

    def cut(self, data: bytes, bounds: Bounds) -> M | None:
        """Return None if the message in `data` is within the bounds, else a message with its first rows.

        An invalid message returns None too; decoding it raises the error.
        """
        left = [*bounds]
        pos = 0
        plain = self._layout.plain(self._layout.message.root)
        try:
            for index, field in enumerate(plain):
                rows: list[tuple[int, int]] = []
                try:
                    end = self._skip(field, data, pos, left, rows)
                except _TooManyError:
                    return self._truncated(data, pos, plain[: index + 1], rows)
                pos = end
            if self._layout.flexible:
                _skip_tags(data, pos, left)
        except _TooManyError:
            return self._class()
        except (IndexError, NoMoreBytes, DecodeError):
            return None
        return None

    def _skip(self, field: Field, data: bytes, pos: int, left: list[int], rows: list[tuple[int, int]]) -> int:
        """Return the position after a field of the root struct.

        For an array, append (number of rows so far, position after them) to `rows` after each chunk.
        """
        layout = self._layout
        if field.type in FIXED_SIZES:
            return pos + FIXED_SIZES[field.type]
        struct, compact = layout.struct_of(field), layout.is_compact(field)
        if struct is not None and not field.is_array:
            if layout.is_nullable(field):
                pos += 1
                if data[pos - 1] > 127:
                    return pos
            return self._skip_struct(struct)(data, pos, 1, left)
        if not field.is_array:
            return _scalar(field.type, compact)(data, pos, 1, left)
        if field.element in FIXED_FORMATS:
            return _numbers(FIXED_SIZES[field.element], compact)(data, pos, left)
        skip = _scalar(field.element, compact) if struct is None else self._skip_struct(struct)
        count, pos = _read_length(data, pos, compact)
        done = 0
        for chunk in (*CHUNKS, count):
            step = max(0, min(chunk, count - done))
            left[ROWS] -= step
            _check(left)
            pos = skip(data, pos, step, left)
            done += step
            rows.append((done, pos))
        return pos

    def _skip_struct(self, struct: type) -> Skip:
        skip: Skip = self._skips[f"skip_{struct.__name__}"]
        return skip

    def _truncated(self, data: bytes, pos: int, fields: list[Field], rows: list[tuple[int, int]]) -> M:
        """Return the message up to the array that exceeds the bounds, the last of `fields`.

        Later fields have their defaults.
        """
        wire = codec(self._class, self._version)
        # An encoded message of defaults supplies the bytes of the later fields, which start at `end`.
        empty, end = wire.encode(self._class()), 0
        for field in fields:
            end = self._skip(field, empty, end, [0, 0], [])
        compact = self._layout.is_compact(fields[-1])
        length = writing.compact_length if compact else writing.long_length
        count, rows_end = rows[-1] if rows else (0, 0)
        _, rows_begin = _read_length(data, pos, compact)
        try:
            return wire.decode(b"".join((data[:pos], length(count), data[rows_begin:rows_end], empty[end:])))
        except DecodeError:
            return self._class()


_counters: dict[tuple[type, int], Counter[Any]] = {}
"""By class and version. A dict cannot say that a class has the counter of its own messages."""


def counter(message_class: type[M], version: int) -> Counter[M]:
    """Return the counter of a message class of `protocol.messages`."""
    cached: Counter[M] | None = _counters.get((message_class, version))
    if cached is None:
        cached = _counters[message_class, version] = Counter(message_class, version)
    return cached


def _check(left: list[int]) -> None:
    if left[ROWS] < 0 or left[NUMBERS] < 0:
        raise _TooManyError


def _read_length(data: bytes, pos: int, compact: bool) -> tuple[int, int]:
    return reading.read_compact_length(data, pos) if compact else reading.read_long_length(data, pos)


def _skip_tags(data: bytes, pos: int, left: list[int]) -> int:
    """Skip tagged fields.

    They may contain rows, so every two bytes count as one: the least that a tagged field takes.
    """
    count, _ = reading.read_varint(data, pos)
    if count > left[ROWS]:
        raise _TooManyError
    end = reading.skip_tags(data, pos)
    left[ROWS] -= (end - pos) // 2
    _check(left)
    return end


@cache
def _numbers(size: int, compact: bool) -> Callable[[bytes, int, list[int]], int]:
    def skip(data: bytes, pos: int, left: list[int]) -> int:
        count, pos = _read_length(data, pos, compact)
        left[NUMBERS] -= max(0, count)
        _check(left)
        return pos + max(0, count) * size

    return skip


@cache
def _scalar(kind: str, compact: bool) -> Skip:
    """Return a function that skips strings or byte arrays."""
    if compact:
        read_length = reading.read_compact_length
    else:
        read_length = reading.read_short_length if kind == "string" else reading.read_long_length

    def skip(data: bytes, pos: int, count: int, _left: list[int]) -> int:
        for _ in range(count):
            length, pos = read_length(data, pos)
            pos += max(0, length)
        return pos

    return skip


def _write_struct(source: Source, layout: Layout, struct: type) -> None:
    with source.block(f"def skip_{struct.__name__}(data, pos, count, left):"):
        if not layout.flexible and all(field.type in FIXED_SIZES for field in layout.plain(struct)):
            source.line(f"return pos + count * {layout.min_size(struct)}")
            return
        with source.block("for _ in range(count):"):
            for batch in batches(layout.plain(struct)):
                _write_field(source, layout, batch)
            if layout.flexible:
                source.line("pos = skip_tags(data, pos, left) if data[pos] else pos + 1")
        source.line("return pos")


def _write_field(source: Source, layout: Layout, batch: list[Field]) -> None:
    field = batch[0]
    struct, compact = layout.struct_of(field), layout.is_compact(field)
    if field.type in FIXED_SIZES:
        source.line(f"pos += {sum(FIXED_SIZES[fixed.type] for fixed in batch)}")
    elif struct is not None and not field.is_array:
        if layout.is_nullable(field):
            source.line("pos += 1")
            with source.block("if data[pos - 1] < 128:"):
                source.line(f"pos = skip_{struct.__name__}(data, pos, 1, left)")
        else:
            source.line(f"pos = skip_{struct.__name__}(data, pos, 1, left)")
    elif field.is_array and field.element in FIXED_FORMATS:
        size = FIXED_SIZES[field.element]
        name = source.name(f"skip_numbers_{size}_{compact}", _numbers(size, compact))
        source.line(f"pos = {name}(data, pos, left)")
    elif field.is_array:
        rows = source.name(f"rows_{compact}", _rows(compact))
        skip = f"skip_{struct.__name__}" if struct is not None else ""
        if struct is None:
            skip = source.name(f"skip_{field.element}_{compact}", _scalar(field.element, compact))
        source.line(f"number, pos = {rows}(data, pos, left)")
        source.line(f"pos = {skip}(data, pos, number, left)")
    elif compact:
        skip = source.name(f"skip_{field.type}_True", _scalar(field.type, compact=True))
        source.line(f"pos = pos + (data[pos] or 1) if data[pos] < 128 else {skip}(data, pos, 1, left)")
    else:
        skip = source.name(f"skip_{field.type}_False", _scalar(field.type, compact=False))
        source.line(f"pos = {skip}(data, pos, 1, left)")


@cache
def _rows(compact: bool) -> Callable[[bytes, int, list[int]], tuple[int, int]]:
    def read(data: bytes, pos: int, left: list[int]) -> tuple[int, int]:
        count, pos = _read_length(data, pos, compact)
        left[ROWS] -= max(0, count)
        _check(left)
        return count, pos

    return read


def _in_runs(layout: Layout, struct: type, skip_rows: Skip) -> Skip:
    """Return a function that skips rows, consecutive rows of one shape at once.

    Most plans have such rows only.
    """
    runs = RunReader(layout, struct, lambda _data, pos, _count: ((), pos))

    def skip(data: bytes, pos: int, count: int, left: list[int]) -> int:
        rows, width = runs.run_at(data, pos, count)
        left[NUMBERS] -= rows * width // 4
        _check(left)
        return skip_rows(data, pos + rows * width, count - rows, left)

    return skip
