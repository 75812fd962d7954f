"""Ends a process whose event loop stands still: a thread watches the loop, since nothing in the loop can.

In ZooKeeper mode threads of the client library keep the session alive, whatever the loop does. A controller that does nothing
would then stay in office for ever, and no standby could take over.
"""

import asyncio
import logging
import os
import sys
import threading
import traceback
from collections.abc import Callable
from functools import partial

log = logging.getLogger(__name__)

LOOKS = 20
"""How often the loop is looked at in the time after which it counts as standing still."""

FAREWELL_SECONDS = 3.0
"""How long the process may take over what it does before it ends."""

FAILED = 1

_ENDING = threading.Lock()
"""Held by the thread that ends the process."""


class Farewell:
    """What is done before a process is ended by a thread: nothing, until someone has set it."""

    def __init__(self) -> None:
        self.act: Callable[[], None] = lambda: None

    def __call__(self) -> None:
        self.act()


class Watchdog:
    """Watches the loop from `start` to `stop`; when it has not run for `seconds`, calls `farewell` and ends the process.

    `farewell` is called on another thread, and must not need the loop. `end` is `os._exit`.
    """

    def __init__(
        self, seconds: float, farewell: Callable[[], None], end: Callable[[int], object] = os._exit
    ) -> None:
        self._seconds, self._farewell, self._end = seconds, farewell, end
        self.beats = 0
        """How often the loop has run."""
        self._stopped = threading.Event()
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Watch the running loop."""
        self._loop = asyncio.get_running_loop()
        self._watched = threading.get_ident()
        self._beat()
        threading.Thread(target=self._watch, name="watchdog", daemon=True).start()

    def stop(self) -> None:
        """Watch no more."""
        self._stopped.set()
        if self._timer is not None:
            self._timer.cancel()

    def _beat(self) -> None:
        self.beats += 1
        self._timer = self._loop.call_later(self._seconds / LOOKS, self._beat)

    def _watch(self) -> None:
        """Looks are counted, not seconds: a process that was suspended (SIGSTOP) has not stood still."""
        seen, silent = self.beats, 0
        while not self._stopped.wait(self._seconds / LOOKS):
            silent = silent + 1 if self.beats == seen else 0
            seen = self.beats
            if silent >= LOOKS:
                report = partial(self._report, _stack(self._watched))
                end_process(FAILED, self._farewell, report, self._end)
                return

    def _report(self, where: str) -> None:
        log.critical(
            "the event loop has stood still for %g s: the ZooKeeper session is given up and the process ends; it was at\n%s",
            self._seconds,
            where,
        )


def end_process(
    code: int,
    farewell: Callable[[], None],
    report: Callable[[], None],
    end: Callable[[int], object] = os._exit,
) -> None:
    """Does both and ends the process, also where one of them fails or does not return: the loop may hold a lock.

    Only the first call counts.
    """
    if not _ENDING.acquire(blocking=False):
        return
    for act in (farewell, report):
        thread = threading.Thread(target=act, daemon=True)
        thread.start()
        thread.join(FAREWELL_SECONDS)
    end(code)
    _ENDING.release()  # Only a test comes here.


def _stack(thread: int) -> str:
    """Where the thread is, innermost call last."""
    frame = sys._current_frames().get(thread)  # noqa: SLF001 (there is no other way)
    return "" if frame is None else "".join(traceback.format_stack(frame)).rstrip()
