"""Compiles the function that reads one message in one version.

There is one function per struct, `read_<Struct>(data, pos, count)`, which returns (tuple of `count` rows,
next pos). Print `DecoderWriter(schema_of(MessageClass), version).source.text()` to see them. They read short
strings, arrays of numbers and counts in place, without a call; `protocol.codec.reading` reads long ones and
refuses invalid ones. Arrays of flat structs are given to a `RunReader`, which reads most of their rows many
at a time, unless they have only a few rows.
"""

from struct import Struct

from protocol.codec import reading
from protocol.codec.run_reader import ReadRows, RunReader
from protocol.codec.runs import MIN_RUN, is_flat
from protocol.codec.schema import FIXED_FORMATS, FIXED_SIZES, Field, Message, default_of
from protocol.codec.source import Layout, Source, batches, local


class DecoderWriter:
    """Writes the source of one message's decoder."""

    def __init__(self, message: Message, version: int) -> None:
        self.layout = Layout(message, version)
        self.source = Source()
        self.source.names |= {
            "new": tuple.__new__,
            "read_tags": reading.read_tags,
            "skip_tags": reading.skip_tags,
            "unpack_short": reading.unpack_short,
            "unpack_long": reading.unpack_long,
        }
        for struct in message.structs:
            if self._is_used(struct):
                self._struct(struct)

    def compile(self) -> ReadRows:
        """Return the reader of root messages."""
        message, version = self.layout.message, self.layout.version
        names = self.source.compile(f"decode {message.root.__name__} v{version}")
        for struct in message.structs:
            if struct is not message.root and self._is_used(struct) and is_flat(self.layout, struct):
                rows = names[f"read_{struct.__name__}"]
                names[f"read_runs_of_{struct.__name__}"] = RunReader(self.layout, struct, rows)
        read_root: ReadRows = names[f"read_{message.root.__name__}"]
        return read_root

    def _is_used(self, struct: type) -> bool:
        return struct is self.layout.message.root or bool(self.layout.plain(struct))

    def _struct(self, struct: type) -> None:
        source, name = self.source, struct.__name__
        source.name(name, struct)
        for field in self.layout.tagged(struct):
            self._tag_reader(struct, field)
        with source.block(f"def read_{name}(data, pos, count):"):
            source.line("rows, size = [], len(data)")
            with source.block("for _ in range(count):"):
                for batch in batches(self.layout.plain(struct)):
                    self._read(batch)
                if self.layout.flexible:
                    self._tags(struct)
                source.line(f"rows.append(new({name}, ({self._values(struct)})))")
            source.line("return tuple(rows), pos")

    def _values(self, struct: type) -> str:
        """Return the constructor's arguments: values read, and defaults of fields that the version lacks."""
        absent = self.layout.absent(struct)
        values = [self._default(struct, f) if f in absent else local(f) for f in self.layout.fields(struct)]
        return "".join(f"{value}, " for value in values)

    def _default(self, struct: type, field: Field) -> str:
        return self.source.literal(f"default_{struct.__name__}_{field.name}", default_of(struct, field))

    def _read(self, batch: list[Field]) -> None:
        field = batch[0]
        if field.type in FIXED_FORMATS:
            self._read_fixed(batch)
        elif (struct := self.layout.struct_of(field)) is None:
            self._read_primitive(field)
        elif field.is_array:
            self._read_array(field, struct)
        else:
            self._read_struct(field, struct)

    def _read_fixed(self, batch: list[Field]) -> None:
        form = "".join(FIXED_FORMATS[field.type] for field in batch)
        unpack = self.source.name(f"unpack_{form.replace('?', 't')}", Struct(f">{form}").unpack_from)
        self.source.line(f"{', '.join(map(local, batch))}, = {unpack}(data, pos)")
        self.source.line(f"pos += {sum(FIXED_SIZES[field.type] for field in batch)}")

    def _read_primitive(self, field: Field) -> None:
        compact, nullable = self.layout.is_compact(field), self.layout.is_nullable(field)
        factory = reading.array_reader if field.is_array else reading.scalar_reader
        name = "_".join(
            ["read", *["compact"] * compact, *["nullable"] * nullable, field.type.replace("[]", "array_of_")]
        )
        self.source.name(name, factory(field.element, compact, nullable))
        read = f"{local(field)}, pos = {name}(data, pos)"
        if field.type == "string":
            self._read_short_string(field, read, compact)
        elif field.is_array and field.element in FIXED_FORMATS:
            self._read_short_array(field, read, compact)
        else:
            self.source.line(read)

    def _read_short_string(self, field: Field, read: str, compact: bool) -> None:
        """Read a string in place if it is short, as it mostly is; else, and if it is invalid, by `read`."""
        source, name = self.source, local(field)
        if compact:  # One byte with the length plus 1; from 128 on there are more.
            source.line("length = data[pos]")
            start, end, test = "pos + 1", "pos + length", "0 < length < 128"
        else:
            source.line("length = unpack_short(data, pos)[0]")
            start, end, test = "pos + 2", "pos + 2 + length", "length >= 0"
        source.line(f"end = {end}")
        with source.block(f"if {test} and end <= size:"):
            source.line(f"{name} = data[{start}:end].decode()")
            source.line("pos = end")
        with source.block("else:"):
            source.line(read)

    def _read_short_array(self, field: Field, read: str, compact: bool) -> None:
        """Read an array of numbers in place if it is short, as it mostly is; else by `read`."""
        source, size = self.source, FIXED_SIZES[field.element]
        short = source.name(f"short_{field.element}", reading.short_arrays(field.element))
        source.line("length = data[pos]" if compact else "length = unpack_long(data, pos)[0] + 1")
        prefix = 1 if compact else 4
        with source.block(f"if 0 < length <= {reading.SHORT_ARRAY}:"):
            source.line(f"{local(field)} = {short}[length](data, pos + {prefix})")
            source.line(f"pos += length * {size} + {prefix - size}")
        with source.block("else:"):
            source.line(read)

    def _read_array(self, field: Field, struct: type) -> None:
        source, name = self.source, local(field)
        self._read_count(field, self.layout.min_size(struct))
        rows = f"read_{struct.__name__}"
        if is_flat(self.layout, struct):
            rows = f"(read_{struct.__name__} if number < {MIN_RUN} else read_runs_of_{struct.__name__})"
        read = f"{name}, pos = {rows}(data, pos, number)"
        if not self.layout.is_nullable(field):
            source.line(read)
            return
        with source.block("if number < 0:"):
            source.line(f"{name} = None")
        with source.block("else:"):
            source.line(read)

    def _read_count(self, field: Field, min_size: int) -> None:
        """Read a count that leaves room for its elements, of `min_size` bytes at least; else refuse it."""
        source = self.source
        compact, nullable = self.layout.is_compact(field), self.layout.is_nullable(field)
        read_count = f"read_{'nullable_' * nullable}count_{min_size}"
        source.name(read_count, reading.count_reader(compact, nullable, min_size))
        source.line("number = data[pos] - 1" if compact else "number = unpack_long(data, pos)[0]")
        prefix, test = (1, "0 <= number < 127") if compact else (4, "0 <= number")
        with source.block(f"if {test} and number * {min_size} <= size - pos - {prefix}:"):
            source.line(f"pos += {prefix}")
        with source.block("else:"):
            source.line(f"number, pos = {read_count}(data, pos)")

    def _read_struct(self, field: Field, struct: type) -> None:
        """Read a single struct; a nullable one has a byte before it, negative for null (KIP-893)."""
        source = self.source
        read = f"({local(field)},), pos = read_{struct.__name__}(data, pos, 1)"
        if not self.layout.is_nullable(field):
            source.line(read)
            return
        source.line("pos += 1")
        with source.block("if data[pos - 1] > 127:"):
            source.line(f"{local(field)} = None")
        with source.block("else:"):
            source.line(read)

    def _tags(self, struct: type) -> None:
        source, tagged = self.source, self.layout.tagged(struct)
        for field in tagged:
            source.line(f"{local(field)} = {self._default(struct, field)}")
        with source.block("if data[pos] == 0:"):
            source.line("pos += 1")
        with source.block("else:"):
            if not tagged:
                source.line("pos = skip_tags(data, pos)")
                return
            source.line("tags, pos = read_tags(data, pos)")
            for field in tagged:
                with source.block(f"if {field.tag} in tags:"):
                    source.line(
                        f"{local(field)} = read_tag_{struct.__name__}_{field.name}(tags[{field.tag}])"
                    )

    def _tag_reader(self, struct: type, field: Field) -> None:
        with self.source.block(f"def read_tag_{struct.__name__}_{field.name}(data):"):
            self.source.line("pos, size = 0, len(data)")
            self._read([field])
            self.source.line(f"return {local(field)}")
