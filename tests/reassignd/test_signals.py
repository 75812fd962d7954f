"""The process under test is one of our own, since signals end it."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

PATIENCE_SECONDS = 30

PROGRAM = """
import asyncio, logging, sys
import uvloop
from reassignd.signals import until_signalled

async def serving():
    print("serving", flush=True)
    try:
        await asyncio.sleep(60)
    finally:
        print("stopping", flush=True)
        await asyncio.sleep({stop_takes})

logging.basicConfig()
with asyncio.Runner(loop_factory=uvloop.new_event_loop if sys.argv[1] == "uvloop" else None) as runner:
    runner.run(until_signalled(serving(), {patience}))
print("stopped", flush=True)
"""


def patient(*, stop_takes: float = 0, patience: float = 30) -> str:
    return PROGRAM.format(stop_takes=stop_takes, patience=patience)


@contextmanager
def program(code: str, loop: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", code, loop], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert line(process) == "serving"
            yield process
        finally:
            process.kill()


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_cleanly(number: signal.Signals, loop: str) -> None:
    with program(patient(), loop) as process:
        process.send_signal(number)
        assert (line(process), line(process)) == ("stopping", "stopped")
        assert process.wait(PATIENCE_SECONDS) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_the_process_at_once(number: signal.Signals) -> None:
    with program(patient(stop_takes=60), "uvloop") as process:
        process.send_signal(number)
        assert line(process) == "stopping"
        process.send_signal(number)
        assert process.wait(PATIENCE_SECONDS) == -number


def test_a_slow_stop_is_ended() -> None:
    with program(patient(stop_takes=60, patience=0.01), "uvloop") as process:
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_SECONDS) == 0
        assert process.stderr is not None
        assert "not stopped after 0.01 s" in process.stderr.read()


STANDSTILL = """
import asyncio, logging, sys, time
import uvloop
from reassignd.signals import until_signalled

async def serving():
    print("serving", flush=True)
    while True:
        sum(range(1000))

def farewell():
    print("farewell", flush=True)

logging.basicConfig()
with asyncio.Runner(loop_factory=uvloop.new_event_loop if sys.argv[1] == "uvloop" else None) as runner:
    runner.run(until_signalled(serving(), 0.1, farewell))
"""


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_hanging_loop(number: signal.Signals, loop: str) -> None:
    with program(STANDSTILL, loop) as process:
        process.send_signal(number)
        assert line(process) == "farewell"
        assert process.wait(PATIENCE_SECONDS) == 0
        assert process.stderr is not None
        assert "not stopped after 0.1 s" in process.stderr.read()
