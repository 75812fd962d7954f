"""Child processes that compute for a running server: they do not hold its interpreter lock, and can be killed.

stdin has the request as one line of JSON, the snapshot, and END. stdout gets the answer.
"""

import os
import sys
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from threading import Thread
from typing import BinaryIO

from reassignd.spark.helper_process import exchange_lines
from reassignd.spark.worker import end_with

NICENESS = 10
SECONDS = 1800.0
"""Time limit of a computation."""
END = b"end\n"

Work = Callable[[Iterator[bytes], BinaryIO], None]
"""Reads the lines of one request and writes its answer."""


async def computed(module: str, request: AsyncIterable[bytes]) -> bytes:
    """Return the answer of the module, which runs in a process of its own. Raises HelperError."""
    return await exchange_lines([sys.executable, "-m", module], _ended(request), SECONDS)


async def _ended(request: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    async for piece in request:
        yield piece
    yield END


def until_end(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines before END."""
    for line in lines:
        if line == END:
            return
        yield line


def serve(work: Work) -> int:
    """Serve one request of the parent process. The process group must not contain the parent."""
    os.nice(NICENESS)
    Thread(target=end_with, args=(sys.stdin.fileno(),), daemon=True).start()
    work(iter(sys.stdin.buffer.readline, b""), sys.stdout.buffer)
    sys.stdout.buffer.flush()
    return 0
