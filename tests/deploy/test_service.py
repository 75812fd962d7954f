"""`reassignd serve` under a service manager that is a socket of the test."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

PATIENCE_SECONDS = 60


@pytest.mark.whole
def test_it_reports_ready_and_signs_of_life_and_the_stop(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        systemd.settimeout(PATIENCE_SECONDS)
        more = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "200000"}
        places = ["--listener", "127.0.0.1:0", "--http", "127.0.0.1:0", "--data-dir", str(tmp_path / "data")]
        process = subprocess.Popen(
            [sys.executable, "-m", "reassignd", "serve", "--brokers", "1", *places],
            env={**os.environ, **more},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            seen: list[bytes] = []
            while not any(message.startswith(b"READY=1") for message in seen):
                seen.append(systemd.recv(1000))
            assert b"WATCHDOG=1" in seen
            assert any(message.startswith(b"STATUS=") for message in seen)
            process.terminate()
            while not seen[-1].startswith(b"STOPPING=1"):
                seen.append(systemd.recv(1000))
            assert process.wait(PATIENCE_SECONDS) == 0
        finally:
            process.kill()
            process.wait()
