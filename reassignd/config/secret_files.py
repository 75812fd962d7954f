"""Files with secrets: a user who can read one can act as reassignd."""

import logging
import stat
from pathlib import Path

log = logging.getLogger(__name__)

OTHERS_READ = stat.S_IRGRP | stat.S_IROTH


def warn_if_open(path: Path, what: str) -> None:
    """Log a warning if other users can read the file; `what` names the secret. A missing file is reported elsewhere."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return
    if mode & OTHERS_READ:
        log.warning("others can read %s in %s; chmod 600 it", what, path)
