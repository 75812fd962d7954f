"""The log directories of one embedded broker: where replicas lie, which disks have failed, moves between them (KIP-113).

A partition's replica lies in one directory; while it moves it has a second, future log in another, which takes the
first one's place when it has caught up.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from backends.embedded.replication import Log
from controller.model.cluster import TopicPartition

SERVED = 64
"""Future logs that are copied in one tick."""


class Future(NamedTuple):
    """A log on its way to another directory."""

    path: str
    log: Log


class LogDirs:
    """Directories by path, in the order in which they were configured."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.placed: dict[str, dict[TopicPartition, Log]] = {path: {} for path in paths}
        self.failed: set[str] = set()
        self._wanted: dict[TopicPartition, str] = {}
        self._futures: OrderedDict[TopicPartition, Future] = OrderedDict()

    def find(self, key: TopicPartition) -> str | None:
        """The directory that holds the replica, failed or not."""
        return next((path for path, logs in self.placed.items() if key in logs), None)

    def log(self, key: TopicPartition) -> Log | None:
        """The replica's log, unless it is not there or its disk has failed."""
        path = self.find(key)
        return None if path is None or path in self.failed else self.placed[path][key]

    def create(self, key: TopicPartition, *, new: bool) -> Log | None:
        """A log in the directory that was asked for, else in the emptiest one.

        None when no disk works, and when a disk has failed that may hold this replica already (`new` says it cannot).
        """
        working = [path for path in self.placed if path not in self.failed]
        if not working or (self.failed and not new):
            return None
        wanted = self._wanted.pop(key, "")
        path = wanted if wanted in working else min(working, key=lambda path: len(self.placed[path]))
        return self.placed[path].setdefault(key, Log())

    def delete(self, key: TopicPartition) -> None:
        """Forget the replica and its future log."""
        self._futures.pop(key, None)
        for logs in self.placed.values():
            logs.pop(key, None)

    def fail(self, path: str) -> list[TopicPartition]:
        """The disk fails; these replicas were on it."""
        self.failed.add(path)
        for key in [key for key, future in self._futures.items() if future.path == path]:
            del self._futures[key]
        return list(self.placed[path])

    def replace_failed(self) -> None:
        """Empty disks take the place of failed ones."""
        for path in self.failed:
            self.placed[path].clear()
        self.failed.clear()

    def want(self, key: TopicPartition, path: str) -> bool:
        """Move the replica there; True when it exists. One that comes later will be created there."""
        current = self.find(key)
        self._futures.pop(key, None)
        if current is None:
            self._wanted[key] = path
        elif current != path:
            self._futures[key] = Future(path, Log(0.0))
        return current is not None

    def futures(self) -> Iterator[tuple[TopicPartition, Future]]:
        """The logs on their way."""
        yield from self._futures.items()

    def tick(self, budget: float, size: Callable[[TopicPartition, Log], float]) -> None:
        """Copy up to `budget` bytes; `size` gives the bytes in a log now."""
        served = list(islice(self._futures.items(), SERVED))
        for turn, (key, future) in enumerate(served):
            self._futures.move_to_end(key)
            current = self.log(key)
            if current is None:
                continue
            behind = size(key, current) - (future.log.position or 0.0)
            moved = min(max(behind, 0.0), budget / (len(served) - turn))
            future.log.position = (future.log.position or 0.0) + moved
            budget -= moved
            if moved >= behind - 1e-6:
                self._finish(key, future.path, current)

    def _finish(self, key: TopicPartition, path: str, log: Log) -> None:
        self.delete(key)
        self.placed[path][key] = log
