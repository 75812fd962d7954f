"""Runs of rows with equal shape, for `run_reader` and `run_writer`: flat structs, and the shape of a row.

Rows of one array mostly have the same shape: replica lists of one length, no error message. A run of such
rows has a fixed width, so one `struct` format fits them all. A struct is *flat* in a version when its rows
hold numbers, arrays of numbers, and strings that may be null. The *shape* of a row gives, for each field that
is not a number, the length of the array, or None for null. Rows whose strings are not null have no shape;
they are read and written one by one.
"""

from itertools import chain
from struct import calcsize

from protocol.codec.schema import FIXED_FORMATS, Field
from protocol.codec.source import Layout, local

MIN_RUN = 4
"""Arrays with fewer rows are read and written row by row."""

HOT_ROWS = 64
"""Rows of a shape before functions are compiled for it. This bounds the compilations that a client can cause.
"""

FIRST_STEP = 16
"""Rows that are processed one by one before the next search for a run; doubled after each unsuccessful
search."""

LAST_STEP = 512

MAX_LENGTH = 64
"""Maximum length of arrays in a shape; compiling functions for longer ones does not pay off."""

MAX_SHAPES = 256
"""Maximum number of cached shapes of a struct and version. This bounds the memory that a client can use."""

FIRST_WINDOW = 64
"""Rows of a long array that are compared first. The number grows by `GROWTH` while all have the same shape.
"""

GROWTH = 4

Shape = tuple[int | None, ...]


def is_flat(layout: Layout, struct: type) -> bool:
    """Tell whether rows of `struct` can have a shape."""
    fields = layout.plain(struct)
    return any(is_number(field) for field in fields) and all(
        is_number(field) or is_number_array(field) or (field.type == "string" and layout.is_nullable(field))
        for field in fields
    )


def is_number(field: Field) -> bool:
    """Tell whether `field` has a fixed width and `struct` checks its values."""
    return field.type in FIXED_FORMATS and field.type != "uuid"


def is_number_array(field: Field) -> bool:
    """Tell whether `field` is an array of such values."""
    return field.is_array and field.element in FIXED_FORMATS and field.element != "uuid"


def length_format(layout: Layout, field: Field) -> str:
    """Return the `struct` format of a length below 127."""
    if layout.is_compact(field):
        return "B"
    return "h" if field.type == "string" else "i"


def length_value(layout: Layout, field: Field, length: int | None) -> int:
    """Return the number that encodes `length` on the wire."""
    value = -1 if length is None else length
    return value + 1 if layout.is_compact(field) else value


class RowShape:
    """A row of one shape in pieces: (`struct` format, width in bytes, fixed number or None, variables)."""

    def __init__(self, layout: Layout, struct: type, shape: Shape) -> None:
        self.pieces: list[tuple[str, int, int | None, list[str]]] = []
        self.variables: dict[str, list[str]] = {}
        self._seen = 0
        lengths = iter(shape)
        for field in layout.plain(struct):
            if is_number(field):
                self._add(FIXED_FORMATS[field.type], None, [local(field)])
            else:
                self._add_array(layout, field, next(lengths))
        if layout.flexible:
            self._add("B", 0, [])

    def _add(self, code: str, number: int | None, variables: list[str]) -> None:
        self.pieces.append((code, calcsize(f">{code}"), number, variables))

    def _add_array(self, layout: Layout, field: Field, length: int | None) -> None:
        self._add(length_format(layout, field), length_value(layout, field, length), [])
        if length is not None:
            names = [f"{local(field)}_{index}" for index in range(length)]
            self.variables[field.name] = names
            if names:
                self._add(f"{length}{FIXED_FORMATS[field.element]}", None, names)

    def is_hot(self, rows: int) -> bool:
        """Count `rows` more rows of this shape; return whether compiling functions for it pays off."""
        self._seen += rows
        return self._seen >= HOT_ROWS

    @property
    def width(self) -> int:
        """The bytes of one row."""
        return sum(width for _, width, _, _ in self.pieces)

    @property
    def read_format(self) -> str:
        """The format that skips the lengths, which are compared before."""
        return ">" + "".join(
            code if number is None else f"{width}x" for code, width, number, _ in self.pieces
        )

    @property
    def write_format(self) -> str:
        """The format that takes lengths as values."""
        return ">" + "".join(code for code, _, _, _ in self.pieces)

    @property
    def names(self) -> list[str]:
        """All variables, in wire order."""
        return list(chain.from_iterable(names for _, _, _, names in self.pieces))

    def expression(self, field: Field) -> str:
        """Return `field` as a tuple of variables; as the target of an assignment it also unpacks."""
        names = self.variables.get(field.name)
        return "None" if names is None else f"({''.join(f'{name}, ' for name in names)})"
