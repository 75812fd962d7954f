"""Who waits for what: the steps that could start, in the order in which they should (KIP-435).

Steps that would take the same places wait in one bucket, so when a place runs out a whole bucket is set aside at
once, and when it comes back one bucket is tried for each place that is free. Starting the next step therefore costs
the same whether a hundred or a million wait.

Every turn of a bucket has a wave. Steps of a planned order say theirs; the others have one wave after the other in their
bucket, from the one on that has just been reached, so that buckets take turns, and neither a long plan nor a stream of
small ones holds up the others.
"""

from collections import deque
from collections.abc import Collection, Iterator
from heapq import heapify, heappop, heappush

from controller.model.cluster import Replicas, TopicPartition
from controller.model.names import without
from controller.scheduling.buckets import Bucket, Planned, Rank, Step, Turn
from controller.scheduling.limits import LEADS, UNLIMITED_BYTES, Cost, Place, Usage
from controller.scheduling.parking import PASSES, Parking
from controller.scheduling.plan_limits import PlanLimits

SLACK = 1_000
"""Void entries that are let be; more than that and than the valid ones are cleared away."""


CHOICES = 64
"""Buckets that are looked at for one whose brokers are not busy: else some brokers idle while others have too much.

The more all brokers have to do, the less one step more matters: fewer are looked at then.
"""


