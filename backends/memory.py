"""A store in memory, for tests.

Commits can be delayed; a store with the first ones is what a crash leaves.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence

from controller.model.audit import AuditEntry, AuditTrim
from controller.model.cluster import Change, Deleted, Record


class MemoryStore:
    """Implements `controller.ports.Store`. `commits` contains all durable changes, one entry per commit."""

    def __init__(self, commits: Iterable[Sequence[Change]] = ()) -> None:
        self.commits: list[Sequence[Change]] = list(commits)
        self.failure: Exception | None = None
        """If set, all later commits fail with this error, as on a full disk."""
        self._limit: int | None = None
        """Number of commits after which later ones wait for `release`; None for no limit."""
        self._waiting: list[tuple[Sequence[Change], asyncio.Future[None]]] = []

    def load(self) -> Iterator[Record]:
        """Return all records in the order of `Store.load`."""
        tables: dict[type[Record], dict[object, Record]] = {kind: {} for kind in Record.__args__}
        for change in (change for commit in self.commits for change in commit):
            if isinstance(change, Deleted):
                del tables[change.kind][change.key]
            elif not isinstance(change, AuditEntry | AuditTrim):
                tables[type(change)][change.key] = change
        for table in tables.values():
            yield from table.values()

    def prepare(self, changes: Sequence[Change]) -> None:
        """See `Store.prepare`. Nothing is written before the commit."""

    def commit(self, changes: Sequence[Change]) -> asyncio.Future[None]:
        """Make the changes durable: at once, or on `release` after the limit of `hold`."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self.failure is not None:
            done.set_exception(self.failure)
        elif self._limit is None or len(self.commits) < self._limit:
            self.commits.append(changes)
            done.set_result(None)
        else:
            self._waiting.append((changes, done))
        return done

    def hold(self, after: int = 0) -> None:
        """Let commits wait for `release` as soon as `after` commits are durable."""
        self._limit = after

    def release(self, count: int | None = None) -> None:
        """Make the first `count` waiting commits durable; None: all, and later ones without waiting."""
        if count is None:
            self._limit = None
        released = self._waiting[:count]
        del self._waiting[: len(released)]
        for changes, done in released:
            self.commits.append(changes)
            done.set_result(None)
