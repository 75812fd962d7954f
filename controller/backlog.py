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


class Rank(NamedTuple):
    """What starts first: the smaller. Within a rank, buckets take turns, so that all brokers get work."""

    priority: int
    """Of the job, negated."""
    healthy: bool
    """Partitions that lack replicas are repaired first."""
    follows: bool
    """Steps that move leadership go first, up to their limit."""


class _Turn(NamedTuple):
    rank: Rank
    number: int
    cost: Cost


class Backlog:
    """Buckets of waiting steps, and the places taken by steps in flight."""

    def __init__(self) -> None:
        self.usage = Usage()
        self._arrivals: deque[TopicPartition] = deque()
        self._arriving: set[TopicPartition] = set()
        self._entries: dict[TopicPartition, tuple[Rank, Cost]] = {}
        """The bucket of each waiting step; a key that a bucket still has beside that is void."""
        self._size = 0
        """Keys in all buckets, void ones included."""
        self._buckets: dict[tuple[Rank, Cost], deque[TopicPartition]] = {}
        self._ready: list[_Turn] = []
        self._parked: dict[Place, list[_Turn]] = {}
        self._parked_at: dict[tuple[Rank, Cost], Place] = {}
        self._freed: set[Place] = set()
        self._charged: dict[TopicPartition, Cost] = {}
        self._turns = 0

    def add(self, key: TopicPartition, rank: Rank, cost: Cost) -> None:
        """The step of this partition waits; an older place of it is void."""
        if self._entries.get(key) == (rank, cost):
            return
        self._entries[key] = (rank, cost)
        self._size += 1
        if self._size > 2 * len(self._entries) + SLACK:
            self._compact()
        bucket = self._buckets.get((rank, cost))
        if bucket is None:
            self._buckets[rank, cost] = deque([key])
            self._queue(rank, cost)
        else:
            bucket.append(key)

    def candidates(self) -> Iterator[tuple[TopicPartition | None, Cost]]:
        """Steps that have room, in order; None in place of one for each bucket that was looked at in vain.

        Each one yielded has left the backlog: the caller starts it (`charge`) or adds it again.
        """
        while self._unpark() or self._ready:
            turn = heappop(self._ready)
            place = self.usage.exhausted(turn.cost)
            if place is not None:
                heappush(self._parked.setdefault(place, []), turn)
                self._freed.discard(place)
                self._parked_at[turn.rank, turn.cost] = place
                yield None, turn.cost
                continue
            yield self._pop(turn), turn.cost

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
        return self._parked_at.get((rank, cost))

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

    def _pop(self, turn: _Turn) -> TopicPartition | None:
        """The next step of the bucket; None for a void one. The bucket waits for its next turn."""
        place = (turn.rank, turn.cost)
        bucket = self._buckets.get(place)
        if bucket is None:
            return None
        key = bucket.popleft()
        self._size -= 1
        if bucket:
            self._queue(*place)
        else:
            del self._buckets[place]
        if self._entries.get(key) != place:
            return None
        del self._entries[key]
        return key

    def _compact(self) -> None:
        """Drop what is void. Buckets that are empty then lose their turn when it comes."""
        for place, bucket in list(self._buckets.items()):
            kept = deque(dict.fromkeys(key for key in bucket if self._entries.get(key) == place))
            if kept:
                self._buckets[place] = kept
            else:
                del self._buckets[place]
        self._size = sum(map(len, self._buckets.values()))

    def _queue(self, rank: Rank, cost: Cost) -> None:
        self._turns += 1
        heappush(self._ready, _Turn(rank, self._turns, cost))

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
            del self._parked_at[turn.rank, turn.cost]
            heappush(self._ready, turn)
            return True
        return False
