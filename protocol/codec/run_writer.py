"""Writes arrays of flat structs, with one call per run of rows of equal shape (see `protocol.codec.runs`)."""

import struct as structs
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import Any

from protocol.codec.runs import (
    FIRST_STEP,
    FIRST_WINDOW,
    GROWTH,
    LAST_STEP,
    MAX_LENGTH,
    MAX_SHAPES,
    RowShape,
    Shape,
    is_number,
)
from protocol.codec.schema import Field, default_of
from protocol.codec.source import Layout, Source, local

Write = Callable[[bytes], object]
WriteRows = Callable[[Sequence[Any], Write], None]
"""Takes rows, which are tuples of field values. Their types follow from the schema, at runtime only."""
PackRows = Callable[[Sequence[Any]], list[bytes]]


class RunWriter:
    """Writes `MIN_RUN` or more rows of `struct`; rows without a run by `write_rows`, one by one."""

    def __init__(self, layout: Layout, struct: type, write_rows: WriteRows) -> None:
        self._layout = layout
        self._struct = struct
        self._write_rows = write_rows
        self._shape = lru_cache(MAX_SHAPES)(self._make_shape)
        self._last: WriteShape | None = None
        fields, plain = layout.fields(struct), layout.plain(struct)
        self._variable = [
            (fields.index(field), field.is_array, layout.is_nullable(field))
            for field in plain
            if not is_number(field)
        ]

    def __call__(self, rows: Sequence[Any], write: Write) -> None:
        """Call `write` with the bytes of all rows."""
        if len(rows) < FIRST_WINDOW:
            packed = self._pack(rows)
            if packed is None:
                self._write_rows(rows, write)
            else:
                write(packed)
        else:
            self._write_many(rows, write)

    def _write_many(self, rows: Sequence[Any], write: Write) -> None:
        start, window, step = 0, FIRST_WINDOW, FIRST_STEP
        while start < len(rows):
            some = rows[start : start + window]
            packed = self._pack(some)
            if packed is None:
                some = rows[start : start + step]
                self._write_rows(some, write)
                window, step = FIRST_WINDOW, min(step * 2, LAST_STEP)
            else:
                write(packed)
                window, step = window * GROWTH, FIRST_STEP
            start += len(some)

    def _pack(self, rows: Sequence[Any]) -> bytes | None:
        """Return the bytes of rows of equal shape, most likely that of the previous array.

        The result is None if shapes differ.
        """
        if self._last is not None:
            packed = self._last.pack(rows)
            if packed is not None:
                return packed
        lengths = self._shape_of(rows[0])
        if lengths is None or lengths != self._shape_of(rows[-1]):
            return None
        shape = self._shape(lengths)
        if not shape.row.is_hot(len(rows)):
            return None
        self._last = shape
        return shape.pack(rows)

    def _make_shape(self, shape: Shape) -> "WriteShape":
        return WriteShape(self._layout, self._struct, shape)

    def _shape_of(self, row: Sequence[Any]) -> Shape | None:
        """Return the shape of `row`, or None if it has none."""
        lengths: list[int | None] = []
        for index, is_array, nullable in self._variable:
            value = row[index]
            if value is None and nullable:
                lengths.append(None)
            elif is_array and value is not None and len(value) <= MAX_LENGTH:
                lengths.append(len(value))
            else:
                return None
        return tuple(lengths)


class WriteShape:
    """Rows of one shape, and the function that packs them."""

    def __init__(self, layout: Layout, struct: type, shape: Shape) -> None:
        self.row = RowShape(layout, struct, shape)
        self._layout = layout
        self._struct = struct

    def pack(self, rows: Sequence[Any]) -> bytes | None:
        """Return the bytes of `rows`, or None if one of them has another shape or an invalid value."""
        try:
            packed = self._pack_rows(rows)
        except (ValueError, TypeError, structs.error):
            return None
        return b"".join(packed) if len(packed) == len(rows) else None

    @cached_property
    def _pack_rows(self) -> PackRows:
        """Function that packs rows. Unpacking a row into variables checks the lengths of its arrays."""
        layout, row = self._layout, self.row
        plain, absent = layout.plain(self._struct), layout.absent(self._struct)
        source = Source()
        source.name("pack", structs.Struct(row.write_format).pack)
        targets, conditions = [], []
        for field in layout.fields(self._struct):
            targets.append(row.expression(field) if field.name in row.variables else local(field))
            if field in plain:
                if not is_number(field) and field.name not in row.variables:
                    conditions.append(f"{local(field)} is None")
            elif field not in absent or not field.ignorable:
                conditions.append(self._is_default(source, field))
        values = [
            str(number) if number is not None else ", ".join(names) for _, _, number, names in row.pieces
        ]
        test = f" if {' and '.join(conditions)}" if conditions else ""
        with source.block("def pack_rows(rows):"):
            source.line(f"return [pack({', '.join(values)}) for {', '.join(targets)}, in rows{test}]")
        pack: PackRows = source.compile(f"run of {self._struct.__name__}")["pack_rows"]
        return pack

    def _is_default(self, source: Source, field: Field) -> str:
        default = default_of(self._struct, field)
        if default == ():
            return f"not {local(field)}"
        return f"{local(field)} == {source.literal(f'default_{field.name}', default)}"
