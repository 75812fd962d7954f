"""Small files that survive a crash or a power failure, readable for their owner only."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO


def open_private(path: Path, flags: int) -> int:
    """Open the file with the given flags, and create it with mode 0600.

    Raises OSError for a symbolic link.
    """
    return os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW, 0o600)


def replace_file(path: Path, text: str) -> None:
    """Write the text to the file atomically: after a crash it has either the old or the new content.

    The call blocks for two disk flushes. Raises OSError.
    """
    write_file(path, lambda file: file.write(text.encode()))


def write_file(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Replace the file by what `write` writes, as `replace_file` does."""
    temporary = path.with_suffix(".new")
    # A temporary file that a crash left behind may have another mode, or be a link that another user made.
    temporary.unlink(missing_ok=True)
    with os.fdopen(open_private(temporary, os.O_WRONLY | os.O_EXCL), "wb") as file:
        write(file)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    _flush_directory(path.parent)


def remove_file(path: Path) -> None:
    """Remove the file; it does not come back after a crash. Raises OSError."""
    path.unlink()
    _flush_directory(path.parent)


def _flush_directory(path: Path) -> None:
    """Make new, renamed and removed names in the directory durable."""
    directory = os.open(path, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
