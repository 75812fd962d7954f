"""What brokers hold in their log directories, read from a snapshot."""

from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from typing import NamedTuple

from planner.model.snapshot import TOPIC_PARTITION, Broker, LogDir, Partition, Snapshot
from planner.proposals.disks.goal import DiskGoal
from planner.proposals.disks.result import LeftReplica

UNKNOWN_DIR = -1
UNLIMITED = 2**50
"""Bytes of a directory whose size does not matter. All of a broker together stay below 64 bits."""
NOT_CHOSEN = ""
"""The reason of replicas that may not move, and that are not named."""


class HeldReplica(NamedTuple):
    """A replica, its bytes, the position of its directory, and why it cannot move; None if it can."""

    partition: TOPIC_PARTITION
    size: int
    place: int
    reason: str | None = None


class BrokerDirs:
    """The log directories of a broker by position, in order of path, and its replicas."""

    def __init__(self, broker: Broker, goal: DiskGoal) -> None:
        self.broker = broker
        self.unlimited = goal.allow_unknown and not any(map(is_sized, (broker.dirs or {}).values()))
        """Directories count as equally large, with room for all."""
        known = sorted((broker.dirs or {}).items())
        self.paths: tuple[str, ...] = tuple(path for path, _ in known)
        self.dirs: tuple[LogDir, ...] = tuple(each for _, each in known)
        self.place_of = {path: place for place, path in enumerate(self.paths)}
        self.replicas: list[HeldReplica] = []
        self.unknown_sizes = 0
        self.moving = 0
        """Replicas that move to another directory already."""
        self._expected = [0] * len(known)
        """Bytes that moves under way bring to each directory, less those that they take."""

    @cached_property
    def totals(self) -> tuple[int, ...]:
        """Bytes of each volume; 0 where they are not known."""
        if self.unlimited:
            return (UNLIMITED,) * len(self.dirs)
        return tuple(each.total if is_sized(each) and each.total else 0 for each in self.dirs)

    def expect(self, source: int, target: int, size: int) -> int:
        """Count a replica that is being moved in its target. Return where it counts."""
        if UNKNOWN_DIR in {source, target}:
            return source
        self.moving += 1
        self._expected[source] -= size
        self._expected[target] += size
        return target

    @cached_property
    def used(self) -> tuple[int, ...]:
        """Bytes that are used on each volume, by replicas and other files; 0 where they are not known."""
        if self.unlimited:
            held = [0] * len(self.dirs)
            for each in self.replicas:
                if each.place != UNKNOWN_DIR:
                    held[each.place] += each.size
            return tuple(held)
        return tuple(
            max(0, total - (each.usable or 0) + more) if total else 0
            for total, each, more in zip(self.totals, self.dirs, self._expected, strict=True)
        )

    @property
    def open(self) -> tuple[int, ...]:
        """The positions of directories that may receive replicas."""
        rows = enumerate(zip(self.dirs, self.totals, strict=True))
        return tuple(place for place, (each, total) in rows if total and not each.cordoned)

    def closed(self, *, besides: Collection[int] = ()) -> list[str]:
        """Return the names of the directories that receive nothing, and why, without those in `besides`."""
        return [
            f"{path} ({'cordoned' if total else 'of unknown size'})"
            for place, (path, total) in enumerate(zip(self.paths, self.totals, strict=True))
            if place not in self.open and place not in besides
        ]

    def movable(self, places: Iterable[int]) -> list[HeldReplica]:
        """Return the replicas in these directories that may move, in order of topic and partition."""
        wanted = {*places}
        return sorted(each for each in self.replicas if each.place in wanted and each.reason is None)

    def left(self, places: Iterable[int]) -> list[LeftReplica]:
        """Return the chosen replicas of these directories, and of unknown ones, that cannot move."""
        wanted = {*places, UNKNOWN_DIR}
        return [
            LeftReplica(*each.partition, self.broker.id, each.reason)
            for each in sorted(self.replicas, key=lambda each: each.partition)
            if each.reason and each.place in wanted
        ]


def is_sized(log_dir: LogDir) -> bool:
    """Whether the broker reports the size of the directory's volume."""
    return log_dir.total is not None and log_dir.usable is not None


def held_by(snapshot: Snapshot, brokers: Iterable[int], goal: DiskGoal) -> Mapping[int, BrokerDirs]:
    """Return what each of these brokers holds."""
    held = {each: BrokerDirs(snapshot.brokers[each], goal) for each in brokers}
    for key, row in snapshot.partitions.items():
        if not held.keys().isdisjoint(row.replicas):
            _add(held, key, row, _reason(row, goal))
    return held


def _add(held: Mapping[int, BrokerDirs], key: TOPIC_PARTITION, row: Partition, reason: str | None) -> None:
    sizes, log_dirs = row.sizes, row.log_dirs
    for position, broker in enumerate(row.replicas):
        if (dirs := held.get(broker)) is None:
            continue
        size = None if sizes is None else sizes[position]
        path = None if log_dirs is None else log_dirs[position]
        place = UNKNOWN_DIR if path is None else dirs.place_of.get(path, UNKNOWN_DIR)
        bytes_ = row.size if size is None else size
        why = reason
        if row.next_dirs and (target := row.next_dirs[position]) is not None:
            place = dirs.expect(place, dirs.place_of.get(target, UNKNOWN_DIR), bytes_)
            why = reason if reason == NOT_CHOSEN else "being moved to another directory, where they count"
        elif reason is None and broker in row.failed:
            why = "their log directory has failed"
        elif reason is None and place == UNKNOWN_DIR:
            why = "their log directory is not known"
        dirs.unknown_sizes += size is None
        dirs.replicas.append(HeldReplica(key, bytes_, place, why))


def _reason(row: Partition, goal: DiskGoal) -> str | None:
    """Return why replicas of a partition cannot move; None if they can."""
    if not goal.may_move(row.topic, row.partition):
        return NOT_CHOSEN
    if row.deleting:
        return "their topic waits for its deletion"
    return None if row.settled else "being reassigned or queued"
