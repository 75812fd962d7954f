"""Reads arrays of flat structs, with one call per run of rows of equal shape (see `protocol.codec.runs`)."""

from collections.abc import Callable
from functools import cached_property, lru_cache
from struct import Struct, unpack_from
from typing import Any

from protocol.codec.runs import (
    FIRST_STEP,
    FIRST_WINDOW,
    GROWTH,
    LAST_STEP,
    MAX_LENGTH,
    MAX_SHAPES,
    MIN_RUN,
    RowShape,
    Shape,
    is_number,
    length_format,
)
from protocol.codec.schema import FIXED_SIZES, Field, default_of
from protocol.codec.source import Layout, Source, local

LENGTH_WIDTHS = {">B": 1, ">h": 2, ">i": 4}

ReadRows = Callable[[bytes, int, int], tuple[tuple[Any, ...], int]]
"""Returns rows of one struct and their end. The class of the rows follows from the schema, at runtime only.
"""


class RunReader:
    """Reads `MIN_RUN` or more rows of `struct`; rows without a run by `read_rows`, which reads one by one."""

    def __init__(self, layout: Layout, struct: type, read_rows: ReadRows) -> None:
        self._layout = layout
        self._struct = struct
        self._read_rows = read_rows
        self._shape = lru_cache(MAX_SHAPES)(self._make_shape)
        self._last: ReadShape | None = None
        self._steps = [self._step_of(field) for field in layout.plain(struct)]

    def __call__(self, data: bytes, pos: int, count: int) -> tuple[tuple[Any, ...], int]:
        """Read `count` rows at `pos`; return them and their end position."""
        if count < FIRST_WINDOW:
            return self._read_few(data, pos, count)
        return self._read_many(data, pos, count)

    def _read_few(self, data: bytes, pos: int, count: int) -> tuple[tuple[Any, ...], int]:
        """Read a short array, whose rows most likely have the shape of the previous array."""
        if self._last is not None:
            end = pos + count * self._last.width
            rows = self._last.read_if_equal(data[pos:end])
            if len(rows) == count:
                return tuple(rows), end
        shape = self._shape_at(data, pos)
        if shape is not None and shape.row.is_hot(count):
            self._last = shape
        return self._read_rows(data, pos, count)

    def _read_many(self, data: bytes, pos: int, count: int) -> tuple[tuple[Any, ...], int]:
        rows: list[Any] = []
        step = FIRST_STEP
        while len(rows) < count:
            left = count - len(rows)
            shape = self._shape_at(data, pos)
            length = 0 if shape is None else shape.run_length(data, pos, left)
            if shape is None or length < MIN_RUN or not shape.row.is_hot(length):
                some, pos = self._read_rows(data, pos, min(left, max(length, step)))
                rows.extend(some)
                step = min(step * 2, LAST_STEP)
            else:
                end = pos + length * shape.width
                rows.extend(shape.read(data[pos:end]))
                pos = end
                step = FIRST_STEP
        return tuple(rows), pos

    def run_at(self, data: bytes, pos: int, count: int) -> tuple[int, int]:
        """Return the number of rows from `pos`, at most `count`, that have one shape, and their width."""
        shape = self._shape_at(data, pos) if count >= MIN_RUN else None
        return (0, 0) if shape is None else (shape.run_length(data, pos, count), shape.width)

    def _make_shape(self, shape: Shape) -> "ReadShape":
        return ReadShape(self._layout, self._struct, shape)

    def _step_of(self, field: Field) -> tuple[int, str, int, bool]:
        """Return how to skip `field`: width of a number or 0, format of a length, element width, nullable."""
        if is_number(field):
            return FIXED_SIZES[field.type], "", 0, False
        length = f">{length_format(self._layout, field)}"
        return 0, length, FIXED_SIZES.get(field.element, 0), self._layout.is_nullable(field)

    def _shape_at(self, data: bytes, pos: int) -> "ReadShape | None":
        """Return the shape of the row at `pos`, or None if it has none."""
        lengths: list[int | None] = []
        for width, form, element, nullable in self._steps:
            pos += width
            if not form:
                continue
            (number,) = unpack_from(form, data, pos)
            pos += LENGTH_WIDTHS[form]
            length = number - (form == ">B")
            if length == -1 and nullable:
                lengths.append(None)
            elif element and 0 <= length <= MAX_LENGTH:
                lengths.append(length)
                pos += length * element
            else:
                return None
        return self._shape(tuple(lengths))


class ReadShape:
    """Rows of one shape: their width, the bytes that are equal in all, and the function that reads them."""

    def __init__(self, layout: Layout, struct: type, shape: Shape) -> None:
        self.row = RowShape(layout, struct, shape)
        self.width = self.row.width
        self._layout = layout
        self._struct = struct
        self._common: list[tuple[int, bytes]] = []
        offset = 0
        for code, width, number, _ in self.row.pieces:
            if number is not None:
                value = Struct(f">{code}").pack(number)
                self._common += [(offset + index, value[index : index + 1]) for index in range(width)]
            offset += width

    def run_length(self, data: bytes, pos: int, limit: int) -> int:
        """Return the number of rows from `pos`, at most `limit`, with this shape.

        Only the bytes with lengths are compared, column by column: while the rows so far have this shape, the
        next row starts exactly one width later, so its lengths are at known offsets.
        """
        length, window = 0, FIRST_WINDOW
        limit = min(limit, (len(data) - pos) // self.width)
        while length < limit:
            rows = min(window, limit - length)
            start = pos + length * self.width
            equal = self._equal_rows(data, start, start + rows * self.width, rows)
            length += equal
            if equal < rows:
                break
            window *= GROWTH
        return length

    def _equal_rows(self, data: bytes, start: int, end: int, rows: int) -> int:
        for offset, byte in self._common:
            column = data[start + offset : end : self.width]
            if column != byte * len(column):
                rows = min(rows, len(column) - len(column.lstrip(byte)))
        return rows

    @cached_property
    def read(self) -> Callable[[bytes], list[Any]]:
        """Function that reads the bytes of rows that are known to have this shape."""
        return self._compile(self.row.names, self.row.read_format, "")

    @cached_property
    def read_if_equal(self) -> Callable[[bytes], list[Any]]:
        """Function that reads rows and skips those of another shape.

        It is faster than `run_length` for few rows.
        """
        names, conditions = [], []
        for index, (_, _, number, variables) in enumerate(self.row.pieces):
            names += variables if number is None else [f"fixed_{index}"]
            conditions += [] if number is None else [f"fixed_{index} == {number}"]
        read = self._compile(
            names, self.row.write_format, f" if {' and '.join(conditions)}" * bool(conditions)
        )
        width = self.width
        return lambda data: read(data) if len(data) % width == 0 else []

    def _compile(self, names: list[str], form: str, test: str) -> Callable[[bytes], list[Any]]:
        layout, struct = self._layout, self._struct
        plain = layout.plain(struct)
        source = Source()
        values = []
        for field in layout.fields(struct):
            if field not in plain:
                values.append(source.literal(f"default_{field.name}", default_of(struct, field)))
            else:
                values.append(local(field) if is_number(field) else self.row.expression(field))
        source.names |= {"new": tuple.__new__, "row": struct, "rows": Struct(form).iter_unpack}
        with source.block("def read_run(data):"):
            source.line(
                f"return [new(row, ({', '.join(values)},)) for {', '.join(names)}, in rows(data){test}]"
            )
        read: Callable[[bytes], list[Any]] = source.compile(f"run of {struct.__name__}")["read_run"]
        return read
