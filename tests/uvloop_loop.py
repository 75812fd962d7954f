"""The event loop of the server, for tests."""

import asyncio
from typing import Any

import pytest
import uvloop


def new_uvloop() -> asyncio.AbstractEventLoop:
    """Return a loop of uvloop in which the time limit of a test ends the test.

    The limit raises an exception in a signal handler. An event loop of asyncio stops with it. uvloop reports
    it to the exception handler of the loop and continues.
    """
    loop = uvloop.new_event_loop()
    loop.set_exception_handler(_end_at_limit)
    return loop


def _end_at_limit(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    error = context.get("exception")
    if isinstance(error, pytest.fail.Exception):
        for task in asyncio.all_tasks(loop):
            task.cancel(str(error))
    else:
        loop.default_exception_handler(context)
