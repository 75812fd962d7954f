"""A shell that runs the commands of one document, with a server and a folder of its own."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from threading import Timer
from typing import NamedTuple, Self

from tests.documents.blocks import ROOT
from tools.java import java_command
from tools.ports import RESERVED, free_ports

PATIENCE_SECONDS = 240
END = "--- end of the command, status "
ENDLESS = re.compile(r"--watch\b|/v1/events\b")
ADDRESS = re.compile(r"\b(127\.0\.0\.1|0\.0\.0\.0|reassignd|kafka-?\d):(\d{4,5})\b")
ANYWHERE = "0.0.0.0"  # noqa: S104


class Result(NamedTuple):
    """The exit code of a command, and its output with stderr."""

    status: int
    printed: str


class Shell:
    """Runs commands one after the other in one bash, which keeps its variables.

    The context manager ends the server.

    `servers` has the addresses of servers that are there, by the addresses that documents name.
    """

    def __init__(
        self, folder: Path, settings: Mapping[str, str], servers: Mapping[str, str] | None = None
    ) -> None:
        self._folder, self._servers = folder, servers or {}
        self._ports = {documented: free_ports(RESERVED) for documented in ("9092", "9080")}
        (folder / ".venv").symlink_to(ROOT / ".venv")
        self._bash = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=folder,
            env=self._environment(settings),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.run(f"source {shlex.quote(str(Path(__file__).with_suffix('.sh')))}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        self._bash.communicate(timeout=PATIENCE_SECONDS)

    def _end(self) -> None:
        subprocess.run(["pkill", "--session", str(self._bash.pid)], check=False)

    def run(self, text: str) -> Result:
        """Run a command of a document. Free ports of this machine take the place of those that it names."""
        if ENDLESS.search(text):
            text = f"until_interrupted {text}"
        # A function of the shell starts servers, and its name cannot be a path.
        text = text.replace(".venv/bin/reassignd serve", "reassignd serve")
        command = ADDRESS.sub(self._address, text)
        (self._folder / ".command").write_text(command + "\n", "utf-8")
        assert self._bash.stdin is not None
        self._bash.stdin.write(f"source ./.command < /dev/null; status=$?; echo; echo '{END}'$status\n")
        self._bash.stdin.flush()
        deadline = Timer(PATIENCE_SECONDS, self._end)
        deadline.start()
        try:
            return self._result()
        finally:
            deadline.cancel()

    def _result(self) -> Result:
        assert self._bash.stdout is not None
        printed: list[str] = []
        for line in self._bash.stdout:
            if line.startswith(END):
                return Result(int(line.removeprefix(END)), "".join(printed))
            printed.append(line)
        raise AssertionError(f"the shell ended, or the command did not; it printed: {''.join(printed)}")

    def _address(self, documented: re.Match[str]) -> str:
        if documented[0] in self._servers:
            return self._servers[documented[0]]
        host = ANYWHERE if documented[1] == ANYWHERE else "127.0.0.1"
        return f"{host}:{self._port(documented[2])}"

    def _port(self, documented: str) -> int:
        if documented not in self._ports:
            self._ports[documented] = free_ports(RESERVED)
        return self._ports[documented]

    def _environment(self, settings: Mapping[str, str]) -> dict[str, str]:
        http = f"127.0.0.1:{self._ports['9080']}"
        server = {"listener": f"127.0.0.1:{self._ports['9092']}", "http.listener": http} | dict(settings)
        return {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(self._folder),
            "LANG": "C.UTF-8",
            "COLUMNS": "200",
            "PIP_NO_INDEX": "1",  # what the documents install is there
            "ROOT": str(ROOT),
            "PYTHON": sys.executable,
            "JAVA": shlex.join(java_command("tools-4.3")),
            "REASSIGND_URL": f"http://{http}",
        } | {f"REASSIGND_{key.replace('.', '_').upper()}": value for key, value in server.items()}
