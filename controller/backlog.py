"""Who waits for what: the steps that could start, in the order in which they should (KIP-435).

Steps that would take the same places wait in one bucket, so when a place runs out a whole bucket is set aside at
once, and when it comes back one bucket is tried for each place that is free. Starting the next step therefore costs
the same whether a hundred or a million wait.
"""

from collections import deque
from collections.abc import Iterator
from heapq import heappop, heappush
from typing import NamedTuple

from controller.limits import UNLIMITED_BYTES, Cost, Place, Usage
from controller.model import TopicPartition
from planner.limits import Limits

SLACK = 1_000
"""Void entries that are let be; more than that and than the valid ones are cleared away."""


CHOICES = 64
"""Buckets that are looked at for one whose brokers are not busy: else some brokers idle while others have too much.

The more all brokers have to do, the less one step more matters: fewer are looked at then.
"""


class Rank(NamedTuple):
    """What starts first: the smaller. Within a rank, buckets take turns, so that all brokers get work."""

    priority: int
    """Of the job, negated."""
    healthy: bool
    """Partitions that lack replicas are repaired first."""
    follows: bool
    """Steps that move leadership go first, up to their limit."""


class _Bucket:
    """Steps that rank alike and would take the same places, in order. It has one turn, ready or parked."""

    __slots__ = ("cost", "keys", "parked_at", "rank")

    def __init__(self, rank: Rank, cost: Cost) -> None:
        self.rank, self.cost = rank, cost
        self.keys: deque[TopicPartition] = deque()
        self.parked_at: Place | None = None
        """What its steps wait for room in."""


class _Turn(NamedTuple):
    rank: Rank
    number: int
    bucket: _Bucket


