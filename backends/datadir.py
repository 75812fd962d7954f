"""The data directory: locked against a second process, checked before use, never overwritten."""

import fcntl
import logging
import os
import sqlite3
import stat
from pathlib import Path
from typing import IO

from backends.sqlite.tables import SCHEMA, UPGRADES

log = logging.getLogger(__name__)

OTHERS = stat.S_IRWXG | stat.S_IRWXO

FORMAT = 3
"""Grows when an older reassignd could not read what a newer one wrote."""
DATABASE = "records.db"
LOCK = "lock"

_SURROUNDINGS = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY}
"""Errors that say nothing of the records: the disk is full or failing, or may not be written."""


class StoreError(Exception):
    """The records cannot be read or written; the message is one line that says what to do."""


def lock(directory: Path) -> IO[str]:
    """The open lock file, which holds our process id; the lock goes when it is closed, or with the process.

    Errors: `StoreError` when another process has it, or the directory cannot be created or written.
    """
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        _warn_if_open(directory)
        file = os.fdopen(open_private(directory / LOCK, os.O_RDWR | os.O_APPEND), "a+")
    except OSError as error:
        raise _unusable(directory, error) from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.seek(0)
        owner = file.read().strip() or "unknown"
        file.close()
        raise StoreError(
            f"data directory {directory} is in use by process {owner}; stop it or choose another directory"
        ) from error
    try:
        os.ftruncate(file.fileno(), 0)
        os.write(file.fileno(), f"{os.getpid()}\n".encode())
    except OSError as error:
        file.close()
        raise _unusable(directory, error) from error
    return file


def open_private(path: Path, flags: int) -> int:
    """A descriptor of the file, which is created for its owner only; OSError when it is a symbolic link."""
    return os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW, 0o600)


def write_whole(path: Path, text: str) -> None:
    """Replace the file, whole or not at all whenever the power fails. Blocks for a disk's flush; raises OSError."""
    draft = path.with_suffix(".new")
    # One that is left of a crash may have another mode, or be somebody's link.
    draft.unlink(missing_ok=True)
    with os.fdopen(open_private(draft, os.O_WRONLY | os.O_EXCL), "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def open_database(directory: Path) -> sqlite3.Connection:
    """A connection to the directory's records, whose tables are created if there are none yet.

    Errors: `StoreError` when the file is damaged, is not ours, or was written by a newer reassignd.
    """
    path = directory / DATABASE
    wal = directory / f"{DATABASE}-wal"
    for each in (path, wal, directory / f"{DATABASE}-shm"):
        if each.is_symlink():
            raise StoreError(f"{each} is a symbolic link; put the file there, or link the whole directory")
    if not _size(path) and _size(wal):
        raise damaged(directory, f"{DATABASE} is missing or empty but its log is there")
    try:
        if not path.exists():
            # SQLite gives its log and its index the mode of the database. An existing file is never opened here: closing it would
            # take away the locks that SQLite has on it.
            os.close(open_private(path, os.O_WRONLY | os.O_EXCL))
        # Every statement runs where we say BEGIN and COMMIT, and the writer is a thread of its own.
        database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    except (OSError, sqlite3.Error) as error:
        raise StoreError(f"{path} cannot be opened ({error}); check its permissions") from error
    try:
        _prepare(database, directory)
    except sqlite3.Error as error:
        database.close()
        if error.sqlite_errorcode & 0xFF in _SURROUNDINGS:
            raise StoreError(
                f"{path} cannot be opened ({error}); check its permissions and the space on its disk"
            ) from error
        raise damaged(directory, error) from error
    except BaseException:
        database.close()
        raise
    return database


def damaged(directory: Path, why: object) -> StoreError:
    """What to say of records that cannot be understood."""
    return StoreError(
        f"records in {directory} are damaged ({why}); restore the directory from a backup, "
        "or move it away to begin with an empty cluster"
    )


def _warn_if_open(directory: Path) -> None:
    """A directory that was there before is left as it is: somebody may want a backup to read it."""
    if directory.stat().st_mode & OTHERS:
        log.warning(
            "others can enter the data directory %s; `chmod -R go= %s` closes it", directory, directory
        )


def _unusable(directory: Path, error: OSError) -> StoreError:
    return StoreError(f"data directory {directory} cannot be used ({error.strerror}); choose another")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _prepare(database: sqlite3.Connection, directory: Path) -> None:
    names = {name for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    if not names:
        database.execute("PRAGMA journal_mode = WAL")
    elif "meta" not in names:
        raise damaged(directory, f"{DATABASE} was not written by reassignd")
    # The log is flushed at each commit: what is answered survives a power cut.
    database.execute("PRAGMA synchronous = FULL")
    database.execute("PRAGMA cache_size = -65536")
    database.execute("PRAGMA journal_size_limit = 67108864")
    if not names:
        database.executescript("BEGIN; " + SCHEMA)
        database.execute("INSERT INTO meta VALUES ('format', ?)", (FORMAT,))
        database.execute("COMMIT")
    row = database.execute("SELECT value FROM meta WHERE name = 'format'").fetchone()
    if row is None or not isinstance(row[0], int):
        raise damaged(directory, "no format version")
    if row[0] > FORMAT:
        raise StoreError(
            f"records in {directory} were written by a newer reassignd (format {row[0]}, this one reads {FORMAT}); "
            "start that version or choose another directory"
        )
    for older in range(row[0], FORMAT):
        database.executescript("BEGIN; " + UPGRADES[older])
        database.execute("UPDATE meta SET value = ? WHERE name = 'format'", (older + 1,))
        database.execute("COMMIT")
