"""Tests of instances run on uvloop, the event loop of the server."""

import asyncio
from collections.abc import Callable, Mapping

from tests.uvloop_loop import new_uvloop


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Use uvloop, as the server does."""
    return {"uvloop": new_uvloop}
