"""Relays on the event loop that the server runs on, which differs in when it begins to read."""

import asyncio
from collections.abc import Callable, Mapping

import uvloop


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """As the server."""
    return {"uvloop": uvloop.new_event_loop}
