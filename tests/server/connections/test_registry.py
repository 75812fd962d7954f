"""Limits over all connections: their number, their buffered bytes, and which connection is aborted."""

import asyncio
import logging

import pytest

from common.clock import ManualClock
from common.repeated_warnings import REPORT_SECONDS
from server.connections.client_connection import ConnectionLimits, ServedConnection
from server.connections.registry import CHECK_SECONDS, ConnectionRegistry
from server.counters import Counters


class Idler(ServedConnection):
    """A connection with a given number of buffered bytes and idle time."""

    pending = None
    buffered = 0
    peer = "10.0.0.9:4711"

    def __init__(self, registry: ConnectionRegistry, silent_seconds: float = 0.0) -> None:
        super().__init__(registry)
        self.registry = registry
        self.last_active = asyncio.get_running_loop().time() - silent_seconds
        self.aborted: str | None = None
        registry.enter("10.0.0.9:4711")
        registry.admit(self)

    def overdue(self, now: float) -> str | None:
        return None

    def close(self, reason: str | None = None) -> None:
        asyncio.get_running_loop().call_soon(self.registry.ended, self)

    def abort(self, reason: str) -> None:
        self.aborted = reason
        self.close()


class Stubborn(Idler):
    """A connection that ignores `close` and ends on `abort` only."""

    def close(self, reason: str | None = None) -> None:
        if self.aborted is not None:
            super().close()


def registry(**limits: int) -> ConnectionRegistry:
    return ConnectionRegistry(ConnectionLimits(**limits), Counters())


async def test_connections_above_the_limit_are_refused() -> None:
    limited = registry(max_connections=2)
    assert [limited.enter("10.0.0.9:1") for _ in range(3)] == [True, True, False]
    limited.leave()
    assert limited.enter("10.0.0.9:2")


async def test_repeated_refusals_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    limited = registry(max_connections=0)
    for port in range(1000):
        limited.enter(f"10.0.0.9:{port}")
    assert [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING] == [
        "closed the connection of 10.0.0.9:0: 0 are open already"
    ]


async def test_buffered_bytes_are_summed_over_connections() -> None:
    limited = registry(held_bytes=100)
    one, other = Idler(limited), Idler(limited)
    limited.set_buffered(one, 40)
    limited.set_buffered(other, 50)
    limited.set_buffered(one, 30)
    assert limited.buffered == 80
    limited.ended(other)
    assert limited.buffered == 30
    limited.set_buffered(one, 0)
    assert limited.buffered == 0


async def test_too_many_buffered_bytes_abort_the_connection_with_most_bytes_for_longest() -> None:
    limited = registry(held_bytes=100)
    large, stuck, small = Idler(limited), Idler(limited, silent_seconds=60), Idler(limited, silent_seconds=60)
    limited.set_buffered(stuck, 30)
    limited.set_buffered(small, 10)
    limited.set_buffered(large, 70)
    assert stuck.aborted == "it held 30 bytes, and all connections together more than 100"
    assert (large.aborted, small.aborted, limited.buffered) == (None, None, 80)


async def test_a_connection_that_buffers_too_much_alone_is_aborted() -> None:
    limited = registry(held_bytes=100)
    greedy = Idler(limited)
    limited.set_buffered(greedy, 101)
    assert greedy.aborted is not None
    assert limited.buffered == 0


async def test_connections_that_do_not_close_in_time_are_aborted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.connections.registry.CLOSE_SECONDS", 0.01)
    limited = registry()
    willing, stubborn, other = Idler(limited), Stubborn(limited), Idler(limited)
    await limited.close_all([willing, stubborn])
    assert limited.connections == 1
    assert (willing.aborted is None, stubborn.aborted is None, other.aborted) == (True, False, None)


async def test_repeated_reasons_of_closed_connections_are_summarized(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = ManualClock()
    limited = ConnectionRegistry(ConnectionLimits(), Counters(), clock)
    limited.start()
    for port in range(1000):
        limited.closes(f"10.0.0.9:{port}", "API key 7 version 1 is not served")
    assert len(caplog.messages) == 1
    await clock.advance(REPORT_SECONDS + CHECK_SECONDS)
    assert caplog.messages[1].startswith("closed 999 more connections of 10.0.0.9 in the last 60 s; ")
    limited.stop()
