"""`reassignd serve` as its users have it: a process with a data directory, an exit code and lines to read."""

import asyncio
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from threading import Timer

from backends.client.channel import connect
from protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest

PATIENCE_SECONDS = 60
STOP_SECONDS = 30

Start = Callable[..., "Served"]


class Served:
    """A process, and the line that it said first: `ready: …`, or nothing when it ended before."""

    def __init__(self, data_dir: Path, *arguments: str, http: str = "127.0.0.1:0") -> None:
        places = ["--listener", "127.0.0.1:0", "--http", http, "--data-dir", str(data_dir)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "reassignd", "serve", "--brokers", "2", *places, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        deadline = Timer(PATIENCE_SECONDS, self.process.kill)
        deadline.start()
        self.line = self.process.stdout.readline()
        deadline.cancel()

    def end(self, by: signal.Signals | None = None) -> tuple[int, str, str]:
        """Exit code, and further output on stdout and stderr."""
        if by is not None:
            self.process.send_signal(by)
        out, err = self.process.communicate(timeout=STOP_SECONDS)
        return self.process.returncode, out, err

    def complaint(self, code: int = 1) -> str:
        """The one line on stderr of a process that failed with this exit code."""
        ended, out, err = self.end()
        assert (self.line, ended, out) == ("", code, "")
        [line] = err.splitlines()
        assert line.startswith("reassignd: ")
        return line.removeprefix("reassignd: ")

    def get(self, path: str) -> str:
        """The page of the HTTP listener, whose address is in the ready line."""
        place = self.line.partition("http http://")[2].partition(",")[0]
        with urllib.request.urlopen(f"http://{place}{path}", timeout=PATIENCE_SECONDS) as page:
            text: str = page.read().decode()
            return text

    def create_topic(self, name: str) -> None:
        """Ask for a topic. Raises OSError when the connection ends before the answer."""
        host, _, port = self.line.removeprefix("ready: brokers ").partition(",")[0].rpartition(":")

        async def ask() -> None:
            channel = await connect(host, int(port), PATIENCE_SECONDS)
            try:
                await channel.request(CreateTopicsRequest([CreatableTopic(name, 1, 1)]), 2)
            finally:
                channel.close()

        asyncio.run(ask())

    def metric(self, name: str) -> float:
        """The value of a metric without labels."""
        [line] = [line for line in self.get("/metrics").splitlines() if line.startswith(f"{name} ")]
        return float(line.split()[1])
