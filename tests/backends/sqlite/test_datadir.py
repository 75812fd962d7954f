import os
import resource
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from backends.sqlite.datadir import FORMAT, StoreError, check_database, lock, open_database
from backends.sqlite.tables import TABLES
from common.durable_file import replace_file
from controller.model.cluster import Job, JobKind, UpstreamStep
from controller.model.upstream_step import Stage


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """The database file of a directory that was used and closed."""
    open_database(tmp_path).close()
    return tmp_path / "records.db"


@contextmanager
def full_disk() -> Iterator[None]:
    """No file can grow meanwhile."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_is_not_reported_as_damage(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"cannot be used \(File too large\); choose another"), full_disk():
        lock(tmp_path)
    with (
        pytest.raises(StoreError, match=r"records.db cannot be opened \(.*the space on its disk"),
        full_disk(),
    ):
        open_database(tmp_path)


def test_the_directory_is_created_with_its_parents(tmp_path: Path) -> None:
    lock(tmp_path / "a" / "b").close()
    assert (tmp_path / "a" / "b").is_dir()


def test_the_error_for_a_locked_directory_names_the_process(tmp_path: Path) -> None:
    with (
        closing(lock(tmp_path)),
        pytest.raises(StoreError, match=f"{tmp_path} is in use by process {os.getpid()};"),
    ):
        lock(tmp_path)


def test_a_lock_is_released_when_its_process_ends(tmp_path: Path) -> None:
    lock(tmp_path).close()
    lock(tmp_path).close()


def test_a_directory_that_cannot_be_created_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"file/data cannot be used \(Not a directory\); choose another"):
        lock(tmp_path / "file" / "data")


def test_commits_are_flushed_to_disk_by_a_write_ahead_log(written: Path) -> None:
    with closing(open_database(written.parent)) as database:
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert database.execute("PRAGMA synchronous").fetchone() == (2,)


def test_a_newer_format_is_refused_and_not_changed(written: Path) -> None:
    with closing(sqlite3.connect(written)) as database, database:
        database.execute("UPDATE meta SET value = 99")
    before = written.read_bytes()
    with pytest.raises(
        StoreError, match=r"newer reassignd \(format 99, this one reads \d+\); start that version"
    ):
        open_database(written.parent)
    assert written.read_bytes() == before


def without_acls(database: sqlite3.Connection) -> None:
    """Remove the tables that format 4 has added, and what later ones have."""
    database.execute("DROP TABLE acls")
    database.execute("DROP TABLE scram_credentials")
    without_elections(database)


def without_elections(database: sqlite3.Connection) -> None:
    """Remove the columns that format 5 has added."""
    database.execute("ALTER TABLE jobs DROP COLUMN elects")
    database.execute("ALTER TABLE jobs DROP COLUMN until_ms")
    without_job_limits(database)


def without_job_limits(database: sqlite3.Connection) -> None:
    """Remove the column that format 6 has added, and what later ones have."""
    database.execute("ALTER TABLE jobs DROP COLUMN limits")
    without_user_tasks(database)


def without_user_tasks(database: sqlite3.Connection) -> None:
    """Remove the table that format 7 has added, and what later ones have."""
    database.execute("DROP TABLE user_tasks")
    without_dry_runs(database)


def without_dry_runs(database: sqlite3.Connection) -> None:
    """Remove the table that format 8 has added, and what later ones have."""
    database.execute("DROP TABLE dry_runs")
    without_load_hours(database)


def without_load_hours(database: sqlite3.Connection) -> None:
    """Remove the table that format 9 has added, and what later ones have."""
    database.execute("DROP TABLE load_hours")
    database.execute("DROP TABLE disk_moves")
    without_held_requests(database)


def without_held_requests(database: sqlite3.Connection) -> None:
    """Remove the table that format 11 has added."""
    database.execute("DROP TABLE held_requests")


def test_a_job_of_format_4_elects_nothing(written: Path) -> None:
    with closing(sqlite3.connect(written)) as database, database:
        database.execute("UPDATE meta SET value = 4")
        without_elections(database)
        database.execute("INSERT INTO jobs VALUES (7, 'plan', 1, 'User:ann', NULL, 1, 0, 0, 0, 0, 0)")
    with closing(open_database(written.parent)) as database:
        assert list(TABLES[Job].load(database)) == [Job(7, JobKind.PLAN, 1, "User:ann", None, 1)]


def test_a_job_of_format_5_has_no_limits_of_its_own(written: Path) -> None:
    with closing(sqlite3.connect(written)) as database, database:
        database.execute("UPDATE meta SET value = 5")
        without_job_limits(database)
        database.execute("INSERT INTO jobs VALUES (7, 'plan', 1, 'User:ann', NULL, 1, 0, 0, 0, 0, 9, 1, 5)")
    with closing(open_database(written.parent)) as database:
        expected = Job(7, JobKind.PLAN, 1, "User:ann", None, 1, throttle=9, elects=True, until_ms=5)
        assert list(TABLES[Job].load(database)) == [expected]


def test_an_older_format_is_converted(written: Path) -> None:
    with closing(sqlite3.connect(written)) as database, database:
        database.execute("UPDATE meta SET value = 1")
        database.execute("DROP TABLE submissions")
        database.execute("ALTER TABLE reassignments DROP COLUMN blocked")
        without_acls(database)
    with closing(open_database(written.parent)) as database:
        assert database.execute("SELECT blocked FROM reassignments").fetchall() == []
        assert database.execute("SELECT * FROM submissions").fetchall() == []
        assert database.execute("SELECT * FROM acls, scram_credentials").fetchall() == []
        assert database.execute("SELECT value FROM meta").fetchone() == (FORMAT,)


def test_a_step_of_the_format_before_is_read_without_a_leader_epoch(written: Path) -> None:
    with closing(sqlite3.connect(written)) as database, database:
        database.execute("UPDATE meta SET value = 2")
        database.execute("ALTER TABLE submissions DROP COLUMN epoch")
        without_acls(database)
        database.execute("INSERT INTO submissions VALUES ('foo', 0, '1', '1,2', 'undoing', '')")
    with closing(open_database(written.parent)) as database:
        assert list(TABLES[UpstreamStep].load(database)) == [
            UpstreamStep("foo", 0, (1,), (1, 2), Stage.UNDOING)
        ]


@pytest.mark.parametrize(
    ("written_as", "stage"),
    [
        ("submitting", Stage.SUBMITTING),
        ("active", Stage.ACTIVE),
        ("undoing", Stage.UNDOING),
        ("arrived", Stage.ENDED),
        ("at", Stage.SETTLED),
    ],
)
def test_the_stage_of_a_step_has_the_same_name_on_disk_as_ever(
    written: Path, written_as: str, stage: Stage
) -> None:
    step, table = UpstreamStep("foo", 0, (1,), (2,), stage), TABLES[UpstreamStep]
    with closing(open_database(written.parent)) as database, database:
        table.upsert(database, [step])
        assert database.execute("SELECT stage FROM submissions").fetchall() == [(written_as,)]
        assert list(table.load(database)) == [step]


def test_a_cancel_that_an_earlier_version_has_confirmed_is_read_as_not_confirmed(written: Path) -> None:
    with closing(open_database(written.parent)) as database, database:
        database.execute("INSERT INTO submissions VALUES ('foo', 0, '1', '2', 'taken_back', '', 5)")
        assert list(TABLES[UpstreamStep].load(database)) == [
            UpstreamStep("foo", 0, (1,), (2,), Stage.UNDOING, (), 5)
        ]


@pytest.mark.parametrize("stage", ["submitting", "active"])
def test_a_step_that_an_earlier_version_has_replaced_is_read_as_being_undone(
    written: Path, stage: str
) -> None:
    with closing(open_database(written.parent)) as database, database:
        row = ("foo", 0, "1,2", "3,1", stage, "3,6", 5)
        database.execute("INSERT INTO submissions VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        assert list(TABLES[UpstreamStep].load(database)) == [
            UpstreamStep("foo", 0, (1, 2), (3, 1), Stage.UNDOING, (3, 6), 5)
        ]


def test_a_file_that_is_not_a_database_is_refused_and_not_changed(written: Path) -> None:
    written.write_bytes(b"not a database" * 1000)
    with pytest.raises(StoreError, match=r"are damaged \(file is not a database\); restore"):
        open_database(written.parent)
    assert written.read_bytes() == b"not a database" * 1000


def test_a_truncated_file_is_refused(written: Path) -> None:
    written.write_bytes(written.read_bytes()[:5000])
    with pytest.raises(StoreError, match="are damaged"):
        open_database(written.parent)


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "records.db")) as database:
        database.execute("CREATE TABLE theirs (x)")
    with pytest.raises(StoreError, match="was not written by reassignd"):
        open_database(tmp_path)


def test_a_database_without_format_is_refused(written: Path) -> None:
    with closing(sqlite3.connect(written)) as database, database:
        database.execute("DELETE FROM meta")
    with pytest.raises(StoreError, match="no format version"):
        open_database(written.parent)


def test_a_missing_database_with_a_log_is_not_created_again(written: Path) -> None:
    written.unlink()
    written.with_name("records.db-wal").write_bytes(b"what was committed last")
    with pytest.raises(StoreError, match="missing or empty but its log is there"):
        open_database(written.parent)


def test_a_path_that_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    (tmp_path / "records.db").mkdir()
    with pytest.raises(StoreError, match="cannot be opened"):
        open_database(tmp_path)


def test_an_interrupted_creation_is_repeated(tmp_path: Path) -> None:
    (tmp_path / "records.db").touch()
    open_database(tmp_path).close()


def modes(directory: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mode & 0o777 for path in [directory, *directory.iterdir()]}


def test_files_are_readable_for_their_owner_only(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        directory = tmp_path / "data"
        with closing(lock(directory)), closing(open_database(directory)) as database:
            database.execute("INSERT INTO meta VALUES ('test', 1)")
            replace_file(directory / "meta.properties", "a=b")
            found = modes(directory)
    finally:
        os.umask(before)
    files = {"lock", "records.db", "records.db-wal", "records.db-shm", "meta.properties"}
    assert found == {"data": 0o700} | dict.fromkeys(files, 0o600)


def test_a_directory_that_others_can_enter_is_logged_and_not_changed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tmp_path.chmod(0o750)
    lock(tmp_path).close()
    assert (
        f"others can enter the data directory {tmp_path}; `chmod -R go= {tmp_path}` closes it" in caplog.text
    )
    assert tmp_path.stat().st_mode & 0o777 == 0o750


@pytest.mark.parametrize("name", ["records.db", "records.db-wal", "records.db-shm"])
def test_records_behind_a_symbolic_link_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match=f"{name} is a symbolic link"):
        open_database(tmp_path)
    assert not (tmp_path / "elsewhere").exists()


def test_symbolic_links_are_not_followed(tmp_path: Path) -> None:
    for name in ("lock", "meta.new"):
        (tmp_path / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="symbolic links"):
        lock(tmp_path)
    replace_file(tmp_path / "meta.properties", "a=b")
    assert (tmp_path / "meta.properties").read_text() == "a=b"
    assert not (tmp_path / "elsewhere").exists()


def test_a_damaged_page_that_a_start_would_not_read_is_found(written: Path) -> None:
    with closing(sqlite3.connect(written)) as database, database:
        rows = ((number, 0, "order", "User:ann", "me", 0, "{}" + 100 * " ") for number in range(2_000))
        database.executemany("INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    size = written.stat().st_size
    with written.open("r+b") as file:
        file.seek(size // 2 // 4096 * 4096)
        file.write(bytes(4096))
    with closing(open_database(written.parent)) as opened, pytest.raises(StoreError, match="are damaged"):
        check_database(opened, written.parent)


def test_a_sound_database_passes_the_check(written: Path) -> None:
    with closing(open_database(written.parent)) as opened:
        check_database(opened, written.parent)
