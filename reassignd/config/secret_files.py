"""Check the mode of files with secrets."""

import logging
import stat
from pathlib import Path

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
