"""The cluster's id, and what its records are about: noted once, beside the records (Kafka: meta.properties)."""

import base64
import uuid
from pathlib import Path

from common.durable_file import replace_file
from reassignd.config import properties
from reassignd.errors import CommandError

FILE = "meta.properties"
KEY = "cluster.id"


def new_id() -> str:
    """Sixteen random bytes as Kafka prints them (org.apache.kafka.common.Uuid)."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


def cluster_id(data_dir: Path) -> str:
    """The id kept in the directory, which we must have locked; a new one when there is none yet.

    Raises CommandError when the file is there but cannot be understood.
    """
    path = data_dir / FILE
    if not path.exists():
        _write(path, {KEY: new_id()})
    values = _read(path)
    if not values.get(KEY):
        raise CommandError(f"{path} has no {KEY}; restore it from a backup, or remove it to get a new id")
    return values[KEY]


def claim(data_dir: Path, key: str, value: str) -> None:
    """Note in the directory what its records are about; for good, since they make no sense to anything else.

    Raises CommandError when they are about something else.
    """
    path = data_dir / FILE
    values = _read(path)
    if values.get(key, value) != value:
        raise CommandError(
            f"the records in {data_dir} are those of {key}={values[key]}, not of {value}; "
            "start with that, or with another data.dir"
        )
    if key not in values:
        _write(path, {**values, key: value})


def _read(path: Path) -> dict[str, str]:
    return {each.key: each.value for each in properties.parse(path.read_text("utf-8"))}


def _write(path: Path, values: dict[str, str]) -> None:
    replace_file(path, "".join(f"{key}={value}\n" for key, value in values.items()))
