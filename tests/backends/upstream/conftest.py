"""Uses uvloop as the server does: it reports TLS failures in its own way."""

import asyncio
from collections.abc import Callable, Mapping

from tests.uvloop_loop import new_uvloop


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"uvloop": new_uvloop}
