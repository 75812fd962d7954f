"""SIGTERM and SIGINT: the first asks for a clean stop, the second ends the process at once."""

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
    serving: Coroutine[None, None, None], stop_seconds: float, farewell: Callable[[], None] = lambda: None
) -> None:
    """Run `serving` until it ends, or a signal cancels it; raises what it raises.

    When it has not ended `stop_seconds` after the signal, the process calls `farewell` and ends as it is, also where the event
    loop stands still: what was acknowledged is on disk, and the next start goes on from there, so this is no failure.
    `farewell` must not need the loop.
    """
    loop = asyncio.get_running_loop()
    task = asyncio.create_task(serving, name="serving")
    patience = _Patience(stop_seconds, farewell)

    def stop(number: signal.Signals) -> None:
        log.info("stopping on %s", number.name)
        task.cancel()

    def signalled(number: int, _: FrameType | None) -> None:
        # Python calls this between two instructions of whatever runs, also of what never gives way to the loop.
        for each in SIGNALS:
            signal.signal(each, signal.SIG_DFL)
        patience.begin()
        loop.call_soon_threadsafe(stop, signal.Signals(number))

    before = {each: signal.signal(each, signalled) for each in SIGNALS}
    try:
        with contextlib.suppress(asyncio.CancelledError):
            await task
    finally:
        patience.end()
        if not patience.begun:
            for each, handler in before.items():
                signal.signal(each, handler)


class _Patience:
    """Ends the process some time after `begin`, which a signal's handler may call: it takes no lock."""

    def __init__(self, seconds: float, farewell: Callable[[], None]) -> None:
        self._seconds, self._farewell = seconds, farewell
        self.begun = False
        self._ended = threading.Event()
        self._reads, self._writes = os.pipe()
        threading.Thread(target=self._wait, name="stop", daemon=True).start()

    def begin(self) -> None:
        """A signal has come."""
        self.begun = True
        os.write(self._writes, b"\1")

    def end(self) -> None:
        """All is over."""
        self._ended.set()
        os.close(self._writes)

    def _wait(self) -> None:
        begun = os.read(self._reads, 1)
        os.close(self._reads)
        if begun and not self._ended.wait(self._seconds):
            end_process(0, self._farewell, self._report)

    def _report(self) -> None:
        log.warning("not stopped after %g s, giving up; what was acknowledged is on disk", self._seconds)
