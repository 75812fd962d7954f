"""Records in memory, for tests: what a crash would have left can be asked for, and commits can be held back."""

import asyncio
from collections.abc import Generator, Iterable, Iterator, Sequence

from controller.model.cluster import Change, Deleted, Record


class _Done:
    """An awaitable that is done already and needs no event loop."""

    def __await__(self) -> Generator[None, None, None]:
        yield from ()


class MemoryStore:
    """Implements `controller.ports.Store`; `commits` is everything durable so far, one entry a commit."""

    def __init__(self, commits: Iterable[Sequence[Change]] = ()) -> None:
        self.commits: list[Sequence[Change]] = list(commits)
        self.failure: Exception | None = None
        """Set it, and commits fail with it from then on, as on a full disk."""
        self._most: int | None = None
        """How many commits are made durable before the others wait."""
        self._waiting: list[tuple[Sequence[Change], asyncio.Future[None]]] = []

    def load(self) -> Iterator[Record]:
        """All records, in the order that `Store.load` promises."""
        tables: dict[type[Record], dict[object, Record]] = {kind: {} for kind in Record.__args__}
        for change in (change for commit in self.commits for change in commit):
            if isinstance(change, Deleted):
                del tables[change.kind][change.key]
            else:
                tables[type(change)][change.key] = change
        for table in tables.values():
            yield from table.values()

    def commit(self, changes: Sequence[Change]) -> asyncio.Future[None] | _Done:
        """Keep the changes, at once unless commits are held back."""
        if self.failure is None and (self._most is None or len(self.commits) < self._most):
            self.commits.append(changes)
            return _Done()
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self.failure is not None:
            done.set_exception(self.failure)
        else:
            self._waiting.append((changes, done))
        return done

    def hold(self, after: int = 0) -> None:
        """From now on, or once there are so many, commits wait for `release`."""
        self._most = after

    def release(self, count: int | None = None) -> None:
        """Make the first `count` commits that wait durable; None: all, and later ones at once again."""
        if count is None:
            self._most = None
        released = self._waiting[:count]
        del self._waiting[: len(released)]
        for changes, done in released:
            self.commits.append(changes)
            done.set_result(None)

    def survived(self, count: int) -> "MemoryStore":
        """The store that a crash after the first `count` commits leaves."""
        return MemoryStore(self.commits[:count])
