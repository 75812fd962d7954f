"""Tests of instances run on uvloop, the event loop of the server."""

import asyncio
from collections.abc import Callable, Mapping

import uvloop


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Use uvloop, as the server does."""
    return {"uvloop": uvloop.new_event_loop}
