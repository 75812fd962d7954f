"""The cluster's id: made once, kept beside the records (Kafka: meta.properties)."""

import base64
import os
import uuid
from pathlib import Path

from reassignd import properties
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
        _write(path, new_id())
    values = {each.key: each.value for each in properties.parse(path.read_text("utf-8"))}
    if not values.get(KEY):
        raise CommandError(f"{path} has no {KEY}; restore it from a backup, or remove it to get a new id")
    return values[KEY]


def _write(path: Path, value: str) -> None:
    """Whole or not at all, whenever the power fails."""
    draft = path.with_suffix(".new")
    with draft.open("w", encoding="utf-8") as file:
        file.write(f"{KEY}={value}\n")
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
