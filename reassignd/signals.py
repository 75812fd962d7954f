"""SIGTERM and SIGINT: the first one stops the server cleanly, the second one ends the process at once."""

import asyncio
import contextlib
import logging
import os
import signal
import threading
from collections.abc import Callable, Coroutine
from types import FrameType

from reassignd.runtime.watchdog import end_process

log = logging.getLogger(__name__)

SIGNALS = (signal.SIGTERM, signal.SIGINT)


async def until_signalled(
    serving: Coroutine[None, None, None], stop_seconds: float, abort: Callable[[], None] = lambda: None
) -> None:
    """Run `serving` until it ends or a signal cancels it. Raises what it raises.

    If it has not ended `stop_seconds` after the signal, `abort` is called and the process exits with code 0, even while the
    event loop hangs. That is no failure: what was acknowledged is on disk, and the next start continues from there. `abort` is
    called on another thread and must not need the loop.
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
    """Ends the process some time after `begin`, unless `end` is called before. `begin` takes no lock: signal handlers may call it."""

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
