"""Ends a process whose event loop hangs. A thread watches the loop.

In ZooKeeper mode threads of the client library keep the session alive even while the loop hangs. Without the
watchdog such a process would stay the controller, and no standby could take over.
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

CHECKS = 20
"""Checks of the loop in the time after which it counts as hanging."""

ABORT_SECONDS = 3.0
"""Time limit of each action before the process ends."""

FAILED = 1

_ENDING = threading.Lock()
"""Held by the thread that ends the process."""


class Watchdog:
    """Watches the loop from `start` to `stop`.

    When it has hung for `seconds`, calls `abort` and ends the process.

    `abort` is called on another thread and must not need the loop. `end` is `os._exit`.
    """

    def __init__(
        self, seconds: float, abort: Callable[[], None], end: Callable[[int], object] = os._exit
    ) -> None:
        self._seconds, self._abort, self._end = seconds, abort, end
        self.beats = 0
        """Times that the loop has run its timer."""
        self._stopped = threading.Event()
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Watch the running loop."""
        self._loop = asyncio.get_running_loop()
        self._watched = threading.get_ident()
        self._beat()
        threading.Thread(target=self._watch, name="watchdog", daemon=True).start()

    def stop(self) -> None:
        """Stop watching."""
        self._stopped.set()
        if self._timer is not None:
            self._timer.cancel()

    def _beat(self) -> None:
        self.beats += 1
        self._timer = self._loop.call_later(self._seconds / CHECKS, self._beat)

    def _watch(self) -> None:
        """Count checks instead of seconds: a process that was suspended (SIGSTOP) has not hung."""
        seen, silent = self.beats, 0
        while not self._stopped.wait(self._seconds / CHECKS):
            silent = silent + 1 if self.beats == seen else 0
            seen = self.beats
            if silent >= CHECKS:
                report = partial(self._report, _stack(self._watched))
                end_process(FAILED, self._abort, report, self._end)
                return

    def _report(self, stack: str) -> None:
        log.critical(
            "the event loop has hung for %g s: the ZooKeeper session and the process end; the loop was"
            " at\n%s",
            self._seconds,
            stack,
        )


def end_process(
    code: int,
    abort: Callable[[], None],
    report: Callable[[], None],
    end: Callable[[int], object] = os._exit,
) -> None:
    """Call both functions, and end the process even if one fails or blocks.

    The loop may hold a lock that it needs.

    Only the first call has an effect.
    """
    if not _ENDING.acquire(blocking=False):
        return
    for action in (abort, report):
        thread = threading.Thread(target=action, daemon=True)
        thread.start()
        thread.join(ABORT_SECONDS)
    end(code)
    _ENDING.release()  # Reached in tests only, where `end` returns.


def _stack(thread: int) -> str:
    """Return the stack of the thread, innermost call last."""
    frame = sys._current_frames().get(thread)  # noqa: SLF001 (there is no other way)
    return "" if frame is None else "".join(traceback.format_stack(frame)).rstrip()
