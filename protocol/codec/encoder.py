"""Compiles the function that writes one message in one version.

There is one function per struct, `write_<Struct>(rows, write)`, which calls `write` with pieces of bytes.
Print `EncoderWriter(schema_of(MessageClass), version).source.text()` to see them. They write short strings,
arrays of numbers and lengths in place, without a call; `protocol.codec.writing` writes long ones and refuses
invalid ones. Arrays of flat structs are given to a `RunWriter`, which writes most of their rows many at a
time, unless they have only a few rows.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from struct import Struct, pack

from protocol.codec import writing
from protocol.codec.run_writer import RunWriter, WriteRows
from protocol.codec.runs import MIN_RUN, is_flat, is_number_array, length_format, length_value
from protocol.codec.schema import FIXED_FORMATS, Field, Message, default_of
from protocol.codec.source import Layout, Source, batches, local


class EncoderWriter:
    """Writes the source of one message's encoder."""

    def __init__(self, message: Message, version: int) -> None:
        self.layout = Layout(message, version)
        self.source = Source()
        self.source.names |= {
            "check_uuid": writing.check_uuid,
            "compact_length": writing.compact_length,
            "long_length": writing.long_length,
            "one_byte": writing.ONE_BYTE,
            "refuse_absent": writing.refuse_absent,
            "refuse_null": writing.refuse_null,
            "short_length": writing.short_length,
            "varint": writing.varint,
        }
        for struct in message.structs:
            self._struct(struct)

    def compile(self) -> WriteRows:
        """Return the writer of root messages."""
        message, version = self.layout.message, self.layout.version
        names = self.source.compile(f"encode {message.root.__name__} v{version}")
        for struct in message.structs:
            if struct is not message.root and is_flat(self.layout, struct):
                rows = names[f"write_{struct.__name__}"]
                names[f"write_runs_of_{struct.__name__}"] = RunWriter(self.layout, struct, rows)
        write_root: WriteRows = names[f"write_{message.root.__name__}"]
        return write_root

    def _struct(self, struct: type) -> None:
        source, layout = self.source, self.layout
        with source.block(f"def write_{struct.__name__}(rows, write):"):
            names = "".join(f"{local(field)}, " for field in layout.fields(struct))
            with source.block(f"for {names}in rows:" if names else "for _ in rows:"):
                for field in layout.absent(struct):
                    self._refuse_absent(struct, field)
                for batch in batches(layout.plain(struct)):
                    self._write(batch)
                if layout.flexible:
                    self._tags(struct)
                if not layout.plain(struct) and not layout.flexible:
                    source.line("pass")

    def _refuse_absent(self, struct: type, field: Field) -> None:
        if not field.ignorable:
            with self.source.block(f"if {self._differs(struct, field)}:"):
                self.source.line(f'refuse_absent("{field.name}")')

    def _differs(self, struct: type, field: Field) -> str:
        """Return a condition: the field does not have its default value (an empty list is an empty tuple)."""
        default = default_of(struct, field)
        if default == ():
            return local(field)
        if default is None:
            return f"{local(field)} is not None"
        return f"{local(field)} != {self.source.literal(f'default_{struct.__name__}_{field.name}', default)}"

    def _write(self, batch: list[Field]) -> None:
        field = batch[0]
        if field.type in FIXED_FORMATS:
            self._write_fixed(batch)
        elif (struct := self.layout.struct_of(field)) is None:
            self._write_primitive(field)
        elif field.is_array:
            self._write_array(field, struct)
        else:
            self._write_struct(field, struct)

    def _write_fixed(self, batch: list[Field]) -> None:
        form = "".join(FIXED_FORMATS[field.type] for field in batch)
        pack = self.source.name(f"pack_{form.replace('?', 't')}", Struct(f">{form}").pack)
        for name in (local(field) for field in batch if field.type == "uuid"):
            with self.source.block(f"if len({name}) != 16:"):
                self.source.line(f"check_uuid({name})")
        self.source.line(f"write({pack}({', '.join(map(local, batch))}))")

    def _write_primitive(self, field: Field) -> None:
        compact, nullable = self.layout.is_compact(field), self.layout.is_nullable(field)
        factory = writing.array_writer if field.is_array else writing.scalar_writer
        kind = field.type.replace("[]", "array_of_")
        name = "_".join([*["compact"] * compact, *["nullable"] * nullable, kind, "bytes"])
        self.source.name(name, factory(field.element, compact, nullable))
        write = f"write({name}({local(field)}))"
        if field.type == "string":
            self._write_short_string(field, write, compact)
        elif is_number_array(field):
            self._write_short_array(field, write, compact)
        else:
            self.source.line(write)

    def _write_short_string(self, field: Field, write: str, compact: bool) -> None:
        """Write a string in place if it is short, as it mostly is; else by `write`."""
        if compact:
            length, limit = "one_byte[len(text) + 1]", writing.ONE_BYTE_LENGTHS
        else:
            length, limit = "short_length(len(text))", writing.MAX_STRING + 1
        with self._in_place(field, f"len(text := {local(field)}.encode()) < {limit}", write):
            self.source.line(f"write({length} + text)")

    def _write_short_array(self, field: Field, write: str, compact: bool) -> None:
        """Write an array of numbers in place if it is short, as it mostly is; else by `write`."""
        name = f"short_{'compact_' * compact}{field.element}"
        short = self.source.name(name, writing.short_arrays(field.element, compact))
        with self._in_place(field, f"(length := len({local(field)})) < {writing.SHORT_ARRAY}", write):
            self.source.line(f"write({short}[length](length{' + 1' * compact}, *{local(field)}))")

    @contextmanager
    def _in_place(self, field: Field, test: str, write: str) -> Iterator[None]:
        """Write null, what is added inside if `test` holds, else `write`, which refuses invalid values."""
        source, name = self.source, local(field)
        if self.layout.is_nullable(field):
            with source.block(f"if {name} is None:"):
                source.line(f"write({self._null(field)!r})")
            head = f"elif {test}:"
        else:
            head = f"if {name} is not None and {test}:"
        with source.block(head):
            yield
        with source.block("else:"):
            source.line(write)

    def _null(self, field: Field) -> bytes:
        return pack(f">{length_format(self.layout, field)}", length_value(self.layout, field, None))

    def _write_array(self, field: Field, struct: type) -> None:
        source, name, rows = self.source, local(field), f"write_{struct.__name__}"
        if is_flat(self.layout, struct):
            rows = f"({rows} if number < {MIN_RUN} else write_runs_of_{struct.__name__})"
        length = "long_length(number)"
        if self.layout.is_compact(field):
            limit = writing.ONE_BYTE_LENGTHS
            length = f"one_byte[number + 1] if number < {limit} else compact_length(number)"
        with source.block(f"if {name} is None:"):
            nullable = self.layout.is_nullable(field)
            source.line(f"write({self._null(field)!r})" if nullable else "refuse_null()")
        with source.block("else:"):
            source.line(f"number = len({name})")
            source.line(f"write({length})")
            source.line(f"{rows}({name}, write)")

    def _write_struct(self, field: Field, struct: type) -> None:
        """Write a single struct; a nullable one has a byte before it, -1 for null (KIP-893)."""
        source, name = self.source, local(field)
        write = f"write_{struct.__name__}(({name},), write)"
        if not self.layout.is_nullable(field):
            source.line(write)
            return
        with source.block(f"if {name} is None:"):
            source.line(r'write(b"\xff")')
        with source.block("else:"):
            source.line(r'write(b"\x01")')
            source.line(write)

    def _tags(self, struct: type) -> None:
        source, tagged = self.source, self.layout.tagged(struct)
        if not tagged:
            source.line(r'write(b"\x00")')
            return
        source.line("tags = []")
        source.line("write_here = write")
        for field in tagged:
            with source.block(f"if {self._differs(struct, field)}:"):
                source.line("value = []")
                source.line("write = value.append")
                self._write([field])
                source.line('value = b"".join(value)')
                source.line("number = len(value)")
                length = "one_byte[number] if number < 128 else varint(number)"
                source.line(f"tags += ({writing.varint(field.tag or 0)!r}, {length}, value)")
        source.line("write = write_here")
        source.line('write(one_byte[len(tags) // 3] + b"".join(tags))')
