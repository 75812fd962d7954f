"""The runtimes that keep their records in the data directory: their base, and that of embedded mode."""

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol

from backends.sqlite.datadir import StoreError
from common.address import Address
from common.off_loop import WorkerThread
from common.zones import host_zone
from controller.modes import EMBEDDED
from controller.ports import Store
from controller.state.settings import SettingsState
from controller.state.state import State
from reassignd.config.settings import Settings
from reassignd.runtime.assembly import Assembly
from reassignd.runtime.background import ProcessParts
from reassignd.runtime.embedded_cluster import ServedEmbedded, embedded_defaults
from reassignd.runtime.runtime import HttpContent, Publish
from reassignd.runtime.served_cluster import Hooks, ServedCluster
from reassignd.runtime.storage.identity import claim, cluster_id
from reassignd.runtime.storage.records import is_fresh, is_worthless, load, open_store, remove
from reassignd.runtime.storage.retention import AuditStore, audit_retention
from reassignd.tracing.setting import open_traces
from server.counters import Counters
from server.driver.driver import DriverStoppedError


class ListeningCluster(ServedCluster, Protocol):
    """A cluster that opens the listeners for clients itself."""

    @property
    def addresses(self) -> Sequence[Address]:
        """Where clients connect, once it has started."""
        ...


class DataDirRuntime(ABC):
    """Loads the records, and serves one assembly until the process ends. Implements `Runtime`.

    Creating it locks the data directory. Raises CommandError when that is in use or damaged.
    """

    kind: str

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._fresh = is_fresh(settings.data_dir)
        self._store = open_store(settings.data_dir)
        self._audit_reader, off_loop = self._store.audit_reader(), WorkerThread()
        audit = AuditStore(self._store, self._audit_reader, off_loop, audit_retention(settings))
        self._parts = ProcessParts(off_loop, Counters(), audit, traces=open_traces(settings))
        self._assembly: Assembly | None = None
        self._served: ListeningCluster

    @property
    def addresses(self) -> Sequence[Address]:
        """See `Runtime.addresses`."""
        return self._served.addresses

    @property
    def records_place(self) -> str:
        """The data directory."""
        return f"data in {self._settings.data_dir.absolute()}"

    async def start(self, publish: Publish) -> None:
        """Load the records, and serve them."""
        settings = self._settings
        publish(HttpContent("records are being loaded"))
        identity = cluster_id(settings.data_dir)
        claim(settings.data_dir, "backend", settings.backend)
        state = self._new_state()
        await load(self._store, state)

        def build(hooks: Hooks) -> ServedCluster:
            self._served = self._new_cluster(state, hooks)
            return self._served

        def show_obstacle(text: str) -> None:
            publish(HttpContent(text))

        records = self._own_records(self._store)
        assembly = Assembly(
            settings, state, records, identity, build, self._parts, show_obstacle=show_obstacle
        )
        try:
            await assembly.start()
            self._assembly = assembly
        except DriverStoppedError:
            raise (await assembly.failure).command_error() from None
        publish(assembly.http_content)

    async def wait_for_failure(self) -> None:
        """See `Runtime.wait_for_failure`."""
        if self._assembly is not None:
            raise (await self._assembly.failure).command_error()

    async def stop(self) -> None:
        """See `Runtime.stop`."""
        if self._assembly is not None:
            await self._assembly.stop()

    def close(self) -> None:
        """Unlock the data directory; remove it if this start has created it and has failed."""
        self._parts.close()
        failed = self._fresh and self._assembly is None and self._holds_nothing()
        self._audit_reader.close()
        self._store.close()
        if failed:
            remove(self._settings.data_dir)

    def _holds_nothing(self) -> bool:
        """Return whether no client can miss the records: a port may have been open for a moment."""
        try:
            return not self._audit_reader.span().newest and is_worthless(self._store.load())
        except (StoreError, sqlite3.Error):
            return False

    def abort(self) -> None:  # noqa: B027 (not every runtime has something to give up)
        """Do nothing: what was acknowledged is on disk."""

    @abstractmethod
    def _new_state(self) -> State: ...

    @abstractmethod
    def _new_cluster(self, state: State, hooks: Hooks) -> ListeningCluster: ...

    def _own_records(self, store: Store) -> Store:
        """Return the store that the driver commits to."""
        return store


class EmbeddedRuntime(DataDirRuntime):
    """Implements `Runtime` for embedded mode. See `ServedEmbedded` for `demo_topics`."""

    kind = "brokers"

    def __init__(self, settings: Settings, *, demo_topics: bool) -> None:
        super().__init__(settings)
        self._demo_topics = demo_topics

    def _new_state(self) -> State:
        return State(
            EMBEDDED, settings=SettingsState(host_zone, config_defaults=embedded_defaults(self._settings))
        )

    def _new_cluster(self, state: State, hooks: Hooks) -> ServedEmbedded:
        return ServedEmbedded(self._settings, state, hooks, demo_topics=self._demo_topics)
