"""Event loops of the tests: tests with real sockets run on asyncio and on uvloop."""

import asyncio
from collections.abc import Callable, Mapping

import pytest

from tests.uvloop_loop import new_uvloop

ON_BOTH = {"test_adversity", "test_listener"}


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    loops: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {"asyncio": asyncio.new_event_loop}
    if item.path.stem in ON_BOTH:
        loops["uvloop"] = new_uvloop
    return loops
