"""reassignd as a process of its own, as its users run it."""

import contextlib
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Timer

READY_SECONDS = 60
STOP_SECONDS = 30


class Served:
    """`reassignd serve` with these arguments as a process, started and ended as often as a test likes.

    It logs to the end of the file at `log_path`, or where we do.
    """

    def __init__(
        self, arguments: Sequence[str], overrides: Mapping[str, str], log_path: Path | None = None
    ) -> None:
        settings = [part for pair in overrides.items() for part in ("--override", "=".join(pair))]
        self._command = [sys.executable, "-m", "reassignd", "serve", *arguments, *settings]
        self.log_path = log_path
        self._process: subprocess.Popen[str] | None = None

    def start(self, within: float = READY_SECONDS) -> str:
        """Returns the line that says it is ready; raises RuntimeError where it ends, or is silent for so long, before."""
        process = self.launch()
        assert process.stdout is not None
        deadline = Timer(within, process.kill)
        deadline.start()
        line = process.stdout.readline()
        deadline.cancel()
        if not line.startswith("ready: "):
            self.kill()
            raise RuntimeError(f"reassignd did not start; it said {line!r}, and logged {self.log}")
        return line

    def launch(self) -> subprocess.Popen[str]:
        """Starts it without waiting for anything."""
        with contextlib.ExitStack() as opened:
            log = None if self.log_path is None else opened.enter_context(self.log_path.open("a"))
            self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, stderr=log, text=True)
        return self._process

    @property
    def pid(self) -> int:
        """Of the process that runs now."""
        assert self._process is not None
        return self._process.pid

    @property
    def runs(self) -> bool:
        """It was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    @property
    def log(self) -> str:
        """What it has logged to its file."""
        return "" if self.log_path is None else self.log_path.read_text(errors="replace")

    def kill(self) -> int:
        """Ends it as kill -9 does; the exit code, which is another than -9 where it had ended by itself."""
        return self._end(signal.SIGKILL)

    def stop(self) -> int:
        """SIGTERM; the exit code. Raises TimeoutExpired if that takes more than 30 s."""
        return self._end(signal.SIGTERM)

    def wait(self) -> int:
        """For it to end by itself; the exit code. Raises TimeoutExpired if that takes more than 30 s."""
        assert self._process is not None
        self._process.communicate(timeout=STOP_SECONDS)
        return self._process.returncode

    def _end(self, by: signal.Signals) -> int:
        assert self._process is not None
        self._process.send_signal(by)
        self._process.communicate(timeout=STOP_SECONDS)
        return self._process.returncode


class Reassignd(Served):
    """On a data directory: before the running Kafka at `upstream` if that is given, else with an embedded cluster."""

    def __init__(
        self, data_dir: Path, overrides: Mapping[str, str], brokers: int = 6, upstream: str | None = None
    ) -> None:
        self.bootstrap = f"127.0.0.1:{free_ports(brokers + (upstream is not None))}"
        self.http = f"127.0.0.1:{free_ports(1)}"
        self.data_dir = data_dir
        if upstream is None:
            world = ["--backend", "embedded", "--brokers", str(brokers)]
        else:
            world = ["--backend", "upstream", "--bootstrap-server", upstream]
        places = ["--listener", self.bootstrap, "--http", self.http, "--data-dir", str(data_dir)]
        super().__init__([*world, *places], overrides)


def free_ports(count: int) -> int:
    """The first of `count` consecutive ports of 127.0.0.1 that are free now.

    Those from 32768 on are left out: Linux gives them to connections, which may come before the server has started.
    """
    while True:
        first = random.randrange(10_000, 32_768 - count)
        with contextlib.ExitStack() as held, contextlib.suppress(OSError):
            for port in range(first, first + count):
                held.enter_context(socket.create_server(("127.0.0.1", port)))
            return first
