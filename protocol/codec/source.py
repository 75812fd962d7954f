"""Python source, written line by line and compiled: the common part of decoder and encoder."""

from collections.abc import Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from protocol.codec.schema import FIXED_FORMATS, FIXED_SIZES, Field, Message

if TYPE_CHECKING:
    from collections.abc import Iterator


INTERNAL_NAMES = {
    "count",
    "data",
    "end",
    "length",
    "new",
    "number",
    "pos",
    "rows",
    "size",
    "tags",
    "text",
    "value",
    "write",
    "write_here",
}


def local(field: Field) -> str:
    """Return the variable that holds `field` in compiled functions."""
    return f"{field.name}_" if field.name in INTERNAL_NAMES else field.name


class Source:
    """The text of a module, and the objects that its names refer to."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[str, Any] = {}
        self._indent = ""

    def line(self, text: str) -> None:
        """Add one line at the current depth."""
        self.lines.append(self._indent + text)

    @contextmanager
    def block(self, head: str) -> "Iterator[None]":
        """Add `head` and indent what is added inside."""
        self.line(head)
        self._indent += "    "
        yield
        self._indent = self._indent[:-4]

    def name(self, name: str, value: object) -> str:
        """Bind `name` to `value` in the text."""
        self.names[name] = value
        return name

    def literal(self, name: str, value: object) -> str:
        """Return an expression for `value`: itself if it is plain, else `name`."""
        if value is None or value == () or type(value) in (int, bool, str, float):
            return repr(value)
        return self.name(name, value)

    def text(self) -> str:
        """Return the whole source."""
        return "\n".join(self.lines) + "\n"

    def compile(self, title: str) -> dict[str, Any]:
        """Run the source; return its namespace. `title` replaces the file name in tracebacks."""
        exec(compile(self.text(), f"<{title}>", "exec"), self.names)
        return self.names


class Layout:
    """How the structs of one message lie on the wire in one version."""

    def __init__(self, message: Message, version: int) -> None:
        self.message = message
        self.version = version
        self.flexible = message.is_flexible(version)

    def fields(self, struct: type) -> tuple[Field, ...]:
        """Return all fields of `struct`, in the order of its constructor."""
        return self.message.structs[struct]

    def plain(self, struct: type) -> list[Field]:
        """Return the fields that this version carries in place."""
        return [
            f for f in self.fields(struct) if f.in_version(self.version) and not f.is_tagged(self.version)
        ]

    def tagged(self, struct: type) -> list[Field]:
        """Return the fields that this version carries in the tag section, by tag."""
        fields = [f for f in self.fields(struct) if f.in_version(self.version) and f.is_tagged(self.version)]
        return sorted(fields, key=lambda field: field.tag or 0)

    def absent(self, struct: type) -> list[Field]:
        """Return the fields that this version does not carry."""
        return [field for field in self.fields(struct) if not field.in_version(self.version)]

    def is_compact(self, field: Field) -> bool:
        """Tell whether lengths are varints."""
        return self.flexible and field.flexible != "none"

    def is_nullable(self, field: Field) -> bool:
        """Tell whether this version has a null for `field`."""
        return field.is_nullable(self.version)

    def struct_of(self, field: Field) -> type | None:
        """Return the class of the field's struct, or of its elements."""
        return self.message.struct(field.element)

    def min_size(self, struct: type) -> int:
        """Return the fewest bytes that one `struct` can take, 1 at least."""
        size = sum(map(self._min_field_size, self.plain(struct))) + self.flexible
        return max(size, 1)

    def _min_field_size(self, field: Field) -> int:
        if field.type in FIXED_SIZES:
            return FIXED_SIZES[field.type]
        struct = self.struct_of(field)
        if struct is not None and not field.is_array:
            return 1 if self.is_nullable(field) else self.min_size(struct)
        if self.is_compact(field):
            return 1
        return 2 if field.type == "string" else 4


def batches(fields: Sequence[Field]) -> "Iterator[list[Field]]":
    """Split `fields` into runs of fixed-width ones, and single others."""
    batch: list[Field] = []
    for field in fields:
        if field.type in FIXED_FORMATS:
            batch.append(field)
            continue
        if batch:
            yield batch
            batch = []
        yield [field]
    if batch:
        yield batch
