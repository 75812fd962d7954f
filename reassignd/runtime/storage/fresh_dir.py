"""A data directory that this start has created: it is removed again if the start fails."""

import contextlib
from collections.abc import Iterable
from pathlib import Path

from backends.datadir import DATABASE, LOCK
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
