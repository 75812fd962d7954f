"""Python processes that start in milliseconds: forks of a process that has imported what servers need.

A server takes 0.8 s of processor time to start, most of it for imports, and the tests start hundreds. A
fork has the arguments, environment, folder and streams that it is given, and ends as any other process does.
"""

import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).parents[1]

MODULES = (
    "reassignd.cli",
    "reassignd.serve",
    "reassignd.runtime.data_dir",
    "reassignd.runtime.gateway",
    "reassignd.runtime.instances.runtime",
    "reassignd.runtime.zookeeper",
)
"""What is imported before the forks."""

MOST_BYTES = 1 << 17
"""Of a request: the arguments and the environment."""

OTHERS = 3
"""The first descriptor after those of the streams."""


class Fork:
    """A process, with the methods of `subprocess.Popen` that tests use."""

    def __init__(self, pid: int, stdout: IO[str], ended: IO[bytes]) -> None:
        self.pid, self.stdout, self._ended = pid, stdout, ended
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit code if the process has ended."""
        return self._wait(0)

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code when the process has ended. Raises subprocess.TimeoutExpired."""
        code = self._wait(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0)
        return code

    def communicate(self, timeout: float | None = None) -> tuple[str, None]:
        """Wait for the end; return the rest of the output, which fits into a pipe."""
        self.wait(timeout)
        if self.stdout.closed:
            return "", None
        with self.stdout:
            return self.stdout.read(), None

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def _wait(self, seconds: float | None) -> int | None:
        if self.returncode is None:
            told = select.poll()  # unlike `select.select` it has no highest descriptor
            told.register(self._ended)
            if told.poll(None if seconds is None else seconds * 1000):
                with self._ended:
                    self.returncode = int(self._ended.readline())
        return self.returncode


class ForkServer:
    """The process that is forked. It is started when it is used first."""

    def start(self, module: str, arguments: Sequence[str], stderr: int) -> Fork:
        """Run a module with arguments, in our environment and folder. Its stdout is a pipe."""
        request = {
            "command": [module, *arguments],
            "environment": dict(os.environ),
            "folder": str(Path.cwd()),
        }
        reads, writes = os.pipe()
        ended, tells = os.pipe()
        try:
            socket.send_fds(self._channel, [json.dumps(request).encode()], [writes, stderr, tells])
        finally:
            os.close(writes)
            os.close(tells)
        told = os.fdopen(ended, "rb", 0)
        if not (pid := told.readline()):
            raise RuntimeError("the process that is forked has ended")
        return Fork(int(pid), os.fdopen(reads), told)

    def stop(self) -> None:
        """End the process. Its forks continue."""
        if "_channel" in vars(self):
            self._channel.close()
            self._process.wait()

    @cached_property
    def _channel(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            number = theirs.fileno()
            command = [sys.executable, "-m", "tools.forks", str(number)]
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[number], cwd=ROOT)
        return ours


def serve(channel: socket.socket) -> Sequence[str]:
    """Fork for each request, and tell the ends of forks.

    In a fork, return the module and its arguments; in this process nothing, when nobody asks any more.
    """
    running: dict[int, tuple[int, int]] = {}
    requests = channel.fileno()
    while True:
        ready, _, _ = select.select([requests, *running], [], [])
        for ended in {*running} & {*ready}:
            pid, told = running.pop(ended)
            _, status = os.waitpid(pid, 0)
            _tell(told, os.waitstatus_to_exitcode(status))
            os.close(told)
            os.close(ended)
        if requests in ready:
            message, descriptors, _, _ = socket.recv_fds(channel, MOST_BYTES, OTHERS)
            if not message:
                return ()
            if (pid := os.fork()) == 0:
                return _become(json.loads(message), *descriptors[:2])
            *streams, told = descriptors
            running[os.pidfd_open(pid)] = pid, told
            _tell(told, pid)
            for each in streams:
                os.close(each)


def _tell(told: int, number: int) -> None:
    with suppress(BrokenPipeError):
        os.write(told, b"%d\n" % number)


def _become(request: Any, stdout: int, stderr: int) -> Sequence[str]:
    """Take over what the request gives; return the module and its arguments."""
    os.dup2(stdout, 1)
    os.dup2(stderr, 2)
    os.closerange(OTHERS, os.sysconf("SC_OPEN_MAX"))
    sys.path[0] = request["folder"]  # as `python -m` does
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    command: list[str] = request["command"]
    return command


def main() -> None:
    """Be the process that is forked; in a fork, run its module."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in MODULES:
        import_module(name)
    gc.collect()
    gc.freeze()
    sys.argv = [*serve(socket.socket(fileno=int(sys.argv[1])))]
    if sys.argv:
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
