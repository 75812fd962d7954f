"""Warnings about sockets that kafka-python leaves open after a broker is killed.

The garbage collector closes them later.
"""

import warnings
from pathlib import Path

import pytest

UNCLOSED = "Exception ignored in. <(socket|ssl)"
"""Start of pytest's warning about an unclosed socket."""


def ignore_unclosed_sockets(items: list[pytest.Item], folder: Path) -> None:
    """Ignore the warning in the tests of the folder."""
    mark = pytest.mark.filterwarnings(f"ignore:{UNCLOSED}:pytest.PytestUnraisableExceptionWarning")
    for item in items:
        if folder in item.path.parents:
            item.add_marker(mark)


def ignore_unclosed_sockets_at_exit() -> None:
    """Ignore the warning in pytest's garbage collection after the last test."""
    warnings.filterwarnings("ignore", UNCLOSED, pytest.PytestUnraisableExceptionWarning)
