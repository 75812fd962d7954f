"""Answers: JSON made at once, or in slices with other requests in between, and kept answers.

An open page does not need newer numbers than the page next to it, so several clients share an encoded answer.
A client says with `cache-control: max-age=2` (RFC 9111) that the answer may be two seconds old. Other clients
get a new answer. A change through this API makes all answers too old.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterable
from hashlib import blake2b
from itertools import islice
from typing import NamedTuple, TypeVar

import msgspec
from starlette.responses import Response, StreamingResponse

from common.tasks import ROWS_PER_SLICE

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


def streamed_text(head: str, rows: Iterable[str | None], media_type: str) -> StreamingResponse:
    """Return the head and the rows that are not None, which are lines with their ends."""
    return StreamingResponse(_text(head, rows), media_type=media_type)


async def _text(head: str, rows: Iterable[str | None]) -> AsyncIterator[bytes]:
    yield head.encode()
    async for each in _slices(rows):
        yield "".join(each).encode()


async def _document(answer: msgspec.Struct, rows: Iterable[msgspec.Struct | None]) -> AsyncIterator[bytes]:
    head, empty_list, tail = _encoder.encode(answer).rpartition(b"[]")
    if empty_list:
        yield head + b"["
        async for piece in elements(rows):
            yield piece
        tail = b"]" + tail
    yield tail + b"\n"


async def elements(rows: Iterable[msgspec.Struct | None]) -> AsyncIterator[bytes]:
    """Yield the elements of a list in JSON, without its brackets, in slices."""
    comma = b""
    async for each in _slices(rows):
        yield comma + _encoder.encode(each)[1:-1]
        comma = b","


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


MAX_ANSWERS = 100
"""Answers that are kept; the oldest are dropped."""

MAX_BYTES = 8 * 1024 * 1024
"""Bytes of the answers that are kept; the oldest are dropped, and also the newest if it is larger."""

MAX_AGE_SECONDS = 10
"""The greatest age that a client can accept."""


class KeptAnswer(NamedTuple):
    """The body of an answer, and its ETag. Equal bodies have equal tags."""

    body: bytes
    tag: str
    made_at: float


class _Slot:
    """An answer, and the lock of the request that makes it."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.answer: KeptAnswer | None = None


class KeptAnswers:
    """Keeps answers by a key. `now` returns seconds."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._slots: dict[Hashable, _Slot] = {}

    async def get(self, key: Hashable, max_age: float, make: Callable[[], Awaitable[bytes]]) -> KeptAnswer:
        """Return the answer of this key that is at most `max_age` seconds old; `make` makes a new one.

        Requests for the same key wait for each other, so that one of them makes the answer.
        """
        slot = self._slots.get(key)
        if slot is None:
            slot = self._slots[key] = _Slot()
            while len(self._slots) > MAX_ANSWERS:
                self._drop_oldest()
        async with slot.lock:
            if slot.answer is None or self._now() - slot.answer.made_at > max_age:
                began = self._now()
                body = await make()
                slot.answer = KeptAnswer(body, f'"{blake2b(body, digest_size=12).hexdigest()}"', began)
                while sum(map(_size, self._slots.values())) > MAX_BYTES:
                    self._drop_oldest()
            return slot.answer

    def _drop_oldest(self) -> None:
        del self._slots[next(iter(self._slots))]

    def clear(self) -> None:
        """Forget all answers. Requests in progress end with the answer that they make."""
        self._slots.clear()


def _size(slot: _Slot) -> int:
    return 0 if slot.answer is None else len(slot.answer.body)


def accepted_age(cache_control: str) -> int:
    """Return the age in seconds that the header of a request accepts; 0 without `max-age`."""
    for directive in cache_control.split(","):
        name, _, value = directive.strip().partition("=")
        if name.lower() == "max-age" and value.isascii() and value.isdecimal() and len(value) <= 9:
            return min(int(value), MAX_AGE_SECONDS)
    return 0
