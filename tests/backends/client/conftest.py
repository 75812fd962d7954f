"""On uvloop, as the server."""

from tests.backends.upstream.conftest import pytest_asyncio_loop_factories

__all__ = ["pytest_asyncio_loop_factories"]
