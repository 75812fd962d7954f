"""Single keys from a terminal, which is as it was before after every ending of the command."""

import os
import select
import signal
import sys
import termios
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

ENDING = (signal.SIGTERM, signal.SIGHUP)
"""Signals that would end the process before the terminal is restored."""

LONGEST = 64
"""Bytes that are read at once: a pasted text is not a row of orders, and of an arrow key nothing is left."""


class Keys:
    """The keys that are pressed, if stdin is a terminal."""

    def __init__(self, file: int | None) -> None:
        self._file = file

    @property
    def usable(self) -> bool:
        """Whether there can be keys."""
        return self._file is not None

    def read(self, seconds: float) -> str:
        """Return the key that is pressed within this time; else, and for what is not one key, nothing."""
        if self._file is None:
            time.sleep(seconds)
            return ""
        if not select.select([self._file], [], [], seconds)[0]:
            return ""
        pressed = os.read(self._file, LONGEST)
        if not pressed:  # The terminal is gone.
            raise KeyboardInterrupt
        return pressed.decode(errors="replace") if len(pressed) == 1 else ""


@contextmanager
def keys() -> Iterator[Keys]:
    """Read keys without Enter and without an echo. Signals that end the process restore the terminal."""
    if not sys.stdin.isatty():
        yield Keys(None)
        return
    file = sys.stdin.fileno()
    before = termios.tcgetattr(file)
    handlers = {number: signal.signal(number, _end) for number in ENDING}
    try:
        tty.setcbreak(file, termios.TCSANOW)
        yield Keys(file)
    finally:
        with suppress(termios.error):  # The terminal may be gone.
            termios.tcsetattr(file, termios.TCSANOW, before)
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _end(number: int, _: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)
