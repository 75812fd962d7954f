"""Child processes that compute for a running server.

They do not hold its interpreter lock, and can be killed.

A child reads lines and writes lines, isolated in a process group of its own. For one that answers once, stdin
has the request as one line of JSON, the snapshot, and END_OF_REQUEST; stdout gets the answer. The server
itself does not import the planner.
"""

import asyncio
import contextlib
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Sequence
from importlib.util import find_spec
from threading import Thread
from typing import BinaryIO, TypeVar

from reassignd.workers.spark_worker import end_with

Pipe = TypeVar("Pipe", asyncio.StreamReader, asyncio.StreamWriter)

MAX_STDERR_BYTES = 4096
"""Bytes of stderr that are kept, the last ones."""

READ_BYTES = 2**16

END = b"\n\n"
"""The end of an answer of a process that stays: an empty line."""


class HelperError(Exception):
    """The process failed or timed out; the message says which."""


class _Running:
    """A process that was started, and what it wrote to stderr."""

    def __init__(self, process: Process, stays: bool) -> None:
        self.process = process
        self._stays = stays
        self._stdin, self._stdout = _required(process.stdin), _required(process.stdout)
        self._errors = asyncio.create_task(_last_bytes(_required(process.stderr)))

    async def exchange(self, request: AsyncIterable[bytes]) -> bytes:
        """Write the request while the answer is read. Raises HelperError if the process fails."""
        answer, _ = await asyncio.gather(self._read(), self._feed(request))
        if answer.endswith(END) if self._stays else await self.process.wait() == 0:
            return answer
        raise HelperError(await self._failure())

    async def kill(self) -> None:
        """End the whole process group, so that no child process remains."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        await self.process.wait()
        await self._errors

    async def _read(self) -> bytes:
        answer = bytearray()
        while not (self._stays and answer.endswith(END)) and (piece := await self._stdout.read(READ_BYTES)):
            answer += piece
        return bytes(answer)

    async def _feed(self, request: AsyncIterable[bytes]) -> None:
        with contextlib.suppress(ConnectionError):
            async for piece in request:
                self._stdin.write(piece)
                await self._stdin.drain()

    async def _failure(self) -> str:
        code = await self.process.wait()
        lines = (await self._errors).decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "no message on stderr")
        return f"exit code {code}: {last}"


class HelperProcess:
    """Starts the process for the first request, and again after a failure.

    A process that stays ends its answers with an empty line, and what it has loaded serves the next request.
    Another one answers until it ends, with exit code 0.
    """

    def __init__(self, command: Sequence[str], seconds: float, *, stays: bool = True) -> None:
        """`seconds` is the time limit of an answer; the start of the process is part of it."""
        self._command = command
        self._seconds = seconds
        self._stays = stays
        self._running: _Running | None = None

    async def _start(self) -> _Running:
        await self.stop()
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True
            )
        except OSError as error:
            raise HelperError(f"cannot start it: {error.strerror}") from error
        self._running = _Running(process, self._stays)
        return self._running

    async def ask(self, request: AsyncIterable[bytes]) -> bytes:
        """Return the answer. Raises HelperError. Unless there is an answer, the process group is killed."""
        running = self._running
        if running is None or running.process.returncode is not None:
            running = await self._start()
        try:
            async with asyncio.timeout(self._seconds):
                return await running.exchange(request)
        except TimeoutError as error:
            await self.stop()
            raise HelperError(f"no answer within {self._seconds:g} s") from error
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """End the process if it runs."""
        running, self._running = self._running, None
        if running is not None:
            await running.kill()


async def exchange_lines(command: Sequence[str], request: AsyncIterable[bytes], seconds: float) -> bytes:
    """Return the answer of a process to one request. stdin stays open until the process ends.

    Raises HelperError.
    """
    helper = HelperProcess(command, seconds, stays=False)
    try:
        return await helper.ask(request)
    finally:
        await helper.stop()


def _required(pipe: Pipe | None) -> Pipe:
    if pipe is None:
        raise AssertionError("the pipe was not requested")
    return pipe


async def _last_bytes(pipe: asyncio.StreamReader) -> bytes:
    kept = b""
    while piece := await pipe.read(MAX_STDERR_BYTES):
        kept = (kept + piece)[-MAX_STDERR_BYTES:]
    return kept


NICENESS = 10
SECONDS = 1800.0
"""Time limit of a computation."""
END_OF_REQUEST = b"end\n"

Work = Callable[[Iterator[bytes], BinaryIO], None]
"""Reads the lines of one request and writes its answer."""


async def computed(module: str, request: AsyncIterable[bytes]) -> bytes:
    """Return the answer of the module, which runs in a process of its own. Raises HelperError."""
    return await exchange_lines([sys.executable, "-m", module], _ended(request), SECONDS)


async def _ended(request: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    async for piece in request:
        yield piece
    yield END_OF_REQUEST


def until_end(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines before END."""
    for line in lines:
        if line == END_OF_REQUEST:
            return
        yield line


def serve(work: Work) -> int:
    """Serve one request of the parent process. The process group must not contain the parent."""
    os.nice(NICENESS)
    Thread(target=end_with, args=(sys.stdin.fileno(),), daemon=True).start()
    work(iter(sys.stdin.buffer.readline, b""), sys.stdout.buffer)
    sys.stdout.buffer.flush()
    return 0


def solver_obstacle() -> str | None:
    """Return why no proposal can be computed, or None."""
    if find_spec("ortools") is not None:
        return None
    from planner.proposals.problem.goal import MissingSolverError

    return str(MissingSolverError())


async def compute(request: AsyncIterable[bytes]) -> bytes:
    """Compute a proposal; return the answer of `reassignd.workers.proposal_worker`. Raises HelperError."""
    return await computed("reassignd.workers.proposal_worker", request)


async def review(request: AsyncIterable[bytes]) -> bytes:
    """Forecast a plan; return the answer of `reassignd.workers.review_worker`. Raises HelperError."""
    return await computed("reassignd.workers.review_worker", request)
