"""Large answers, made and sent in slices so that the event loop serves other requests in between."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from itertools import islice
from typing import TypeVar

import msgspec
from starlette.responses import Response, StreamingResponse

from common.turns import ROWS_PER_SLICE

PIECE = 256 * 1024
"""Bytes of a document that are sent at once."""

T = TypeVar("T")

_encoder = msgspec.json.Encoder()


def json_response(model: object, status: int = 200) -> Response:
    """Return the model as JSON, made at once."""
    return Response(_encoder.encode(model), status, media_type="application/json")


def streamed(
    answer: msgspec.Struct, rows: Iterable[msgspec.Struct | None] = (), status: int = 200
) -> StreamingResponse:
    """Return the answer as one JSON document.

    The rows that are not None become the elements of its last list, which must be empty.
    """
    return StreamingResponse(_document(answer, rows), status, media_type="application/json")


def json_in_pieces(document: memoryview) -> StreamingResponse:
    """Return a JSON document that is in memory, without a copy of the whole."""
    return StreamingResponse(_pieces(document), media_type="application/json")


async def _pieces(document: memoryview) -> AsyncIterator[bytes]:
    for start in range(0, len(document), PIECE):
        yield bytes(document[start : start + PIECE])


def json_lines(rows: Iterable[msgspec.Struct]) -> StreamingResponse:
    """Return one JSON object per line."""
    return StreamingResponse(encoded_lines(rows), media_type="application/jsonl")


async def _document(answer: msgspec.Struct, rows: Iterable[msgspec.Struct | None]) -> AsyncIterator[bytes]:
    head, empty_list, tail = _encoder.encode(answer).rpartition(b"[]")
    if empty_list:
        yield head + b"["
        comma = b""
        async for each in _slices(rows):
            yield comma + _encoder.encode(each)[1:-1]
            comma = b","
        tail = b"]" + tail
    yield tail + b"\n"


async def encoded_lines(rows: Iterable[msgspec.Struct]) -> AsyncIterator[bytes]:
    """Yield slices of rows, one JSON object per line."""
    async for each in _slices(rows):
        yield _encoder.encode_lines(each)


async def _slices(rows: Iterable[T | None]) -> AsyncIterator[list[T]]:
    """Yield the rows that are not None, in lists of at most `ROWS_PER_SLICE`, which are not empty."""
    left = iter(rows)
    while taken := list(islice(left, ROWS_PER_SLICE)):
        if some := [row for row in taken if row is not None]:
            yield some
        await asyncio.sleep(0)
