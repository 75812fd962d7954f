"""Bytes of jobs that move replicas between log directories, and their rates."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from controller.model.disks import DiskMove, MoveStage
from controller.state.state import State
from controller.views.disk_moves import copied_bytes
from server.progress.rates import Meter, seconds_left


class _Bytes(NamedTuple):
    """Bytes of a job at one time."""

    moved: int = 0
    left: int = 0
    """What open moves have still to copy. Cancelled ones have nothing to copy."""
    waits: bool = False
    """A part of what is left does not start, or does not go on."""
    moving: bool = False


class DiskJob:
    """What was measured of a job."""

    def __init__(self) -> None:
        self.bytes = _Bytes()
        self.meter = Meter()
        self.at: float | None = None

    def measured(self, now: float, found: _Bytes) -> int:
        """Take a measurement; return the bytes that were copied since the last one; 0 if it is the first."""
        copied = 0
        if self.at is not None:
            copied = max(0, found.moved - self.bytes.moved)
            self.meter.add(now - self.at, copied, self.bytes.moving, found.moving)
        self.at, self.bytes = now, found
        return copied

    @property
    def rate(self) -> float | None:
        """Bytes per second; None if nothing is copied, or for too short a time."""
        return self.meter.rate if self.bytes.moving else None

    @property
    def seconds_left(self) -> int | None:
        """The time that the rest takes at this rate; None if it is not known, or if a part of it waits."""
        if not self.bytes.left:
            return 0
        return None if self.bytes.waits else seconds_left(self.bytes.left, self.rate)


class DiskProgress:
    """Measures the open jobs."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._jobs: dict[int, DiskJob] = {}
        self._copied: Counter[int] = Counter()
        """By job: the bytes since the last `take_copied`."""

    def rows(self, now: float) -> Iterator[None]:
        """Measure all open jobs, and those that have ended since. Yields after each of their moves."""
        disks, is_open = self._state.disks, self._state.orders.open
        for number in sorted(self._jobs.keys() | (disks.stages.keys() & is_open.keys())):
            moved = left = 0
            waits = False
            for move in list(disks.moves.get(number, {}).values()):
                copied = copied_bytes(self._state, move)
                moved += copied
                if _has_to_copy(move):
                    left += move.size - copied
                    waits = waits or move.replica in disks.reasons
                yield
            moving = any(stage.is_flying for stage in disks.stages.get(number, ()))
            job = self._jobs.setdefault(number, DiskJob())
            self._copied[number] += job.measured(now, _Bytes(moved, left, waits, moving))
            if number not in is_open:
                del self._jobs[number]

    def take_copied(self) -> dict[int, int]:
        """Return the bytes that each job has copied since the last call."""
        copied, self._copied = self._copied, Counter()
        return dict(copied)

    def of_job(self, number: int) -> DiskJob | None:
        """Return what is known of an open job; None if that is nothing, or if it has nothing to copy."""
        known = self._jobs.get(number)
        return known if known is not None and known.bytes.moved + known.bytes.left else None


def _has_to_copy(move: DiskMove) -> bool:
    return move.stage in {MoveStage.WAITING, MoveStage.MOVING}
