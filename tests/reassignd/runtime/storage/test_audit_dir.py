"""The audit log of ZooKeeper mode."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from backends.memory import MemoryStore
from backends.sqlite.datadir import StoreError
from backends.sqlite.store import SqliteStore
from backends.zookeeper.session.tree import Delete
from backends.zookeeper.znodes import paths
from common.off_loop import WorkerThread
from controller.machine import decide
from controller.messages.event import Requester
from controller.messages.job_events import Pause
from controller.model.audit import AuditAction, AuditEntry, AuditFilter
from controller.model.cluster import Change, ControllerEpoch, Record
from reassignd.config.errors import CommandError
from reassignd.runtime.storage.audit_dir import AuditDir, AuditedStore
from reassignd.runtime.storage.retention import AuditRetention
from server.audit.trail import AuditTrail
from server.counters import Counters
from server.driver.driver import Driver, DriverStoppedError
from tests.backends.zookeeper.harness import ZookeeperHarness

RETENTION = AuditRetention(2**53, 1_000)
ENTRY = AuditEntry(1, 10, AuditAction.PAUSE, "User:ann", None, 0, "{}")
PAUSE = Pause(None, True, Requester("User:ann", "tool"))


@pytest.fixture
def worker() -> Iterator[WorkerThread]:
    with closing(WorkerThread()) as worker:
        yield worker


def test_entries_outlive_the_process(tmp_path: Path, worker: WorkerThread) -> None:
    async def keep(audit: AuditDir) -> None:
        await audit.audited(MemoryStore()).commit([ControllerEpoch(1), ENTRY])

    with closing(AuditDir(tmp_path / "audit", RETENTION, worker)) as audit:
        asyncio.run(keep(audit))
    with closing(AuditDir(tmp_path / "audit", RETENTION, worker)) as audit:
        assert audit.log.reader.newest(AuditFilter(), 10) == [ENTRY]


def test_a_new_directory_without_entries_is_removed(tmp_path: Path, worker: WorkerThread) -> None:
    AuditDir(tmp_path / "audit", RETENTION, worker).close()
    assert list(tmp_path.iterdir()) == []


def test_directories_of_other_servers_and_clusters_are_refused(tmp_path: Path, worker: WorkerThread) -> None:
    with closing(AuditDir(tmp_path, RETENTION, worker)) as audit:
        audit.claim("")
        audit.claim("one")
        with pytest.raises(CommandError, match=r"zookeeper\.cluster\.id=one, not of two.*another audit\.dir"):
            audit.claim("two")
        with pytest.raises(CommandError, match="in use by process"):
            AuditDir(tmp_path, RETENTION, worker)
    (tmp_path / "meta.properties").write_text("cluster.id=x\nbackend=embedded\n")
    with pytest.raises(CommandError, match="backend=embedded, not of zookeeper"):
        AuditDir(tmp_path, RETENTION, worker)


class FullDisk:
    """A store that cannot write."""

    def load(self) -> Iterator[Record]:
        return iter(())

    def prepare(self, _: Sequence[Change]) -> None:
        pass

    async def commit(self, _: Sequence[Change]) -> None:
        raise StoreError("the disk is full")


async def test_an_entry_that_cannot_be_written_is_in_the_log_lines(
    caplog: pytest.LogCaptureFixture,
) -> None:
    records = MemoryStore()
    await AuditedStore(records, FullDisk()).commit([ControllerEpoch(7), ENTRY])
    assert list(records.load()) == [ControllerEpoch(7)]
    assert "the audit log cannot be written, and lacks AuditEntry(id=1" in caplog.text
    assert "User:ann" in caplog.text


async def test_records_that_are_not_stored_have_no_entry(tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path)) as entries, closing(entries.audit_reader()) as reader:
        with pytest.raises(StoreError):
            await AuditedStore(FullDisk(), entries).commit([ControllerEpoch(7), ENTRY])
        assert reader.span().newest == 0


def driver_of(harness: ZookeeperHarness, audit: AuditDir) -> Driver:
    """Return a driver of the term that keeps the audit log."""
    trail = AuditTrail(harness.state, *audit.log.reader.span()[1:])
    store = audit.audited(harness.zk_store)
    driver = Driver(harness.state, store, trail.audited(decide), stats=Counters(), on_failure=lambda _: None)
    driver.start(harness)
    return driver


async def test_the_entries_of_two_terms_are_in_one_log(tmp_path: Path, worker: WorkerThread) -> None:
    harness = await ZookeeperHarness().start()
    with closing(AuditDir(tmp_path, RETENTION, worker)) as audit:
        for paused in (True, False):
            driver = driver_of(harness, audit)
            await driver.submit(Pause(None, paused, PAUSE.requester))
            await driver.stop()
            harness = await harness.restarted()
        found = audit.log.reader.newest(AuditFilter(), 10)
        assert [(each.id, each.action, each.principal) for each in found] == [
            (2, AuditAction.RESUME, "User:ann"),
            (1, AuditAction.PAUSE, "User:ann"),
        ]
    await harness.stop()


async def test_a_deposed_controller_writes_no_entry(tmp_path: Path, worker: WorkerThread) -> None:
    harness = await ZookeeperHarness().start()
    with closing(AuditDir(tmp_path, RETENTION, worker)) as audit:
        driver = driver_of(harness, audit)
        await harness.tree.multi([Delete(paths.CONTROLLER_EPOCH)])
        with pytest.raises(DriverStoppedError):
            await driver.submit(PAUSE)
        assert audit.log.reader.span().newest == 0
        await driver.stop()
    await harness.stop()
