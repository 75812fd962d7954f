"""The process: its log lines, its signals, and its messages to systemd.

A log record is always one line on stderr, whatever text of a client it has: in the format of Kafka's log4j,
in which a traceback adds lines, or as a JSON object. The first SIGTERM or SIGINT stops the server cleanly,
the second one ends the process at once.

A message to systemd (`sd_notify(3)`, `Type=notify`, `WatchdogSec=`) is a datagram to the socket whose path it
gives in NOTIFY_SOCKET: ready, stopping, a status line, and heartbeats. Without that variable nothing is sent.
The library `systemd-python` is not used: it needs a compiler and libsystemd.
"""

import asyncio
import contextlib
import json
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Coroutine, Mapping
from datetime import UTC, datetime
from types import FrameType

from common.wording import escaped, printable
from reassignd.runtime.watchdog import end_process

LEVELS = {"WARNING": "WARN", "CRITICAL": "FATAL"}
"""Levels with another name in log4j."""


class PlainFormatter(logging.Formatter):
    """`[2026-11-21 04:00:00,123] INFO text (logger)`, in local time."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, followed by the traceback if there is one."""
        text = printable(record.getMessage())
        line = f"[{self.formatTime(record)}] {_level(record)} {text} ({record.name})"
        if not record.exc_info:
            return line
        return "\n".join([line, *map(printable, self.formatException(record.exc_info).splitlines())])


class JsonFormatter(logging.Formatter):
    """A JSON object: `time` (ISO 8601, UTC), `level`, `logger`, `message`, and perhaps `exception`.

    Lines about what has happened also have the name of the `event` and its numbers (`fields`), which do not
    change with the text.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the object on one line."""
        fields: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": _level(record),
            "logger": record.name,
            "message": record.getMessage(),
        }
        event = getattr(record, "event", None)
        if event is not None:
            fields["event"] = event
            fields |= getattr(record, "fields", {})
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return escaped(json.dumps(fields, ensure_ascii=False))


FORMATTERS: dict[str, type[logging.Formatter]] = {"plain": PlainFormatter, "json": JsonFormatter}


def configure(style: str, level: str) -> None:
    """Log to stderr from `level` on. Libraries log from WARN on."""
    handler = logging.StreamHandler()
    handler.setFormatter(FORMATTERS[style]())
    logging.basicConfig(handlers=[handler], level=level, force=True)
    for library in ("asyncio", "httpx"):
        logging.getLogger(library).setLevel(logging.WARNING)


def _level(record: logging.LogRecord) -> str:
    return LEVELS.get(record.levelname, record.levelname)


log = logging.getLogger(__name__)

SIGNALS = (signal.SIGTERM, signal.SIGINT)


async def until_signalled(
    serving: Coroutine[None, None, None], stop_seconds: float, abort: Callable[[], None] = lambda: None
) -> None:
    """Run `serving` until it ends or a signal cancels it. Raises what it raises.

    If it has not ended `stop_seconds` after the signal, `abort` is called and the process exits with code 0,
    even while the event loop hangs. That is no failure: what was acknowledged is on disk, and the next start
    continues from there. `abort` is called on another thread and must not need the loop.
    """
    loop = asyncio.get_running_loop()
    task = asyncio.create_task(serving, name="serving")
    deadline = _StopDeadline(stop_seconds, abort)

    def stop(number: signal.Signals) -> None:
        log.info("stopping on %s", number.name)
        task.cancel()

    def signalled(number: int, _: FrameType | None) -> None:
        # Python calls this between two instructions of any code, also of code that never yields to the loop.
        for each in SIGNALS:
            signal.signal(each, signal.SIG_DFL)
        deadline.begin()
        loop.call_soon_threadsafe(stop, signal.Signals(number))

    before = {each: signal.signal(each, signalled) for each in SIGNALS}
    try:
        with contextlib.suppress(asyncio.CancelledError):
            await task
    finally:
        deadline.end()
        if not deadline.begun:
            for each, handler in before.items():
                signal.signal(each, handler)


class _StopDeadline:
    """Ends the process some time after `begin`, unless `end` is called before.

    `begin` takes no lock: signal handlers may call it.
    """

    def __init__(self, seconds: float, abort: Callable[[], None]) -> None:
        self._seconds, self._abort = seconds, abort
        self.begun = False
        self._ended = threading.Event()
        self._reads, self._writes = os.pipe()
        threading.Thread(target=self._wait, name="stop", daemon=True).start()

    def begin(self) -> None:
        """Start the time."""
        self.begun = True
        os.write(self._writes, b"\1")

    def end(self) -> None:
        """Cancel the deadline."""
        self._ended.set()
        os.close(self._writes)

    def _wait(self) -> None:
        begun = os.read(self._reads, 1)
        os.close(self._reads)
        if begun and not self._ended.wait(self._seconds):
            end_process(0, self._abort, self._report)

    def _report(self) -> None:
        log.warning(
            "not stopped after %g s: the process ends; what was acknowledged is on disk", self._seconds
        )


SHARE = 0.5
"""A keep-alive message is sent after this share of the watchdog's time, as systemd recommends."""


class ServiceManager:
    """Sends messages to the service manager in whose environment the process was started."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        path = environment.get("NOTIFY_SOCKET", "")
        # A path that begins with @ is in the abstract namespace, which the kernel marks with a zero byte.
        self._address = f"\0{path[1:]}" if path.startswith("@") else path
        microseconds = environment.get("WATCHDOG_USEC", "")
        self.watchdog_seconds = int(microseconds) / 1e6 if microseconds.isdecimal() else 0.0
        """Time after which the manager ends a process that has sent no keep-alive message; 0 for no limit."""

    def ready(self) -> None:
        """Tell that requests are served."""
        self._send("READY=1\nSTATUS=serving")

    def stopping(self) -> None:
        """Tell that the process ends."""
        self._send("STOPPING=1\nSTATUS=stopping")

    def status(self, text: str) -> None:
        """Set the line that `systemctl status` shows."""
        self._send(f"STATUS={' '.join(text.split())}")

    async def stay_alive(self) -> None:
        """Send signs of life until cancelled.

        They end when the event loop hangs. Returns at once without a watchdog.
        """
        while self._address and self.watchdog_seconds:
            self._send("WATCHDOG=1")
            await asyncio.sleep(self.watchdog_seconds * SHARE)

    def _send(self, message: str) -> None:
        if not self._address:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
                channel.setblocking(False)
                channel.sendto(message.encode(), self._address)
        except OSError as error:
            log.debug("the service manager does not accept the message: %s", error)
