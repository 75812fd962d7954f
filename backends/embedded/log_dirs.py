"""The log directories of an embedded broker: the replicas in them, failed disks, and moves between directories (KIP-113).

A replica has a log in one directory. While it moves it has a second log in another one, the future log, which replaces the
first when it has caught up.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from backends.embedded.replication import Log
from controller.model.cluster import TopicPartition

SERVED = 64
"""Future logs that are copied to in one tick."""


class FutureLog(NamedTuple):
    """The log of a replica that moves to another directory."""

    path: str
    log: Log


class LogDirs:
    """Log directories, in the configured order. `placed` has the logs by directory."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.placed: dict[str, dict[TopicPartition, Log]] = {path: {} for path in paths}
        self.failed: set[str] = set()
        self._wanted: dict[TopicPartition, str] = {}
        """Directories for replicas that do not exist yet."""
        self._futures: OrderedDict[TopicPartition, FutureLog] = OrderedDict()

    def find(self, key: TopicPartition) -> str | None:
        """Return the directory of the replica, even if its disk has failed; None if there is no replica."""
        return next((path for path, logs in self.placed.items() if key in logs), None)

    def log(self, key: TopicPartition) -> Log | None:
        """Return the replica's log; None if there is none, or its disk has failed."""
        path = self.find(key)
        return None if path is None or path in self.failed else self.placed[path][key]

    def create(self, key: TopicPartition, *, new: bool) -> Log | None:
        """Create a log in the wanted directory, or in the one with the fewest logs.

        Return None when no disk works. Return None also when a disk has failed that may contain the replica; a `new`
        replica is on no disk.
        """
        working = [path for path in self.placed if path not in self.failed]
        if not working or (self.failed and not new):
            return None
        wanted = self._wanted.pop(key, "")
        path = wanted if wanted in working else min(working, key=lambda path: len(self.placed[path]))
        return self.placed[path].setdefault(key, Log())

    def delete(self, key: TopicPartition) -> None:
        """Delete the replica and its future log."""
        self._futures.pop(key, None)
        for logs in self.placed.values():
            logs.pop(key, None)

    def fail(self, path: str) -> list[TopicPartition]:
        """Mark the disk as failed; return its replicas."""
        self.failed.add(path)
        for key in [key for key, future in self._futures.items() if future.path == path]:
            del self._futures[key]
        return list(self.placed[path])

    def replace_failed(self) -> None:
        """Replace failed disks by empty ones."""
        for path in self.failed:
            self.placed[path].clear()
        self.failed.clear()

    def want(self, key: TopicPartition, path: str) -> bool:
        """Start to move the replica to this directory, or create it there later; return whether it exists.

        A move to this directory continues, one to another ends.
        """
        current, future = self.find(key), self._futures.get(key)
        if future is not None and future.path != path:
            del self._futures[key]
        if current is None:
            self._wanted[key] = path
        elif current != path and key not in self._futures:
            self._futures[key] = FutureLog(path, Log(0.0))
        return current is not None

    def futures(self) -> Iterator[tuple[TopicPartition, FutureLog]]:
        """Yield the future logs."""
        yield from self._futures.items()

    def tick(self, budget: float, size: Callable[[TopicPartition, Log], float]) -> None:
        """Copy up to `budget` bytes to future logs; `size` returns the bytes in a log."""
        served = list(islice(self._futures.items(), SERVED))
        for index, (key, future) in enumerate(served):
            self._futures.move_to_end(key)
            current = self.log(key)
            if current is None:
                continue
            behind = size(key, current) - (future.log.position or 0.0)
            moved = min(max(behind, 0.0), budget / (len(served) - index))
            future.log.position = (future.log.position or 0.0) + moved
            budget -= moved
            if moved >= behind - 1e-6:
                self._replace_log(key, future.path, current)

    def _replace_log(self, key: TopicPartition, path: str, log: Log) -> None:
        self.delete(key)
        self.placed[path][key] = log
