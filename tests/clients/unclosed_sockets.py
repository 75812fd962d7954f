"""What kafka-python leaves to the garbage collector, which may come at any time: sockets to brokers that died."""

import warnings
from pathlib import Path

import pytest

UNCLOSED = "Exception ignored in. <(socket|ssl)"
"""How pytest begins to tell of a socket that nobody closed."""


def ignore_unclosed_sockets(items: list[pytest.Item], folder: Path) -> None:
    """The tests in the folder do not fail over such a socket."""
    mark = pytest.mark.filterwarnings(f"ignore:{UNCLOSED}:pytest.PytestUnraisableExceptionWarning")
    for item in items:
        if folder in item.path.parents:
            item.add_marker(mark)


def ignore_unclosed_sockets_at_exit() -> None:
    """Nor does pytest itself, which collects what is left when the last test has ended."""
    warnings.filterwarnings("ignore", UNCLOSED, pytest.PytestUnraisableExceptionWarning)
