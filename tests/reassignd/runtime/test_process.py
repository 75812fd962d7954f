"""The process under test is one of our own, since signals end it."""

import asyncio
import json
import logging
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from common.tasks import cancel, spawn
from reassignd.runtime import process
from reassignd.runtime.process import JsonFormatter, PlainFormatter, ServiceManager


def record(text: str = "hello", level: int = logging.INFO, *, failed: bool = False) -> logging.LogRecord:
    result = logging.LogRecord("server.connections.session", level, __file__, 1, text, (), None)
    if failed:
        try:
            raise RuntimeError("broken")
        except RuntimeError:
            result.exc_info = sys.exc_info()
    return result


@pytest.fixture
def root_logger() -> Iterator[logging.Logger]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield root
    root.handlers[:] = handlers
    root.setLevel(level)


def test_a_plain_line_has_log4js_format() -> None:
    line = PlainFormatter().format(record())
    assert re.fullmatch(
        r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] INFO hello \(server\.connections\.session\)", line
    )


@pytest.mark.parametrize(("level", "name"), [(logging.WARNING, "WARN"), (logging.CRITICAL, "FATAL")])
def test_levels_have_log4js_names(level: int, name: str) -> None:
    assert f"] {name} hello" in PlainFormatter().format(record(level=level))
    assert json.loads(JsonFormatter().format(record(level=level)))["level"] == name


def test_text_of_a_client_cannot_start_a_new_line() -> None:
    line = PlainFormatter().format(record("client a\n[2026-01-01 00:00:00,000] INFO forged"))
    assert "\n" not in line
    assert r"client a\n[2026" in line


def test_a_plain_line_is_followed_by_its_traceback() -> None:
    assert PlainFormatter().format(record(failed=True)).endswith("RuntimeError: broken")


def test_a_json_line_is_one_object() -> None:
    line = JsonFormatter().format(record("two\nlines é"))
    fields = json.loads(line)
    assert "\n" not in line
    assert fields.pop("time").endswith("+00:00")
    assert fields == {"level": "INFO", "logger": "server.connections.session", "message": "two\nlines é"}


def test_a_json_line_carries_the_traceback() -> None:
    assert "RuntimeError: broken" in json.loads(JsonFormatter().format(record(failed=True)))["exception"]


def test_the_configured_format_and_level_are_used(
    capfd: pytest.CaptureFixture[str], root_logger: logging.Logger
) -> None:
    process.configure("json", "WARN")
    root_logger.info("quiet")
    root_logger.warning("loud")
    out, err = capfd.readouterr()
    assert (out, json.loads(err)["message"]) == ("", "loud")


def test_an_event_has_its_name_and_numbers_in_json_only() -> None:
    line = record("job 3 ended")
    line.__dict__.update({"event": "job_ended", "fields": {"job": 3}})
    fields = json.loads(JsonFormatter().format(line))
    assert (fields["event"], fields["job"], fields["message"]) == ("job_ended", 3, "job 3 ended")
    assert "job_ended" not in PlainFormatter().format(line)


PATIENCE_SECONDS = 30

PROGRAM = """
import asyncio, logging, sys
import uvloop
from reassignd.runtime.process import until_signalled

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
from reassignd.runtime.process import until_signalled

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


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.settimeout(10)
        receiver.bind(str(tmp_path / "notify"))
        yield receiver


def manager(systemd: socket.socket, **more: str) -> ServiceManager:
    return ServiceManager({"NOTIFY_SOCKET": systemd.getsockname(), **more})


def test_systemd_is_told_when_requests_are_served_and_when_the_process_ends(systemd: socket.socket) -> None:
    manager(systemd).ready()
    assert systemd.recv(100) == b"READY=1\nSTATUS=serving"
    manager(systemd).stopping()
    assert systemd.recv(100).startswith(b"STOPPING=1\n")


def test_a_status_is_one_line(systemd: socket.socket) -> None:
    manager(systemd).status("waiting\nREADY=1")
    assert systemd.recv(100) == b"STATUS=waiting READY=1"


async def test_signs_of_life_are_sent_before_the_watchdog_s_time_is_over(systemd: socket.socket) -> None:
    told = manager(systemd, WATCHDOG_USEC="20000")
    assert told.watchdog_seconds == 0.02
    task = spawn(told.stay_alive(), "alive")
    for _ in range(3):
        assert await asyncio.to_thread(systemd.recv, 100) == b"WATCHDOG=1"
    await cancel(task)


async def test_without_a_watchdog_there_are_no_signs_of_life(systemd: socket.socket) -> None:
    await manager(systemd).stay_alive()
    systemd.setblocking(False)
    with pytest.raises(BlockingIOError):
        systemd.recv(100)


def test_a_socket_in_the_abstract_namespace_is_reached() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.settimeout(10)
        receiver.bind("\0reassignd-test-notify")
        ServiceManager({"NOTIFY_SOCKET": "@reassignd-test-notify"}).ready()
        assert receiver.recv(100).startswith(b"READY=1")


def test_without_systemd_and_with_a_lost_socket_nothing_happens(tmp_path: Path) -> None:
    ServiceManager({}).ready()
    ServiceManager({"NOTIFY_SOCKET": str(tmp_path / "gone")}).ready()
