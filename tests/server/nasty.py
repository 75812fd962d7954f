"""Generates messages of any schema with empty, null, huge, invalid and repeated values.

The seed makes them reproducible.
"""

from random import Random
from typing import Any

from protocol.codec.schema import FIXED_SIZES, Field, Message, default_of
from protocol.codec.source import Layout

LIMITS = {"int8": 7, "int16": 15, "int32": 31, "int64": 63, "uint16": 16, "uint32": 32}

STRINGS = (
    "", "foo", "bar", "no-such-topic", "1", "7", "-1", "..", "a b", "ä\0\u2028", "9" * 5_000, "x" * 249,
    "x" * 30_000, "ü" * 16_000,
    "min.insync.replicas", "retention.ms", "reassignment.max.concurrent.partition.movements", "1:2,*",
    "PLAINTEXT", "/d0",
)  # fmt: skip
NUMBERS = (0, 1, -1, 2, 3, 6, 7, 45, 10_001)
MANY = 60
"""Number of rows of a long array."""


class Nasty:
    """A generator of messages. `ids` are the ids of existing topics."""

    def __init__(self, seed: int, ids: list[bytes]) -> None:
        self._random = Random(seed)
        self._ids = ids

    def message(self, schema: Message, version: int) -> Any:
        """Return a message that `version` can encode."""
        return self._struct(Layout(schema, version), schema.root, 0)

    def bytes(self, data: bytes) -> bytes:
        """Corrupt an encoded message: change some bytes and sometimes cut off the end."""
        random, changed = self._random, bytearray(data)
        for _ in range(random.choice((0, 1, 1, 3))):
            if changed:
                changed[random.randrange(len(changed))] = random.choice((0, 1, 2, 127, 128, 255))
        return bytes(changed[: random.randrange(len(changed) + 1)] if random.random() < 0.3 else changed)

    def _struct(self, layout: Layout, struct: Any, depth: int) -> Any:
        absent = layout.absent(struct)
        return struct(*(
            default_of(struct, field) if field in absent else self._value(layout, field, depth)
            for field in layout.fields(struct)
        ))  # fmt: skip

    def _value(self, layout: Layout, field: Field, depth: int) -> Any:
        random = self._random
        if layout.is_nullable(field) and random.random() < 0.2:
            return None
        if not field.is_array:
            return self._scalar(layout, field, depth)
        most = MANY if depth == 0 else 4
        size = random.choice((0, 1, 1, 2, most))
        if random.random() < 0.3:
            return (self._scalar(layout, field, depth + 1),) * size
        return tuple(self._scalar(layout, field, depth + 1) for _ in range(size))

    def _scalar(self, layout: Layout, field: Field, depth: int) -> Any:
        struct, kind, random = layout.struct_of(field), field.element, self._random
        if struct is not None:
            return self._struct(layout, struct, depth)
        if kind == "uuid":
            return random.choice((bytes(16), b"no-such-topic-id", *self._ids))
        if kind in LIMITS:
            largest = 2 ** LIMITS[kind] - 1
            least = 0 if kind.startswith("u") else -largest - 1
            number = random.choice((*NUMBERS, *NUMBERS, least, largest))
            return min(largest, max(least, number))
        if kind == "string":
            return random.choice(STRINGS)
        return (
            {"bool": bool, "float64": float}.get(kind, bytes)(random.randrange(2))
            if kind in FIXED_SIZES
            else b"\0" * 40
        )
