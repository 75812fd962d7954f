"""A child process that reads lines and writes lines, isolated in a process group of its own."""

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterable, Sequence
from typing import TypeVar

Pipe = TypeVar("Pipe", asyncio.StreamReader, asyncio.StreamWriter)

MAX_STDERR_BYTES = 4096
"""Bytes of stderr that are kept, the last ones."""


class HelperError(Exception):
    """The process failed or timed out; the message says which."""


async def exchange_lines(command: Sequence[str], request: AsyncIterable[bytes], seconds: float) -> bytes:
    """Write the request to stdin of the command and return its stdout. stdin stays open until the process ends.

    Raises HelperError. In all cases the process group is killed, so no child process remains.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True
        )
    except OSError as error:
        raise HelperError(f"cannot start it: {error.strerror}") from error
    try:
        async with asyncio.timeout(seconds):
            return await _exchange(process, request)
    except TimeoutError as error:
        raise HelperError(f"no answer within {seconds:g} s") from error
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


async def _exchange(process: Process, request: AsyncIterable[bytes]) -> bytes:
    output, errors, _ = await asyncio.gather(
        _required(process.stdout).read(),
        _last_bytes(_required(process.stderr)),
        _feed(_required(process.stdin), request),
    )
    code = await process.wait()
    if code:
        lines = errors.decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "no message on stderr")
        raise HelperError(f"exit code {code}: {last}")
    return output


def _required(pipe: Pipe | None) -> Pipe:
    if pipe is None:
        raise AssertionError("the pipe was not requested")
    return pipe


async def _feed(pipe: asyncio.StreamWriter, request: AsyncIterable[bytes]) -> None:
    with contextlib.suppress(ConnectionError):
        async for piece in request:
            pipe.write(piece)
            await pipe.drain()


async def _last_bytes(pipe: asyncio.StreamReader) -> bytes:
    kept = b""
    while piece := await pipe.read(MAX_STDERR_BYTES):
        kept = (kept + piece)[-MAX_STDERR_BYTES:]
    return kept
