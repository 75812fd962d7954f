"""Run `reassignd serve` as a process."""

import contextlib
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Timer
from typing import ClassVar

from tools.forks import Fork, ForkServer
from tools.ports import free_port, free_ports

READY_SECONDS = 180
STOP_SECONDS = 120
STDERR = 2
"""Our own, as a descriptor."""

WITHOUT_SPARK = {"planner.spark.min.partitions": "0"}
"""Spark takes all cores for some seconds: a server of a test or benchmark plans with it only if that asks for
it."""


class ServerProcess:
    """A process of `reassignd serve` with these arguments, which can be started and ended repeatedly.

    Its log is appended to the file at `log_path`, or written to our stderr if that is None.
    """

    forks: ClassVar[ForkServer | None] = None
    """What is forked for each process, if anything. Benchmarks measure processes that import themselves."""

    def __init__(
        self, arguments: Sequence[str], overrides: Mapping[str, str], log_path: Path | None = None
    ) -> None:
        settings = [
            part
            for pair in (WITHOUT_SPARK | dict(overrides)).items()
            for part in ("--override", "=".join(pair))
        ]
        self._command = [sys.executable, "-m", "reassignd", "serve", *arguments, *settings]
        self.log_path = log_path
        self._process: subprocess.Popen[str] | Fork | None = None

    def start(self, within: float = READY_SECONDS) -> str:
        """Start the process and return its "ready" line.

        Raises RuntimeError if there is none after `within` seconds.
        """
        process = self.launch()
        assert process.stdout is not None
        deadline = Timer(within, process.kill)
        deadline.start()
        line = process.stdout.readline()
        deadline.cancel()
        if not line.startswith("ready: "):
            self.kill()
            raise RuntimeError(f"reassignd did not start: it printed {line!r}, and logged {self.log}")
        return line

    def launch(self) -> subprocess.Popen[str] | Fork:
        """Start the process without waiting for it."""
        _, option, module, *arguments = self._command
        with contextlib.ExitStack() as opened:
            log = None if self.log_path is None else opened.enter_context(self.log_path.open("a"))
            if self.forks is not None and option == "-m":
                self._process = self.forks.start(module, arguments, STDERR if log is None else log.fileno())
            else:
                self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, stderr=log, text=True)
        return self._process

    @property
    def pid(self) -> int:
        """Id of the running process."""
        assert self._process is not None
        return self._process.pid

    @property
    def runs(self) -> bool:
        """Whether the process was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    @property
    def log(self) -> str:
        """Contents of the log file."""
        return "" if self.log_path is None else self.log_path.read_text(errors="replace")

    def kill(self) -> int:
        """Send SIGKILL and return the exit code. It differs from -9 if the process had ended before."""
        return self._end(signal.SIGKILL)

    def stop(self) -> int:
        """Send SIGTERM and return the exit code. Raises TimeoutExpired after STOP_SECONDS."""
        return self._end(signal.SIGTERM)

    def wait(self) -> int:
        """Wait until the process ends and return the exit code. Raises TimeoutExpired after STOP_SECONDS."""
        assert self._process is not None
        self._process.communicate(timeout=STOP_SECONDS)
        return self._process.wait()

    def _end(self, number: signal.Signals) -> int:
        assert self._process is not None
        self._process.send_signal(number)
        self._process.communicate(timeout=STOP_SECONDS)
        return self._process.wait()


class Reassignd(ServerProcess):
    """A server with a data directory.

    A gateway of the Kafka at `upstream`, or an embedded cluster if that is None.
    """

    def __init__(
        self, data_dir: Path, overrides: Mapping[str, str], brokers: int = 6, upstream: str | None = None
    ) -> None:
        self.bootstrap = f"127.0.0.1:{free_ports(brokers + (upstream is not None))}"
        self.http = f"127.0.0.1:{free_port()}"
        self.data_dir = data_dir
        if upstream is None:
            backend = ["--backend", "embedded", "--brokers", str(brokers)]
        else:
            backend = ["--backend", "upstream", "--bootstrap-server", upstream]
        listeners = ["--listener", self.bootstrap, "--http", self.http]
        super().__init__([*backend, *listeners, "--data-dir", str(data_dir)], overrides)
