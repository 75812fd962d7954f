import asyncio
import os
import signal
from collections.abc import Iterator
from threading import Timer

import pytest

from tests.uvloop_loop import new_uvloop


@pytest.fixture
def limit() -> Iterator[Timer]:
    """A time limit like that of pytest-timeout, which uses another signal."""
    previous = signal.signal(signal.SIGUSR1, lambda *_: pytest.fail("Timeout (>0.1s)"))
    yield Timer(0.1, os.kill, (os.getpid(), signal.SIGUSR1))
    signal.signal(signal.SIGUSR1, previous)


def test_the_time_limit_ends_a_test_that_waits(limit: Timer) -> None:
    async def wait() -> None:
        limit.start()
        await asyncio.Event().wait()

    with (
        asyncio.Runner(loop_factory=new_uvloop) as runner,
        pytest.raises(asyncio.CancelledError, match="Timeout"),
    ):
        runner.run(wait())


def test_other_exceptions_are_reported_and_end_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async def wait() -> None:
        asyncio.get_running_loop().call_soon(int, "no number")
        await asyncio.sleep(0.01)

    with asyncio.Runner(loop_factory=new_uvloop) as runner:
        runner.run(wait())
    assert "no number" in caplog.text