class Backlog:
    """Buckets of waiting steps, and the places taken by steps in flight."""

    def __init__(self) -> None:
        self.usage = Usage()
        self._arrivals: deque[TopicPartition] = deque()
        self._arriving: set[TopicPartition] = set()
        self._entries: dict[TopicPartition, _Bucket] = {}
        """The bucket of each waiting step; a key that a bucket still has beside that is void."""
        self._size = 0
        """Keys in all buckets, void ones included."""
        self._buckets: dict[tuple[Rank, Cost], _Bucket] = {}
        self._ready: list[_Turn] = []
        self._parked: dict[Place, list[_Turn]] = {}
        self._freed: set[Place] = set()
        self._charged: dict[TopicPartition, Cost] = {}
        self._turns = 0

    def add(self, key: TopicPartition, rank: Rank, cost: Cost) -> None:
        """The step of this partition waits; an older place of it is void."""
        bucket = self._buckets.get((rank, cost))
        if bucket is None:
            bucket = self._buckets[rank, cost] = _Bucket(rank, cost)
            self._queue(bucket)
        if self._entries.get(key) is bucket:
            return
        self._entries[key] = bucket
        bucket.keys.append(key)
        self._size += 1
        if self._size > 2 * len(self._entries) + SLACK:
            self._compact()

    def candidates(self) -> Iterator[tuple[TopicPartition, Cost] | None]:
        """Steps that have room, in order; None in place of one where a few buckets were looked at in vain.

        Each one yielded has left the backlog: the caller starts it (`charge`) or adds it again.
        """
        while self._unpark() or self._ready:
            bucket = self._choose()
            yield None if bucket is None else self._pop(bucket)

    @property
    def idle(self) -> bool:
        """Nothing that waits has room."""
        return (
            not self._arrivals and not self._ready and not any(self._wakeable(place) for place in self._freed)
        )

    def charge(self, key: TopicPartition, cost: Cost) -> None:
        """The step of this partition is in flight, or goes on with another cost."""
        self.release(key)
        self._charged[key] = cost
        self.usage.take(cost)

    def release(self, key: TopicPartition) -> None:
        """No step of this partition is in flight."""
        cost = self._charged.pop(key, None)
        if cost is not None:
            self._freed.update(self.usage.release(cost))

    def change_limits(self, limits: Limits, most_bytes: int = UNLIMITED_BYTES) -> None:
        """Steps in flight go on; those that wait are judged by the new limits."""
        self.usage.limits, self.usage.bytes = limits, most_bytes
        self._freed.update(self._parked)

    def hold(self, steps: int | None) -> None:
        """Let so many steps at once go on that repair nothing; None: as many as there is room for."""
        if steps != self.usage.held:
            self.usage.held = steps
            self._freed.update(self._parked)

    def blocker(self, rank: Rank, cost: Cost) -> Place | None:
        """The exhausted place that holds up steps of this cost."""
        bucket = self._buckets.get((rank, cost))
        return None if bucket is None else bucket.parked_at

    def in_flight(self) -> int:
        """How many steps are charged."""
        return len(self._charged)

    def arrive(self, key: TopicPartition) -> None:
        """The next step of this partition is to be planned."""
        if key not in self._arriving:
            self._arriving.add(key)
            self._arrivals.append(key)

    def arrivals(self, most: int) -> Iterator[TopicPartition]:
        """At most so many partitions whose step is to be planned, in order of arrival; they have left the backlog."""
        for _ in range(min(most, len(self._arrivals))):
            key = self._arrivals.popleft()
            self._arriving.discard(key)
            yield key
        if not self._arriving:
            # A set that is emptied one by one keeps the room of its greatest size.
            self._arriving.clear()

    def __len__(self) -> int:
        """What is remembered of steps that wait, void entries included."""
        return self._size + len(self._arrivals)

    def fits(self, key: TopicPartition, cost: Cost) -> bool:
        """Whether the step in flight of this partition could go on with another cost."""
        own = self._charged.get(key)
        if own is None:
            return self.usage.exhausted(cost) is None
        self.usage.release(own)
        fits = self.usage.exhausted(cost) is None
        self.usage.take(own)
        return fits

    def _pop(self, bucket: _Bucket) -> tuple[TopicPartition, Cost] | None:
        """The next step of the bucket; None for a void one. The bucket waits for its next turn."""
        key = bucket.keys.popleft() if bucket.keys else None
        if bucket.keys:
            self._queue(bucket)
        else:
            del self._buckets[bucket.rank, bucket.cost]
        if key is None:
            return None
        self._size -= 1
        if self._entries.get(key) is not bucket:
            return None
        del self._entries[key]
        return key, bucket.cost

    def _compact(self) -> None:
        """Drop what is void. A bucket that is empty then goes when its turn comes."""
        for bucket in self._buckets.values():
            valid = (key for key in bucket.keys if self._entries.get(key) is bucket)
            bucket.keys = deque(dict.fromkeys(valid))
        self._size = sum(len(bucket.keys) for bucket in self._buckets.values())

    def _choose(self) -> _Bucket | None:
        """Of the next few turns of a rank, the first whose brokers have less to do than most, else the least busy."""
        seen: list[tuple[int, _Turn]] = []
        average = self.usage.average()
        for _ in range(max(2, int(CHOICES / average))):
            if not (self._ready or self._unpark()) or (seen and self._ready[0].rank != seen[0][1].rank):
                break
            turn = heappop(self._ready)
            if not self._park(turn):
                load = self.usage.busiest(turn.bucket.cost)
                seen.append((load, turn))
                if not load or load + 1 <= average:
                    break
        best = min(seen, default=None)
        for each in seen:
            if each is not best:
                heappush(self._ready, each[1])
        return None if best is None else best[1].bucket

    def _park(self, turn: _Turn) -> bool:
        """Set the bucket aside if there is no room for its steps; whether that was done."""
        bucket = turn.bucket
        place = bucket.parked_at = self.usage.exhausted(bucket.cost)
        if place is None:
            return False
        heappush(self._parked.setdefault(place, []), turn)
        self._freed.discard(place)
        return True

    def _queue(self, bucket: _Bucket) -> None:
        self._turns += 1
        heappush(self._ready, _Turn(bucket.rank, self._turns, bucket))

    def _wakeable(self, place: Place) -> bool:
        return place in self._parked and self.usage.has_room(place)

    def _unpark(self) -> bool:
        """Give one parked bucket another try; its place stays freed until it has no room or no bucket."""
        while self._freed:
            place = self._freed.pop()
            if not self._wakeable(place):
                continue
            self._freed.add(place)
            turns = self._parked[place]
            turn = heappop(turns)
            if not turns:
                del self._parked[place]
            turn.bucket.parked_at = None
            heappush(self._ready, turn)
            return True
        return False
