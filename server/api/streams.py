"""Long answers, made and sent in slices, so that others are served in between."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any, TypeVar

from starlette.responses import StreamingResponse

ROWS_PER_BREATH = 500
"""Rows that take about a millisecond."""

T = TypeVar("T")
Row = Mapping[str, Any]

_dump = json.JSONEncoder(separators=(",", ":")).encode


async def breathing(rows: Iterable[T]) -> AsyncIterator[T]:
    """The rows; the loop has its turn every so many of them."""
    for number, row in enumerate(rows, 1):
        yield row
        if number % ROWS_PER_BREATH == 0:
            await asyncio.sleep(0)


def streamed(*pieces: str | Iterable[Row], status: int = 200) -> StreamingResponse:
    """One JSON document: texts as they are, and rows as the elements of an array between them."""
    return StreamingResponse(_text(pieces), status, media_type="application/json")


def json_lines(rows: Iterable[Row]) -> StreamingResponse:
    """One JSON object a line."""
    return StreamingResponse(_lines(rows), media_type="application/jsonl")


async def _text(pieces: Iterable[str | Iterable[Row]]) -> AsyncIterator[str]:
    for piece in pieces:
        if isinstance(piece, str):
            yield piece
            continue
        comma = ""
        async for batch in _batches(piece):
            yield comma + ",".join(map(_dump, batch))
            comma = ","
    yield "\n"


async def _lines(rows: Iterable[Row]) -> AsyncIterator[str]:
    async for batch in _batches(rows):
        yield "".join(_dump(row) + "\n" for row in batch)


async def _batches(rows: Iterable[Row]) -> AsyncIterator[list[Row]]:
    batch: list[Row] = []
    for row in rows:
        batch.append(row)
        if len(batch) == ROWS_PER_BREATH:
            yield batch
            await asyncio.sleep(0)
            batch = []
    if batch:
        yield batch
