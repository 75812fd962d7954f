"""A copy of the backlog with other limits, to see which steps would start."""

from collections import deque
from heapq import heapify

from controller.model.cluster import TopicPartition
from controller.model.limits import PlanLimits
from controller.scheduling.backlog import Backlog
from controller.scheduling.buckets import Bucket, Parking, Position, Step
from controller.scheduling.limits import Usage


class Trial(Backlog):
    """Takes steps by the rules of the backlog, and leaves the original as it is.

    The cost of the copy depends on the number of buckets, not of waiting steps. Partitions that are not
    planned yet are left out. The original must not change as long as the copy is used.
    """

    def __init__(self, original: Backlog, limits: PlanLimits) -> None:
        super().__init__()
        vars(self).update(vars(original))
        self.usage, self.costs = _usage(original, limits), dict(original.costs)
        self._parked = Parking(self.usage)
        self._next = dict(self._next)
        self.first_waves = {job: dict(waves) for job, waves in self.first_waves.items()}
        twins = {bucket: _twin(bucket) for bucket in self._buckets.values()}
        self._buckets = {(twin.rank, twin.cost): twin for twin in twins.values()}
        self._entries = _Entries(self._entries, twins)
        # All buckets are in the heap: those whose steps still lack capacity are parked when it is their turn.
        self._ready = [_position(twin) for twin in twins.values() if twin.position]
        heapify(self._ready)

    def _compact(self) -> None:
        """Keep void entries: the copy is used only for a moment."""


class _Keys(deque[TopicPartition]):
    """The keys of a bucket, read when they are taken, and then those that were added.

    A copy would visit all.
    """

    def __init__(self, original: deque[TopicPartition]) -> None:
        super().__init__()
        self._rest, self._left = iter(original), len(original)

    def __bool__(self) -> bool:
        return self._left > 0 or len(self) > 0

    def popleft(self) -> TopicPartition:
        if not self._left:
            return super().popleft()
        self._left -= 1
        return next(self._rest)


class _Entries(dict[TopicPartition, Bucket | Step]):
    """The entries that were added, and those of the original with its buckets replaced when they are read."""

    def __init__(self, original: dict[TopicPartition, Bucket | Step], twins: dict[Bucket, Bucket]) -> None:
        super().__init__()
        self._original, self._twins = original, twins
        self._taken: set[TopicPartition] = set()

    def get(  # type: ignore[override]
        self, key: TopicPartition, default: Bucket | Step | None = None
    ) -> Bucket | Step | None:
        if key in self._taken:
            return super().get(key, default)
        entry = self._original.get(key, default)
        return entry if entry is None or isinstance(entry, Step) else self._twins.get(entry, entry)

    def __setitem__(self, key: TopicPartition, entry: Bucket | Step) -> None:
        self._taken.add(key)
        super().__setitem__(key, entry)

    def __delitem__(self, key: TopicPartition) -> None:
        self._taken.add(key)
        self.pop(key, None)


def _usage(backlog: Backlog, limits: PlanLimits) -> Usage:
    usage = Usage()
    usage.set_limits(limits, backlog.usage.held)
    for job, own in backlog.usage.jobs.items():
        usage.limit_job(job, own)
    usage.windows, usage.throttled = backlog.usage.windows, backlog.usage.throttled
    for cost in backlog.costs.values():
        usage.count(cost, 1)
    return usage


def _twin(bucket: Bucket) -> Bucket:
    twin = Bucket(bucket.rank, bucket.cost)
    twin.keys, twin.planned = _Keys(bucket.keys), bucket.planned.copy()
    twin.last, twin.position, twin.wave, twin.passed = (
        bucket.last,
        bucket.position,
        bucket.wave,
        bucket.passed,
    )
    return twin


def _position(bucket: Bucket) -> Position:
    planned = bool(bucket.planned) and (not bucket.keys or bucket.planned[0].wave <= bucket.wave)
    return Position(bucket.rank, bucket.wave, bucket.position, bucket, planned)
