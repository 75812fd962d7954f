"""The identity of a data directory.

Its cluster id and backend, in a file beside the records (Kafka: meta.properties).

The database has copies of this file and the other small ones, so that a backup of the database is complete.
The files remain what is read and written; versions before read nothing else. At a start a missing file is
restored from its copy.
"""

import base64
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from backends.sqlite.datadir import DATABASE, StoreError
from common.durable_file import replace_file
from reassignd.config import properties
from reassignd.config.errors import CommandError
from server.gateway import port_assignments

IDENTITY = "meta.properties"
FILES = (IDENTITY, port_assignments.FILE)

_TABLE = "CREATE TABLE IF NOT EXISTS files (name TEXT PRIMARY KEY, content TEXT NOT NULL) WITHOUT ROWID"


def keep_files(data_dir: Path) -> None:
    """Copy the files that differ from their copies.

    Blocks for a disk flush if there is one. Raises StoreError.
    """
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


FILE = IDENTITY
KEY = "cluster.id"
BACKEND, UPSTREAM_ID = "backend", "upstream.cluster.id"
MOVED = "moved.to.state.topic"
"""The state topic that has the newer records."""


def new_id() -> str:
    """Return sixteen random bytes as text, in the form of Kafka's `Uuid`."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


def cluster_id(data_dir: Path) -> str:
    """Return the cluster id in the directory; write a new one if there is none. The directory must be locked.

    Raises CommandError for a file without an id.
    """
    path = data_dir / FILE
    if not path.exists():
        _write(path, {KEY: new_id()})
    values = _read(path)
    if not values.get(KEY):
        raise CommandError(f"{path} has no {KEY}; restore it from a backup, or remove it to get a new id")
    return values[KEY]


def claim(data_dir: Path, key: str, value: str, setting: str = "data.dir") -> None:
    """Write a property of the cluster that the records belong to; it never changes afterwards.

    `setting` names the directory.

    Raises CommandError if the file has another value: records of one cluster have no meaning for another one.
    """
    path = data_dir / FILE
    values = _read(path)
    if values.get(key, value) != value:
        raise CommandError(
            f"the records in {data_dir} are those of {key}={values[key]}, not of {value}; "
            f"start with that, or with another {setting}"
        )
    if key not in values:
        _write(path, {**values, key: value})


def values(data_dir: Path) -> dict[str, str]:
    """Return the properties; empty without the file and without its copy in the database."""
    path = data_dir / FILE
    if path.exists():
        return _read(path)
    try:
        copied = copy_of(data_dir, FILE)
    except StoreError as error:
        raise CommandError(str(error)) from error
    return {entry.key: entry.value for entry in properties.parse(copied, path)}


def write_values(data_dir: Path, new: dict[str, str]) -> None:
    """Write the properties durably; they replace all others."""
    _write(data_dir / FILE, new)


def refuse_moved(data_dir: Path) -> None:
    """Raise CommandError if the records were moved to a state topic: they are outdated."""
    if topic := values(data_dir).get(MOVED):
        raise CommandError(
            f"the records in {data_dir} were moved to the state topic {topic}: start with state=topic, or"
            " move them back to a new directory with `reassignd state export --data-dir`"
        )


def _read(path: Path) -> dict[str, str]:
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeError) as error:
        raise CommandError(f"{path} cannot be read ({error}); restore it from a backup") from error
    return {entry.key: entry.value for entry in properties.parse(text, path)}


def _write(path: Path, values: dict[str, str]) -> None:
    try:
        replace_file(path, "".join(f"{key}={value}\n" for key, value in values.items()))
        keep_files(path.parent)
    except OSError as error:
        raise CommandError(f"{path} cannot be written ({error}); free disk space or mend the disk") from error
    except StoreError as error:
        raise CommandError(str(error)) from error
