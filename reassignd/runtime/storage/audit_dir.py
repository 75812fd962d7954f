"""The audit log of ZooKeeper mode: a directory of this process. The records of its terms are in ZooKeeper."""

import logging
import sqlite3
from collections.abc import Awaitable, Iterable, Sequence
from pathlib import Path

from backends.sqlite.datadir import StoreError
from common.off_loop import WorkerThread
from controller.model.audit import AuditEntry
from controller.model.cluster import Change, Record
from controller.ports import Store
from reassignd.runtime.storage.identity import claim, cluster_id
from reassignd.runtime.storage.records import open_store, remove
from reassignd.runtime.storage.retention import AuditRetention, AuditStore

log = logging.getLogger(__name__)

SETTING = "audit.dir"


class AuditDir:
    """Keeps the audit log for the life of the process, which may have several terms.

    Creating it locks the directory. Raises CommandError when that is in use, damaged, or of another kind of
    server.
    """

    def __init__(self, directory: Path, retention: AuditRetention, off_loop: WorkerThread) -> None:
        self._directory = directory
        self._created = not directory.exists()
        self._store = open_store(directory, recovers=True)
        self._reader = self._store.audit_reader()
        self.log = AuditStore(self._store, self._reader, off_loop, retention)
        try:
            cluster_id(directory)
            claim(directory, "backend", "zookeeper", SETTING)
        except BaseException:
            self.close()
            raise

    def claim(self, cluster: str) -> None:
        """Note the id of the cluster, which has one once it had a broker.

        Raises CommandError if it is another one.
        """
        if cluster:
            claim(self._directory, "zookeeper.cluster.id", cluster, SETTING)

    def audited(self, records: Store) -> Store:
        """Return a store that writes records as `records` does, and entries of the audit log here."""
        return AuditedStore(records, self._store)

    def close(self) -> None:
        """Release the directory. Remove it if this process has created it and it has no entries."""
        try:
            empty = self._created and not self._reader.span().newest
        except sqlite3.Error:
            empty = False
        self._reader.close()
        self._store.close()
        if empty:
            remove(self._directory)


class AuditedStore:
    """Implements `controller.ports.Store` with two stores: one for records, one for the audit log.

    An entry is written after the records of its decision, so it is about an order that is durable, and before
    the response. If it cannot be written, the log lines have it, and the controller goes on: a full disk of
    one machine should not end the controller of a cluster.
    """

    def __init__(self, records: Store, entries: Store) -> None:
        self._records, self._entries = records, entries

    def load(self) -> Iterable[Record]:
        """See `Store.load`."""
        return self._records.load()

    def prepare(self, changes: Sequence[Change]) -> None:
        """See `Store.prepare`. Nothing is written before the commit."""

    def commit(self, changes: Sequence[Change]) -> Awaitable[None]:
        """See `Store.commit`. The entry of a decision is its last change."""
        entry = changes[-1] if changes else None
        if not isinstance(entry, AuditEntry):
            return self._records.commit(changes)
        return self._with_entry(self._records.commit(changes[:-1]), entry)

    async def _with_entry(self, stored: Awaitable[None], entry: AuditEntry) -> None:
        await stored
        try:
            await self._entries.commit([entry])
        except (StoreError, ArithmeticError, TypeError, ValueError) as error:
            log.error("the audit log cannot be written, and lacks %s: %s", entry, error)
