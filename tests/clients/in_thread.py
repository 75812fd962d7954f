"""Work of a test that goes on in a thread during a `with` block."""

import threading
from typing import Self

END_SECONDS = 150
"""Limit for the thread to end. The clients in it wait for a broker for up to 60 s, and then to close."""


class InThread:
    """Runs `_run` in a thread during the `with` block, until `_stop` is set.

    Raises TimeoutError if the thread does not end after the block.
    """

    def __init__(self, name: str) -> None:
        self.errors: list[BaseException] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        wait_for_end(self._thread)

    def _run(self) -> None:
        raise NotImplementedError


def wait_for_end(thread: threading.Thread) -> None:
    """Wait until the thread has ended. Raises TimeoutError after END_SECONDS."""
    thread.join(END_SECONDS)
    if thread.is_alive():
        raise TimeoutError(f"the thread {thread.name} did not end within {END_SECONDS} s")
