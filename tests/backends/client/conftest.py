"""Use uvloop, as the server does."""

from tests.backends.upstream.conftest import pytest_asyncio_loop_factories

__all__ = ["pytest_asyncio_loop_factories"]
