"""The loop under test is blocked on purpose; the end of the process is replaced by an event."""

import asyncio
import logging
import signal
import subprocess
import sys
import threading
import time

import pytest

from reassignd.runtime.watchdog import Watchdog, end_process

PATIENCE_SECONDS = 30


class Ending:
    """Stands in for `os._exit`."""

    def __init__(self) -> None:
        self.codes: list[int] = []
        self.ended = threading.Event()

    def __call__(self, code: int) -> None:
        self.codes.append(code)
        self.ended.set()


async def test_a_hanging_loop_aborts_and_ends_the_process(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ending, calls = Ending(), list[str]()
    watchdog = Watchdog(0.1, lambda: calls.append("abort"), ending)
    watchdog.start()
    assert ending.ended.wait(PATIENCE_SECONDS)
    watchdog.stop()
    assert (calls, ending.codes) == (["abort"], [1])
    (record,) = [each for each in caplog.records if each.levelno == logging.CRITICAL]
    assert "the event loop has hung for 0.1 s" in record.getMessage()
    assert "assert ending.ended.wait(PATIENCE_SECONDS)" in record.getMessage()


async def test_a_running_loop_is_not_ended() -> None:
    ending = Ending()
    watchdog = Watchdog(0.2, lambda: None, ending)
    watchdog.start()
    beats = watchdog.beats
    while watchdog.beats < beats + 60:
        await asyncio.sleep(0.001)
    watchdog.stop()
    assert ending.codes == []


def test_an_abort_that_blocks_does_not_keep_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reassignd.runtime.watchdog.ABORT_SECONDS", 0.01)
    ending, never = Ending(), threading.Event()
    end_process(3, never.wait, lambda: None, ending)  # type: ignore[arg-type]
    never.set()
    assert ending.codes == [3]


SUSPENDED = """
import asyncio
from reassignd.runtime.watchdog import Watchdog

async def serve():
    watchdog = Watchdog(1.0, lambda: None)
    watchdog.start()
    print("serving", flush=True)
    await asyncio.to_thread(input)
    watchdog.stop()
    print("stopped", flush=True)

asyncio.run(serve())
"""


def test_a_suspended_process_continues() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SUSPENDED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == "serving\n"
        process.send_signal(signal.SIGSTOP)
        time.sleep(1.5)
        process.send_signal(signal.SIGCONT)
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "stopped\n"
        assert process.wait(PATIENCE_SECONDS) == 0
