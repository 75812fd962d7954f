"""Bytes of jobs that move replicas between log directories, and their rates."""

from collections.abc import Iterator

from controller.model.jobs import JobKind
from controller.state.state import State
from controller.views.disk_moves import copied_bytes
from server.progress.rates import Meter, rounded, seconds_left


class DiskJob:
    """What was measured of an open job."""

    def __init__(self) -> None:
        self.moved = self.total = 0
        self.moving = False
        self.meter = Meter()
        self.at: float | None = None

    def measured(self, now: float, moved: int, total: int, moving: bool) -> None:
        """Add a measurement."""
        if self.at is not None:
            self.meter.add(now - self.at, max(0, moved - self.moved), self.moving, moving)
        self.at, self.moved, self.total, self.moving = now, moved, total, moving

    @property
    def rate(self) -> float | None:
        """Bytes per second; None if nothing is copied, or for too short a time."""
        return self.meter.rate if self.moving else None

    @property
    def seconds_left(self) -> int | None:
        """The time that the rest takes at this rate; None if it is not known."""
        left = self.total - self.moved
        return seconds_left(left, self.rate) if left else 0


class DiskProgress:
    """Measures the open jobs."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._jobs: dict[int, DiskJob] = {}

    def rows(self, now: float) -> Iterator[None]:
        """Measure all open jobs. Yields after each of their moves."""
        state = self._state
        open_jobs = {move.job for move in list(state.disks.open.values())} if state.disks.open else set()
        self._jobs = {number: self._jobs.get(number) or DiskJob() for number in sorted(open_jobs)}
        for number, job in self._jobs.items():
            moved = total = 0
            for move in list(state.disks.moves.get(number, {}).values()):
                moved += copied_bytes(state, move)
                total += move.size
                yield
            moving = any(number == move.job for each in state.disks.flying.values() for move in each.values())
            job.measured(now, moved, total, moving)

    def of_job(self, number: int) -> tuple[int, int, int | None, int | None] | None:
        """Return the fields of `CopyRate`; None if they are not known."""
        known, job = self._jobs.get(number), self._state.orders.jobs.get(number)
        if known is None or not known.total or job is None or job.kind is not JobKind.DISKS:
            return None
        return known.moved, known.total, rounded(known.rate), known.seconds_left
