"""Work of a test that goes on in a thread during a `with` block."""

import threading
from typing import Self


class InThread:
    """Runs `_run` in a thread during the `with` block, until `_stop` is set."""

    def __init__(self, name: str) -> None:
        self.errors: list[BaseException] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        raise NotImplementedError
