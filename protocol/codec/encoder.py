"""Compiles the function that writes one message in one version.

There is one function per struct, `write_<Struct>(rows, write)`, which calls `write` with pieces of bytes.
Print `EncoderWriter(schema_of(MessageClass), version).source.text()` to see them. Arrays of flat structs are
given to a `RunWriter`, which writes most of their rows many at a time.
"""

from struct import Struct

from protocol.codec import writing
from protocol.codec.run_writer import RunWriter, WriteRows
from protocol.codec.runs import is_flat
from protocol.codec.source import Layout, Source, batches, local
from protocol.schema import FIXED_FORMATS, Field, Message, default_of


class EncoderWriter:
    """Writes the source of one message's encoder."""

    def __init__(self, message: Message, version: int) -> None:
        self.layout = Layout(message, version)
        self.source = Source()
        self.source.names |= {
            "check_uuid": writing.check_uuid,
            "refuse_absent": writing.refuse_absent,
            "refuse_null": writing.refuse_null,
            "tag_section": writing.tag_section,
        }
        for struct in message.structs:
            self._struct(struct)

    def compile(self) -> WriteRows:
        """Return the writer of root messages."""
        message, version = self.layout.message, self.layout.version
        names = self.source.compile(f"encode {message.root.__name__} v{version}")
        for struct in message.structs:
            if struct is not message.root and is_flat(self.layout, struct):
                name = f"write_{struct.__name__}"
                names[name] = RunWriter(self.layout, struct, names[name])
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
        values = [f"check_uuid({local(f)})" if f.type == "uuid" else local(f) for f in batch]
        self.source.line(f"write({pack}({', '.join(values)}))")

    def _write_primitive(self, field: Field) -> None:
        compact, nullable = self.layout.is_compact(field), self.layout.is_nullable(field)
        factory = writing.array_writer if field.is_array else writing.scalar_writer
        name = "_".join(
            [*["compact"] * compact, *["nullable"] * nullable, field.type.replace("[]", "array_of_"), "bytes"]
        )
        self.source.name(name, factory(field.element, compact, nullable))
        self.source.line(f"write({name}({local(field)}))")

    def _write_array(self, field: Field, struct: type) -> None:
        source, name = self.source, local(field)
        length = writing.compact_length if self.layout.is_compact(field) else writing.long_length
        source.name(length.__name__, length)
        with source.block(f"if {name} is None:"):
            source.line(
                f"write({length.__name__}(-1))" if self.layout.is_nullable(field) else "refuse_null()"
            )
        with source.block("else:"):
            source.line(f"write({length.__name__}(len({name})))")
            source.line(f"write_{struct.__name__}({name}, write)")

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
                source.line(f'tags.append(({field.tag}, b"".join(value)))')
        source.line("write = write_here")
        source.line("write(tag_section(tags))")
