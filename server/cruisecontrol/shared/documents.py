"""JSON documents with long lists, which are made and sent in slices: no list is in memory as JSON."""

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import NamedTuple

from msgspec import Struct
from starlette.responses import Response, StreamingResponse

from server.api.shared.answers import elements
from server.cruisecontrol.shared.answers import JSON, encode


class JsonList(NamedTuple):
    """A field with a list. Rows that are None are left out."""

    name: str
    rows: Iterable[Struct | None]


def document(head: bytes, lists: Sequence[JsonList], tail: bytes) -> Response:
    """Return the answer: `head`, the fields with commas in between, and `tail`."""
    return StreamingResponse(_pieces(head, lists, tail), media_type=JSON)


async def _pieces(head: bytes, lists: Sequence[JsonList], tail: bytes) -> AsyncIterator[bytes]:
    yield head
    for place, each in enumerate(lists):
        yield (b"," if place else b"") + encode(each.name) + b":["
        async for piece in elements(each.rows):
            yield piece
        yield b"]"
    yield tail
