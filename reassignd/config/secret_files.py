"""Files with secrets: their lines, and their mode."""

import logging
import os
import stat
from pathlib import Path

from reassignd.errors import CommandError

log = logging.getLogger(__name__)

OTHERS_READ = stat.S_IRGRP | stat.S_IROTH


def warn_if_open(path: Path, what: str) -> None:
    """Log a warning if other users can read the file, which contains `what`. A missing file is ignored here."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return
    if mode & OTHERS_READ:
        log.warning("other users can read %s in %s; run chmod 600 on the file", what, path)


def read_lines(path: Path, most: int) -> dict[int, str]:
    """Return the lines by number, without empty lines and comments, which begin with `#`.

    Raises CommandError when the file cannot be read or has more than `most` lines.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = os.strerror(error.errno or 0) if isinstance(error, OSError) else "it is not UTF-8 text"
        raise CommandError(f"cannot read {path}: {reason}") from error
    if len(lines) > most:
        raise CommandError(f"{path} has more than {most:,} lines")
    return {
        number: line
        for number, line in enumerate(lines, 1)
        if line.strip() and not line.lstrip().startswith("#")
    }
