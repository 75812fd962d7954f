"""The process under test is one of our own, since signals end it."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

PATIENCE_SECONDS = 30

PROGRAM = """
import asyncio, logging
from reassignd.signals import until_signalled

async def serving():
    print("serving", flush=True)
    try:
        await asyncio.sleep(60)
    finally:
        print("stopping", flush=True)
        await asyncio.sleep({stop_takes})

logging.basicConfig()
asyncio.run(until_signalled(serving(), {patience}))
print("stopped", flush=True)
"""


@contextmanager
def program(*, stop_takes: float = 0, patience: float = 30) -> Iterator[subprocess.Popen[str]]:
    code = PROGRAM.format(stop_takes=stop_takes, patience=patience)
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert line(process) == "serving"
            yield process
        finally:
            process.kill()


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_cleanly(number: signal.Signals) -> None:
    with program() as process:
        process.send_signal(number)
        assert (line(process), line(process)) == ("stopping", "stopped")
        assert process.wait(PATIENCE_SECONDS) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_it_at_once(number: signal.Signals) -> None:
    with program(stop_takes=60) as process:
        process.send_signal(number)
        assert line(process) == "stopping"
        process.send_signal(number)
        assert process.wait(PATIENCE_SECONDS) == -number


def test_a_stop_that_takes_too_long_is_given_up() -> None:
    with program(stop_takes=60, patience=0.01) as process:
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_SECONDS) == 0
        assert process.stderr is not None
        assert "not stopped after 0.01 s" in process.stderr.read()
