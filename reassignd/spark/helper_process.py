"""A helper process that is given lines and answers with lines, and that cannot harm the one that started it."""

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterable, Sequence
from typing import TypeVar

Pipe = TypeVar("Pipe", asyncio.StreamReader, asyncio.StreamWriter)

KEPT = 4096
"""Bytes of what it says on stderr, the last ones."""


class HelperError(Exception):
    """It failed, or took too long; the text says which."""


async def exchange_lines(command: Sequence[str], request: AsyncIterable[bytes], seconds: float) -> bytes:
    """What it writes to stdout after it was given the request; its stdin stays open until it ends.

    Raises HelperError. Whatever happens, nothing of it runs on: it has a process group of its own, which is killed.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True
        )
    except OSError as error:
        raise HelperError(f"it cannot be started: {error.strerror}") from error
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
    said, complaint, _ = await asyncio.gather(
        _asked(process.stdout).read(), _end_of(_asked(process.stderr)), _feed(_asked(process.stdin), request)
    )
    code = await process.wait()
    if code:
        lines = complaint.decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")
        raise HelperError(f"exit code {code}: {last}")
    return said


def _asked(pipe: Pipe | None) -> Pipe:
    if pipe is None:
        raise AssertionError("every pipe was asked for")
    return pipe


async def _feed(pipe: asyncio.StreamWriter, request: AsyncIterable[bytes]) -> None:
    with contextlib.suppress(ConnectionError):
        async for piece in request:
            pipe.write(piece)
            await pipe.drain()


async def _end_of(pipe: asyncio.StreamReader) -> bytes:
    kept = b""
    while piece := await pipe.read(KEPT):
        kept = (kept + piece)[-KEPT:]
    return kept
