"""Files of version 0.1.0 (format 4 of the directory, 1 of the state topic) open and mean the same.

`files_of_0_1` has what that version wrote for `EVERY_KIND` and one entry of the audit log: the SQL of its
database, and the rows of its state topic.
"""

import json
import sqlite3
from pathlib import Path

import pytest

from backends.sqlite.store import SqliteStore
from backends.state_topic.state_rows import decode_records
from controller.model.audit import AuditFilter
from controller.model.disks import DiskMove
from controller.model.held_requests import HeldRequest
from controller.model.jobs import Job
from controller.model.limits import NO_LIMITS
from controller.model.load_hours import LoadHours
from controller.model.tasks import DryRun, UserTask
from tests.backends.records import EVERY_KIND

FILES = Path(__file__).parent / "files_of_0_1"

WRITTEN = {
    each._replace(elects=False, until_ms=0, limits=NO_LIMITS) if isinstance(each, Job) else each
    for each in EVERY_KIND
    if not isinstance(each, UserTask | DryRun | LoadHours | DiskMove | HeldRequest)
}
"""The records without the kinds and the fields that came later; fields have their defaults."""


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    database = sqlite3.connect(tmp_path / "records.db")
    database.executescript((FILES / "records.sql").read_text("utf-8"))
    database.close()
    return tmp_path


def test_a_directory_loads_the_same_records(directory: Path) -> None:
    store = SqliteStore(directory)
    try:
        assert set(store.load()) == WRITTEN
    finally:
        store.close()


def test_a_directory_keeps_its_audit_log(directory: Path) -> None:
    store = SqliteStore(directory)
    reader = store.audit_reader()
    try:
        assert [(entry.id, entry.principal) for entry in reader.oldest(AuditFilter(), 9)] == [
            (1, "User:anna")
        ]
    finally:
        reader.close()
        store.close()


def test_a_state_topic_loads_the_same_records() -> None:
    lines = (FILES / "state_topic.jsonl").read_text("utf-8").splitlines()
    rows = [(key.encode(), value.encode()) for key, value in map(json.loads, lines)]
    assert set(decode_records(rows)) == WRITTEN
