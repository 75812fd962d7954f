"""Records in memory, for tests: what a crash would have left can be asked for, and commits can be held back."""

import asyncio
from collections.abc import Generator, Iterable, Iterator, Sequence

from controller.model import Change, Deleted, Record


class _Done:
    """An awaitable that is done already and needs no event loop."""

    def __await__(self) -> Generator[None, None, None]:
        yield from ()


class MemoryStore:
    """Implements `controller.port.Store`; `commits` is everything durable so far, one entry a commit."""

    def __init__(self, commits: Iterable[Sequence[Change]] = ()) -> None:
        self.commits: list[Sequence[Change]] = list(commits)
        self.failure: Exception | None = None
        """Set it, and commits fail with it from then on, as on a full disk."""
        self._held = False
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
        if self.failure is None and not self._held:
            self.commits.append(changes)
            return _Done()
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self.failure is not None:
            done.set_exception(self.failure)
        else:
            self._waiting.append((changes, done))
        return done

    def hold(self) -> None:
        """From now on commits wait for `release`."""
        self._held = True

    def release(self, count: int) -> None:
        """Make the first `count` commits that wait durable."""
        for changes, done in self._waiting[:count]:
            self.commits.append(changes)
            done.set_result(None)
        del self._waiting[:count]

    def survived(self, count: int) -> "MemoryStore":
        """The store that a crash after the first `count` commits leaves."""
        return MemoryStore(self.commits[:count])