class Backlog:
    """Buckets of waiting steps, and the places taken by steps in flight."""

    def __init__(self) -> None:
        self.usage = Usage()
        self.planned: dict[TopicPartition, tuple[int, ...]] = {}
        """The waves of the steps that each partition has before it, where a planned order gives them."""
        self.halted = False
        """Nothing starts, by order of what is no record of ours (KIP-236: the cancel znode)."""
        self._arrivals: deque[TopicPartition] = deque()
        self._arriving: set[TopicPartition] = set()
        self._entries: dict[TopicPartition, Bucket | Step] = {}
        """The bucket of each waiting step, or its place in an order; what a bucket still has beside that is void."""
        self._size = 0
        """Keys in all buckets, void ones included."""
        self._buckets: dict[tuple[Rank, Cost], Bucket] = {}
        self._ready: list[Turn] = []
        self._parked = Parking(self.usage)
        self._freed: set[Place] = set()
        self._passing = 0
        self.costs: dict[TopicPartition, Cost] = {}
        """What each step in flight takes, as counted in `usage`."""
        self._turns = 0
        self._next: dict[Rank, int] = {}
        """The wave after the last one that a step was taken from."""
        self._first: dict[tuple[int, Rank], int] = {}
        """By job, the wave that its planned waves count from."""

    def add(self, key: TopicPartition, rank: Rank, cost: Cost, planned: Planned | None = None) -> None:
        """The step of this partition waits; an older place of it is void, unless it is the same."""
        bucket = self._buckets.get((rank, cost))
        if bucket is None:
            bucket = self._buckets[rank, cost] = Bucket(rank, cost)
        before = self._entries.get(key)
        if planned is None:
            if before is bucket or (isinstance(before, Step) and before.bucket is bucket):
                return
            self._entries[key] = bucket
            bucket.keys.append(key)
        else:
            wave = self._first.setdefault((planned.job, rank), self._next.get(rank, 0)) + planned.wave
            if isinstance(before, Step) and before.bucket is bucket and before.wave == wave:
                return
            self._turns += 1
            self._entries[key] = step = Step(wave, self._turns, key, bucket)
            heappush(bucket.planned, step)
        self._size += 1
        if not bucket.turn or (planned is not None and bucket.planned[0].wave < bucket.wave):
            self._queue(bucket)
        if self._size > 2 * len(self._entries) + SLACK:
            self._compact()

    def plan(self, key: TopicPartition, planned: Planned) -> None:
        """The step of this partition, if it waits, has its place in a planned order."""
        entry = self._entries.get(key)
        if entry is not None:
            bucket = entry.bucket if isinstance(entry, Step) else entry
            self.add(key, bucket.rank, bucket.cost, planned)

    def forget(self, job: int) -> None:
        """The planned order of the job, if there was one, is over."""
        for key in [key for key in self._first if key[0] == job]:
            del self._first[key]

    def candidates(self) -> Iterator[tuple[TopicPartition, Cost] | None]:
        """Steps that have room, in order; None in place of one where a few buckets were looked at in vain.

        Each one yielded has left the backlog: the caller starts it (`charge`) or adds it again.
        """
        while self._unpark() or self._ready:
            turn = self._choose()
            yield None if turn is None else self._pop(turn)

    @property
    def idle(self) -> bool:
        """Nothing that waits has room."""
        return not self._arrivals and not self._ready and not any(map(self._parked.has_room, self._freed))

    def charge(self, key: TopicPartition, cost: Cost) -> None:
        """Count the step in flight of this partition; its earlier cost, if any, is given back."""
        before = self.costs.get(key)
        if before is not None:
            self._freed.update(self.usage.release(before))
        self.costs[key] = cost
        self.usage.take(cost)

    def release(self, key: TopicPartition) -> None:
        """No step of this partition is in flight."""
        cost = self.costs.pop(key, None)
        if cost is not None:
            self._freed.update(self.usage.release(cost))

    def relead(self, key: TopicPartition, leader: int) -> None:
        """Another broker sends the data of the step in flight of this partition, if there is one."""
        cost = self.costs.get(key)
        if cost is not None and cost.source != leader:
            self.charge(key, cost._replace(source=leader))

    def arrived(self, key: TopicPartition, in_sync: Replicas) -> None:
        """Of the step in flight of this partition, what is in sync already takes no place any more."""
        cost = self.costs.get(key)
        if cost is not None:
            self.charge(key, cost._replace(incoming=without(cost.incoming, in_sync)))

    def may_lead(self, key: TopicPartition) -> bool:
        """The step in flight of this partition has a leader movement's place, or there is room for one more."""
        cost = self.costs.get(key)
        return (cost is not None and cost.leads) or self.usage.exhausted(LEADS) is None

    def pass_leader(self) -> None:
        """A leader movement was decided: it takes its place until `end_decision`, so that few are told at once."""
        self._passing += 1
        self.usage.take(LEADS)

    def end_decision(self) -> None:
        """Leader movements that were decided are told now; others may follow."""
        for _ in range(self._passing):
            self._freed.update(self.usage.release(LEADS))
        self._passing = 0

    def change_limits(self, limits: PlanLimits, most_bytes: int = UNLIMITED_BYTES) -> None:
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

    def arrive(self, key: TopicPartition) -> None:
        """The next step of this partition is to be planned."""
        self.arrive_all((key,))

    def arrive_all(self, keys: Collection[TopicPartition]) -> None:
        """As `arrive` of each."""
        self._arrivals.extend([key for key in keys if key not in self._arriving])
        self._arriving.update(keys)

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
        own = self.costs.get(key)
        if own is None:
            return self.usage.exhausted(cost) is None
        self.usage.release(own)
        fits = self.usage.exhausted(cost) is None
        self.usage.take(own)
        return fits

    def _pop(self, turn: Turn) -> tuple[TopicPartition, Cost] | None:
        """The next step of the turn's bucket; None for a void one. The bucket waits for its next turn."""
        bucket = turn.bucket
        self._next[bucket.rank] = max(self._next.get(bucket.rank, 0), bucket.wave + 1)
        taken: Bucket | Step = bucket
        key: TopicPartition | None = None
        if bucket.planned and (not bucket.keys or bucket.planned[0].wave <= bucket.wave):
            taken = heappop(bucket.planned)
            key = taken.key
        elif bucket.keys:
            key, bucket.last = bucket.keys.popleft(), bucket.wave
        if bucket.keys or bucket.planned:
            self._queue(bucket)
        else:
            bucket.turn = 0
            del self._buckets[bucket.rank, bucket.cost]
        if key is None:
            return None
        self._size -= 1
        if self._entries.get(key) is not taken:
            return None
        del self._entries[key]
        self._parked.passed_by(turn)
        return key, bucket.cost

    def _compact(self) -> None:
        """Drop what is void. A bucket that is empty then goes when its turn comes."""
        for bucket in self._buckets.values():
            valid = (key for key in bucket.keys if self._entries.get(key) is bucket)
            bucket.keys = deque(dict.fromkeys(valid))
            bucket.planned = [step for step in bucket.planned if self._entries.get(step.key) is step]
            heapify(bucket.planned)
        self._size = sum(len(bucket.keys) + len(bucket.planned) for bucket in self._buckets.values())

    def _choose(self) -> Turn | None:
        """Of the next few turns of a rank, the first whose brokers have less to do than most, else the least busy.

        A planned order has seen to that already. A bucket that was passed often enough is not passed any more.
        """
        seen: list[tuple[int, Turn]] = []
        average = self.usage.average()
        for _ in range(max(2, int(CHOICES / average))):
            if not (self._ready or self._unpark()):
                break
            if seen and (self._ready[0].planned or self._ready[0].rank != seen[0][1].rank):
                break
            turn = heappop(self._ready)
            if turn.number == turn.bucket.turn and not self._park(turn):
                overdue = turn.bucket.passed >= PASSES
                load = -1 if overdue else self.usage.busiest(turn.bucket.cost)
                seen.append((load, turn))
                if turn.planned or load <= 0 or load + 1 <= average:
                    break
        best = min(seen, default=None)
        for each in seen:
            if each is not best:
                heappush(self._ready, each[1])
        return None if best is None else best[1]

    def _park(self, turn: Turn) -> bool:
        """Set the bucket aside if there is no room for its steps; whether that was done."""
        bucket = turn.bucket
        place = bucket.parked_at = self.usage.exhausted(bucket.cost) or self._parked.kept_from(turn)
        if place is None:
            return False
        self._parked.park(turn, place)
        return True

    def _queue(self, bucket: Bucket) -> None:
        """The bucket's turn is that of its first step; the one that it had is void."""
        self._turns += 1
        bucket.turn, bucket.parked_at = self._turns, None
        planned = bool(bucket.planned)
        bucket.wave = max(self._next.get(bucket.rank, 0), bucket.last + 1)
        if planned:
            first = bucket.planned[0].wave
            planned = not bucket.keys or first <= bucket.wave
            bucket.wave = first if planned else bucket.wave
        heappush(self._ready, Turn(bucket.rank, bucket.wave, self._turns, bucket, planned))

    def _unpark(self) -> bool:
        """Give one parked bucket another try; its place stays freed until no bucket there has room."""
        while self._freed:
            place = self._freed.pop()
            turn = self._parked.take(place)
            if turn is not None:
                self._freed.add(place)
                turn.bucket.parked_at = None
                heappush(self._ready, turn)
                return True
        return False
