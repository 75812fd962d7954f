"""The loop under test is blocked on purpose; the end of the process is replaced by an event."""

import asyncio
import logging
import signal
import subprocess
import sys
import threading
import time

import pytest

from reassignd.runtime.watchdog import Farewell, Watchdog, end_process

PATIENCE_SECONDS = 30


class Ending:
    """Takes the place of `os._exit`."""

    def __init__(self) -> None:
        self.codes: list[int] = []
        self.ended = threading.Event()

    def __call__(self, code: int) -> None:
        self.codes.append(code)
        self.ended.set()


async def test_a_loop_that_stands_still_ends_the_process_after_a_farewell(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ending, said = Ending(), list[str]()
    watchdog = Watchdog(0.1, lambda: said.append("farewell"), ending)
    watchdog.start()
    assert ending.ended.wait(PATIENCE_SECONDS)
    watchdog.stop()
    assert (said, ending.codes) == (["farewell"], [1])
    (record,) = [each for each in caplog.records if each.levelno == logging.CRITICAL]
    assert "the event loop has stood still for 0.1 s" in record.getMessage()
    assert "assert ending.ended.wait(PATIENCE_SECONDS)" in record.getMessage()


async def test_a_loop_that_runs_is_left_alone() -> None:
    ending = Ending()
    watchdog = Watchdog(0.2, lambda: None, ending)
    watchdog.start()
    beats = watchdog.beats
    while watchdog.beats < beats + 60:
        await asyncio.sleep(0.001)
    watchdog.stop()
    assert ending.codes == []


def test_a_farewell_that_fails_or_hangs_does_not_keep_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reassignd.runtime.watchdog.FAREWELL_SECONDS", 0.01)
    ending, never = Ending(), threading.Event()
    end_process(3, never.wait, lambda: None, ending)  # type: ignore[arg-type]
    never.set()
    assert ending.codes == [3]


def test_a_farewell_is_nothing_until_it_is_set() -> None:
    said: list[str] = []
    farewell = Farewell()
    farewell()
    farewell.act = lambda: said.append("farewell")
    farewell()
    assert said == ["farewell"]


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


def test_a_process_that_was_suspended_goes_on() -> None:
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
