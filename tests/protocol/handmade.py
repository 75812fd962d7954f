"""A message with features of Kafka's schema language that no message of ours uses."""

from collections.abc import Sequence
from typing import NamedTuple

from protocol.codec.schema import Field, Message


class Inner(NamedTuple):
    data: int = 0
    ratio: float = 0.0


class Row(NamedTuple):
    rows: int = 0
    extra: tuple[int, ...] = ()
    note: tuple[int, ...] | None = None


class Handmade(NamedTuple):
    pos: Inner = Inner()
    tags: Sequence[Row] = ()
    blob: bytes = b""
    value: Inner | None = None


SCHEMA = Message(
    Handmade,
    kind="request",
    api_key=999,
    versions="0-1",
    flexible="1+",
    structs={
        Inner: (Field("data", "uint16", "0+"), Field("ratio", "float64", "0+")),
        Row: (
            Field("rows", "int8", "0+"),
            Field("extra", "[]int64", "1+"),
            Field("note", "[]int8", "1+", nullable="1+", tag=0, tagged="1+"),
        ),
        Handmade: (
            Field("pos", "Inner", "0+"),
            Field("tags", "[]Row", "0+"),
            Field("blob", "bytes", "0+"),
            Field("value", "Inner", "1+", nullable="1+", tag=3, tagged="1+"),
        ),
    },
)
