"""Plans in files."""

import sys
from pathlib import Path

from reassignd.errors import CommandError

STDIN = Path("-")


def read(path: Path) -> bytes:
    """The file as it is; the server checks it. Raises CommandError."""
    try:
        return sys.stdin.buffer.read() if path == STDIN else path.read_bytes()
    except OSError as error:
        raise CommandError(f"cannot read {path}: {error.strerror}") from error
