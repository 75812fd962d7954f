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
        self._thread.join(END_SECONDS)
        if self._thread.is_alive():
            raise TimeoutError(f"the thread {self._thread.name} did not end within {END_SECONDS} s")

    def _run(self) -> None:
        raise NotImplementedError
