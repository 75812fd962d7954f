"""reassignd as a process of its own, as its users run it."""

import contextlib
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from threading import Timer

READY_SECONDS = 60
STOP_SECONDS = 30


class Reassignd:
    """`reassignd serve` as a process on a data directory, started and ended as often as a test likes.

    Before the running Kafka at `upstream` if that is given, else with an embedded cluster.
    """

    def __init__(
        self, data_dir: Path, overrides: Mapping[str, str], brokers: int = 6, upstream: str | None = None
    ) -> None:
        first_port = free_ports(brokers + (upstream is not None))
        self.bootstrap = f"127.0.0.1:{first_port}"
        self.http = f"127.0.0.1:{free_ports(1)}"
        self.data_dir = data_dir
        self._overrides = overrides
        self._brokers = brokers
        self._upstream = upstream
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
            raise RuntimeError(f"reassignd did not start; it said {line!r}")
        return line

    def launch(self) -> subprocess.Popen[str]:
        """Starts it without waiting for anything."""
        self._process = subprocess.Popen(self._command(), stdout=subprocess.PIPE, text=True)
        return self._process

    @property
    def pid(self) -> int:
        """Of the process that runs now."""
        assert self._process is not None
        return self._process.pid

    def kill(self) -> int:
        """Ends it as kill -9 does; the exit code, which is another than -9 where it had ended by itself."""
        return self._end(signal.SIGKILL)

    def stop(self) -> int:
        """SIGTERM; the exit code. Raises TimeoutExpired if that takes more than 30 s."""
        return self._end(signal.SIGTERM)

    def _end(self, by: signal.Signals) -> int:
        assert self._process is not None
        self._process.send_signal(by)
        self._process.communicate(timeout=STOP_SECONDS)
        return self._process.returncode

    def _command(self) -> list[str]:
        serve = [sys.executable, "-m", "reassignd", "serve"]
        if self._upstream is None:
            world = ["--backend", "embedded", "--brokers", str(self._brokers)]
        else:
            world = ["--backend", "upstream", "--bootstrap-server", self._upstream]
        places = ["--listener", self.bootstrap, "--http", self.http, "--data-dir", str(self.data_dir)]
        overrides = [part for pair in self._overrides.items() for part in ("--override", "=".join(pair))]
        return [*serve, *world, *places, *overrides]


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
