"""Opens the store in the data directory, and loads the state from its records.

A directory that this start has created is removed again if the start fails.
"""

import asyncio
import contextlib
import os
import stat
import tempfile
import time
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from backends.sqlite.datadir import DATABASE, LOCK, StoreError, lock
from backends.sqlite.store import SqliteStore
from common.garbage_collector import gc_paused
from controller.model.cluster import Broker, ControllerEpoch, Record
from controller.ports import Store
from controller.state.state import State
from reassignd.config.errors import CommandError
from reassignd.runtime.storage import identity
from reassignd.runtime.storage.identity import FILE, keep_files, refuse_moved, restore_files
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


HEADER_BYTES = 100
"""The size of SQLite's file header. SQLite takes an empty file for a new database."""

REMEDY = "restore the data directory from a backup, or move it away to begin with an empty cluster"

RECORDS_PER_SLICE = 2_000
"""Records that are loaded before the event loop runs other tasks."""


def open_store(data_dir: Path, *, recovers: bool = False) -> SqliteStore:
    """Open the store in the directory, and lock it. `recovers`: see `SqliteStore`.

    Raises CommandError if it is in use, damaged, or not writable, and if its records were moved to a state
    topic.
    """
    records = data_dir / DATABASE
    if (data_dir / FILE).exists() and (not records.exists() or records.stat().st_size < HEADER_BYTES):
        # The file with the id is written after the database: the directory had a cluster, which must not be
        # replaced by an empty one without the operator's order.
        raise CommandError(f"{records} is missing or empty, though there is a {FILE}; {REMEDY}")
    try:
        store = SqliteStore(data_dir, recovers=recovers)
    except StoreError as error:
        raise CommandError(str(error)) from error
    try:
        restore_files(data_dir)
        refuse_moved(data_dir)
        if not (data_dir / FILE).exists() and not is_worthless(store.load()):
            # Records of one cluster have no meaning for another one, and nothing tells whose these are.
            raise CommandError(
                f"the records in {data_dir} have no {FILE}, which has the id of their cluster; {REMEDY}"
            )
        keep_files(data_dir)
    except StoreError as error:
        store.close()
        raise CommandError(str(error)) from error
    except BaseException:
        store.close()
        raise
    return store


async def load(store: Store, state: State) -> None:
    """Put all records into the state, which is new. Raises CommandError if they are damaged."""
    try:
        with gc_paused:
            records = iter(store.load())
            while part := list(islice(records, RECORDS_PER_SLICE)):
                state.load(part)
                await asyncio.sleep(0)
    except StoreError as error:
        raise CommandError(str(error)) from error
    except (LookupError, ValueError) as error:
        raise CommandError(f"the records contradict each other ({error!r}); {REMEDY}") from error
