"""A data directory that this start has created: it is removed again if the start fails."""

import contextlib
import os
import stat
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from backends.sqlite.datadir import DATABASE, LOCK, StoreError, lock
from controller.model.cluster import Broker, ControllerEpoch, Record
from reassignd.runtime.storage import identity
from server.gateway import port_assignments

FILES = (DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", identity.FILE, port_assignments.FILE, LOCK)
"""Files that a start writes. The lock is removed last: no other process may use the directory before."""


def is_fresh(directory: Path) -> bool:
    """Return whether a start on this directory would create it, or fill an empty one."""
    return not directory.exists() or (directory.is_dir() and not any(directory.iterdir()))


def is_worthless(records: Iterable[Record]) -> bool:
    """Return whether the records are only those that every start writes, and none of a client."""
    return all(isinstance(record, ControllerEpoch | Broker) for record in records)


def remove(directory: Path) -> None:
    """Remove the files of a start, and the directory if nothing else is in it. Failures are ignored."""
    with contextlib.suppress(OSError):
        for name in FILES:
            (directory / name).unlink(missing_ok=True)
        directory.rmdir()


ABANDONED_SECONDS = 60.0
"""Age of a temporary folder from which on it is certain that its process has locked it."""


def remove_abandoned(prefix: str) -> None:
    """Remove the temporary folders of this prefix, with databases in them, that killed processes have left.

    The lock in a folder tells whether its process runs. Folders of other users stay.
    """
    for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with contextlib.suppress(OSError, StoreError):
            status = folder.lstat()
            old = time.time() - status.st_mtime > ABANDONED_SECONDS
            if old and stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid():
                with lock(folder):
                    remove(folder)
