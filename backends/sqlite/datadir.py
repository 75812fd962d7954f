"""The data directory: its lock against a second process, and its database, which is checked before use."""

import fcntl
import logging
import os
import sqlite3
import stat
from pathlib import Path
from typing import IO

from backends.sqlite.audit import AUDIT_SCHEMA
from backends.sqlite.tables import SCHEMA, UPGRADES
from common.durable_file import open_private

log = logging.getLogger(__name__)

OTHERS = stat.S_IRWXG | stat.S_IRWXO

FORMAT = 11
"""Version of the tables. It is incremented by changes that an older reassignd cannot read."""
DATABASE = "records.db"
LOCK = "lock"

_DISK_ERRORS = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY}
"""Errors of the disk or its permissions. They do not mean that the records are damaged."""


class StoreError(Exception):
    """The records cannot be read or written; the message is one line that says what to do."""


def lock(directory: Path) -> IO[str]:
    """Create the directory if needed and lock it. Returns the lock file, which contains the process id.

    The lock is released when the file is closed or the process ends. Raises StoreError if another process
    holds the lock, or the directory cannot be created or written.
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


def open_database(directory: Path) -> sqlite3.Connection:
    """Connect to the directory's database of records.

    Creates its tables, or converts those of an older version.

    Raises StoreError if the database is damaged, belongs to another program, or was written by a newer
    reassignd.
    """
    path = directory / DATABASE
    wal = directory / f"{DATABASE}-wal"
    for file in (path, wal, directory / f"{DATABASE}-shm"):
        if file.is_symlink():
            raise StoreError(f"{file} is a symbolic link; put the file there, or link the whole directory")
    if not _size(path) and _size(wal):
        raise damaged(directory, f"{DATABASE} is missing or empty but its log is there")
    try:
        if not path.exists():
            # SQLite gives its log and its index the mode of the database. An existing file is never opened
            # here: closing it would release the locks that SQLite holds on it.
            os.close(open_private(path, os.O_WRONLY | os.O_EXCL))
        # Transactions begin and end explicitly. The writer is another thread than the one that opens the
        # database.
        database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    except (OSError, sqlite3.Error) as error:
        raise StoreError(f"{path} cannot be opened ({error}); check its permissions") from error
    try:
        _prepare(database, directory)
    except sqlite3.Error as error:
        database.close()
        raise _failed(directory, error) from error
    except BaseException:
        database.close()
        raise
    return database


def check_database(database: sqlite3.Connection, directory: Path) -> None:
    """Read all pages of the database; about a second for 500 MB. Raises StoreError if it is damaged.

    A page of old records or of the audit log would otherwise be noticed only when a commit needs it.
    """
    try:
        (found,) = database.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.Error as error:
        raise _failed(directory, error) from error
    if found != "ok":
        raise damaged(directory, " ".join(str(found).split()))


def damaged(directory: Path, why: object) -> StoreError:
    """The error for records that cannot be read."""
    return StoreError(
        f"records in {directory} are damaged ({why}); restore the directory from a backup, "
        "or move it away to begin with an empty cluster"
    )


def _failed(directory: Path, error: sqlite3.Error) -> StoreError:
    if error.sqlite_errorcode & 0xFF in _DISK_ERRORS:
        path = directory / DATABASE
        return StoreError(
            f"{path} cannot be opened ({error}); check its permissions and the space on its disk"
        )
    return damaged(directory, error)


def _warn_if_open(directory: Path) -> None:
    """Log a warning if others can enter the directory.

    Its mode is not changed: a backup may need to read it.
    """
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
    # The log is flushed at each commit: acknowledged requests survive a power failure.
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
            f"records in {directory} were written by a newer reassignd (format {row[0]}, this one reads"
            f" {FORMAT}); start that version or choose another directory"
        )
    for version in range(row[0], FORMAT):
        database.executescript("BEGIN; " + UPGRADES[version])
        database.execute("UPDATE meta SET value = ? WHERE name = 'format'", (version + 1,))
        database.execute("COMMIT")
    database.executescript(AUDIT_SCHEMA)
