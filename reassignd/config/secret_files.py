"""Files that hold secrets: whoever can read them can act as reassignd."""

import logging
import stat
from pathlib import Path

log = logging.getLogger(__name__)

OTHERS_READ = stat.S_IRGRP | stat.S_IROTH


def warn_if_open(path: Path, what: str) -> None:
    """Say so in the log when others can read `what` in the file. One that is not there is somebody else's business."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return
    if mode & OTHERS_READ:
        log.warning("others can read %s in %s; chmod 600 it", what, path)
