"""Copies of the small files of a data directory in its database, so that a backup of the database is a whole one.

The files remain what is read and written; versions before read nothing else. At a start a missing file is restored from
its copy.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from backends.sqlite.datadir import DATABASE, StoreError
from common.durable_file import replace_file
from server.gateway import port_assignments

IDENTITY = "meta.properties"
FILES = (IDENTITY, port_assignments.FILE)

_TABLE = "CREATE TABLE IF NOT EXISTS files (name TEXT PRIMARY KEY, content TEXT NOT NULL) WITHOUT ROWID"


def keep_files(data_dir: Path) -> None:
    """Copy the files that differ from their copies. Blocks for a disk flush if there is one. Raises StoreError."""
    if not (data_dir / DATABASE).exists():
        return
    with _database(data_dir) as database:
        database.execute(_TABLE)
        copies = dict(database.execute("SELECT name, content FROM files"))
        texts = {name: _text(data_dir / name) for name in FILES}
        changed = [(name, text) for name, text in texts.items() if text and text != copies.get(name)]
        if changed:
            database.executemany("INSERT OR REPLACE INTO files VALUES (?, ?)", changed)


def restore_files(data_dir: Path) -> None:
    """Write the files that are missing from their copies. Raises StoreError."""
    for name in FILES:
        if not (data_dir / name).exists() and (text := copy_of(data_dir, name)):
            with _failures(data_dir):
                replace_file(data_dir / name, text)


def copy_of(data_dir: Path, name: str) -> str:
    """Return the copy of a file; empty if there is none. Raises StoreError."""
    if not (data_dir / DATABASE).exists():
        return ""
    with _database(data_dir) as database:
        if not database.execute("SELECT 1 FROM sqlite_schema WHERE name = 'files'").fetchone():
            return ""  # no version that copies files has written it
        row = database.execute("SELECT content FROM files WHERE name = ?", (name,)).fetchone()
    return str(row[0]) if row else ""


@contextmanager
def _database(data_dir: Path) -> Iterator[sqlite3.Connection]:
    with _failures(data_dir), closing(sqlite3.connect(data_dir / DATABASE, isolation_level=None)) as database:
        database.execute("PRAGMA synchronous = FULL")
        yield database


@contextmanager
def _failures(data_dir: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, sqlite3.Error, UnicodeError) as error:
        raise StoreError(
            f"the files in {data_dir} cannot be copied to or from {DATABASE} ({error}); "
            "check their permissions and the space on the disk"
        ) from error


def _text(path: Path) -> str:
    return path.read_text("utf-8") if path.exists() else ""
