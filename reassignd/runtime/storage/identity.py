"""The identity of a data directory: its cluster id and backend, in a file beside the records (Kafka: meta.properties)."""

import base64
import uuid
from pathlib import Path

from backends.sqlite.datadir import StoreError
from common.durable_file import replace_file
from reassignd.config import properties
from reassignd.errors import CommandError
from reassignd.runtime.storage.kept_files import IDENTITY, copy_of, keep_files

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
    """Write a property of the cluster that the records belong to; it never changes afterwards. `setting` names the directory.

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
    """Write the properties durably, in place of all others."""
    _write(data_dir / FILE, new)


def refuse_moved(data_dir: Path) -> None:
    """Raise CommandError if the records were moved to a state topic: they are outdated."""
    if topic := values(data_dir).get(MOVED):
        raise CommandError(
            f"the records in {data_dir} were moved to the state topic {topic}: start with state=topic, or move them "
            "back to a new directory with `reassignd state export --data-dir`"
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
