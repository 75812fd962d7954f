"""Bodies of requests: their bytes are bounded, alone and together; large ones are parsed off the loop."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from starlette.requests import Request

from common.json.text import parse
from common.lists import clear_lists
from common.off_loop import OffLoop
from common.plan_errors import PlanError
from server.api.shared.errors import HttpError

MAX_BODY = 100 * 1024 * 1024
"""Maximum bytes of a plan or a list of partitions."""
MAX_SMALL_BODY = 64 * 1024
"""Maximum bytes of all other bodies. One object with millions of keys would hold the interpreter's lock
for seconds."""
LARGE_BODY = 64 * 1024
"""Bytes that take about a millisecond to parse."""
MAX_HELD = 512 * 1024 * 1024
"""Maximum bytes of all bodies together. Parsing one needs several times its bytes, but only one is parsed
at a time."""

R = TypeVar("R")


class Bodies:
    """Receives and parses bodies, and counts the bytes that are held at this moment."""

    def __init__(self) -> None:
        self.size = 0

    async def read(
        self, request: Request, off_loop: OffLoop, read: Callable[[object], R], max_bytes: int | None = None
    ) -> R:
        """Return `read` of the request's JSON body. `max_bytes` is MAX_BODY by default. Raises HttpError.

        The lists of a large body are empty afterwards, so `read` must not return them.
        """
        with self.counted() as count:
            chunks = await _received(request, MAX_BODY if max_bytes is None else max_bytes, count)
            try:
                if sum(map(len, chunks)) <= LARGE_BODY:
                    return read(parse(b"".join(chunks)))
                return await off_loop.run(_read_and_clear, chunks, read)
            except PlanError as error:
                raise HttpError(400, str(error), error.faults) from error

    async def receive(self, request: Request, max_bytes: int) -> bytes:
        """Return the request's body as it is. Raises HttpError, and ClientDisconnect."""
        with self.counted() as count:
            return b"".join(await _received(request, max_bytes, count))

    @contextmanager
    def counted(self) -> Iterator[Callable[[int], None]]:
        """Yield a function to call with the number of received bytes of one body.

        They are released at the end.

        The function raises HttpError when all bodies together are too large.
        """
        held = 0

        def receive(size: int) -> None:
            nonlocal held
            held += size
            self.size += size
            if self.size > MAX_HELD:
                raise HttpError(
                    503, f"the bodies of all requests together are larger than {MAX_HELD} bytes; try again"
                )

        try:
            yield receive
        finally:
            self.size -= held


async def _received(request: Request, max_bytes: int, count: Callable[[int], None]) -> list[bytes]:
    """Return the body in chunks. Calls `count` with the size of each. Raises HttpError."""
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > max_bytes:
        raise _too_large(max_bytes)
    chunks: list[bytes] = []
    left = max_bytes
    async for chunk in request.stream():
        left -= len(chunk)
        if left < 0:
            raise _too_large(max_bytes)
        count(len(chunk))
        chunks.append(chunk)
    return chunks


def _too_large(max_bytes: int) -> HttpError:
    advice = "; send the plan in parts" if max_bytes == MAX_BODY else ""
    return HttpError(413, f"the body is larger than {max_bytes} bytes{advice}")


def _read_and_clear(chunks: list[bytes], read: Callable[[object], R]) -> R:
    data = b"".join(chunks)
    chunks.clear()
    value = parse(data)
    del data
    try:
        return read(value)
    finally:
        clear_lists(value)
