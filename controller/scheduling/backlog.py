"""The backlog: steps that wait for capacity, in the order in which they should start (KIP-435).

A *capacity* is a counted resource with a limit, for example the replicas that move to broker 5. Steps of the
same rank that take the same capacities wait in one *bucket*. When a capacity is exhausted, whole buckets are
parked; when some of it is released, one parked bucket is tried at a time. So the cost of starting a step does
not depend on the number of steps that wait.

Each bucket that is not parked has one *position* in a heap, ordered by rank, then wave. A planned step has
the wave of its plan. The other steps of a bucket get consecutive waves, beginning with the wave that was
reached last. So buckets alternate, and neither a long plan nor a stream of small ones delays the others.
"""

from collections import deque
from collections.abc import Collection, Iterator, Sequence
from heapq import heapify, heappop, heappush
from itertools import groupby, islice
from typing import NamedTuple

from controller.model.jobs import PlannedStep
from controller.model.limits import NO_LIMITS, PlanLimits
from controller.model.replicas import Replicas, TopicPartition, without
from controller.scheduling.buckets import PASSES, Bucket, Parking, Planned, Position, Rank, Step
from controller.scheduling.limits import Cost, Usage, Windows, capacities_of

SLACK = 1_000
"""Void entries that are tolerated. The backlog is compacted when it has more of them, and more than valid
ones."""


CHOICES = 64
"""Buckets compared to find one whose brokers are not busy. Without that, some brokers would idle while others
queue.

Divided by the average load of brokers: the more steps each one has, the less one more step matters."""


class Backlog:
    """The buckets of waiting steps, and the capacities that steps in flight take."""

    def __init__(self) -> None:
        self.usage = Usage()
        self.planned = StepPlans()
        self.halted = False
        """Start nothing (KIP-236: the cancel znode exists). Not a record."""
        self.to_plan: deque[TopicPartition] = deque()
        """The partitions whose next step is to be planned, in order of arrival. `enqueue` adds them."""
        self._to_plan_keys: set[TopicPartition] = set()
        self._entries: dict[TopicPartition, Bucket | Step] = {}
        """The valid entry of each waiting step: its bucket, or its `Step` in a plan. Other entries in buckets
        are void."""
        self.size = 0
        """Number of entries in all buckets, void ones included."""
        self._buckets: dict[tuple[Rank, Cost], Bucket] = {}
        self._ready: list[Position] = []
        self._parked = Parking(self.usage)
        self.costs: dict[TopicPartition, Cost] = {}
        """What each step in flight takes, as counted in `usage`."""
        self._positions = 0
        self._next: dict[Rank, int] = {}
        """By rank: the wave after the last one from which a step was taken."""
        self.first_waves: dict[int, dict[Rank, int]] = {}
        """By job and rank: the wave that is wave 0 of the job's plan. Removed when the job ends."""

    def add(self, key: TopicPartition, rank: Rank, cost: Cost, planned: Planned | None = None) -> None:
        """Add the partition's step. An older entry of the partition becomes void, unless it is the same."""
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
            first_waves = self.first_waves.setdefault(planned.job, {})
            wave = first_waves.setdefault(rank, self._next.get(rank, 0)) + planned.wave
            if isinstance(before, Step) and before.bucket is bucket and before.wave == wave:
                return
            self._positions += 1
            self._entries[key] = step = Step(wave, self._positions, key, bucket)
            heappush(bucket.planned, step)
        self.size += 1
        if not bucket.position or (planned is not None and bucket.planned[0].wave < bucket.wave):
            self._queue(bucket)
        if self.size > 2 * len(self._entries) + SLACK:
            self._compact()

    def place_in_wave(self, key: TopicPartition, planned: Planned) -> None:
        """Move the partition's step, if it waits, to its wave of a plan."""
        bucket = self.bucket_of(key)
        if bucket is not None:
            self.add(key, bucket.rank, bucket.cost, planned)

    def candidates(self) -> Iterator[tuple[TopicPartition, Cost] | None]:
        """Yield the steps that the limits allow, in order.

        A None marks a few buckets that were examined without finding one.

        A yielded step has left the backlog: the caller starts it (`charge`) or adds it again.
        """
        while self._unpark() or self._ready:
            position = self._choose()
            yield None if position is None else self._pop(position)

    @property
    def idle(self) -> bool:
        """Whether the limits allow no waiting step and no partition is to be planned."""
        return not self.to_plan and not self._ready and self._parked.first is None

    def charge(self, key: TopicPartition, cost: Cost) -> None:
        """Count the step in flight of this partition; its earlier cost, if any, is given back."""
        before = self.costs.get(key)
        if before is not None:
            self.usage.count(before, -1)
        self.costs[key] = cost
        self.usage.count(cost, 1)

    def release(self, key: TopicPartition) -> None:
        """Stop counting a step of this partition."""
        cost = self.costs.pop(key, None)
        if cost is not None:
            self.usage.count(cost, -1, ended=True)

    def forget_all(self, keys: Collection[TopicPartition]) -> None:
        """Stop counting the steps of these partitions, and forget their waves.

        Their reassignments have ended.
        """
        released = [self.costs.pop(key, None) for key in keys]
        # Neighbours often share one object, which costs less to compare than to look up.
        for cost, same in groupby(released):
            if cost is not None:
                self.usage.count(cost, -len(list(same)), ended=True)
        for key in keys if self.planned else ():
            self.planned.discard(key)

    def forget_job(self, job: int) -> None:
        """Forget at which waves the job's plan began: the job has ended."""
        self.first_waves.pop(job, None)

    def halt(self, halted: bool) -> None:
        """Start nothing, or start steps again."""
        self.halted = halted

    def relead(self, key: TopicPartition, leader: int) -> None:
        """Count the partition's step in flight, if any, at its new leader, which now sends the data."""
        cost = self.costs.get(key)
        if cost is not None and cost.source != leader:
            self.charge(key, cost._replace(source=leader))

    def release_in_sync(self, key: TopicPartition, in_sync: Replicas) -> None:
        """Stop counting those replicas of the partition's step in flight that are in sync."""
        cost = self.costs.get(key)
        if cost is not None:
            self.charge(key, cost._replace(incoming=without(cost.incoming, in_sync)))

    def resize(self, key: TopicPartition, size: int) -> None:
        """Count the replicas of the partition's step in flight by this size, rounded up."""
        self.charge(key, self.costs[key]._replace(size=size))

    def plan_again(self) -> None:
        """Request that all steps that wait are planned again: what they take of the limits has changed."""
        self.enqueue_all(list(self._entries))

    def change_limits(self, limits: PlanLimits) -> None:
        """Set the limits. They apply to waiting steps; steps in flight continue."""
        self.usage.set_limits(limits, self.usage.held)
        self.usage.freed.update(dict.fromkeys(self._parked.heaps))

    def limit_job(self, job: int, limits: PlanLimits) -> None:
        """Set the limits of the job itself. They apply to steps that are planned or counted from now on."""
        if self.usage.jobs.get(job, NO_LIMITS) != limits:
            self.usage.limit_job(job, limits)
            self.usage.freed.update(dict.fromkeys(self._parked.heaps))

    def count_for_job(self, key: TopicPartition, job: int) -> None:
        """Count the partition's step in flight against the limits of this job, if it has any."""
        self.charge(key, self.costs[key]._replace(job=self.usage.counted_job(job)))

    def pace(self, windows: Windows | None) -> None:
        """Set the limits of pace; None for none. Steps in flight continue."""
        if windows != self.usage.windows:
            self.usage.windows = windows
            self.usage.freed.update(dict.fromkeys(self._parked.heaps))

    def throttle(self, throttled: bool) -> None:
        """Set whether steps need entries in throttle lists. Steps in flight continue."""
        if throttled != self.usage.throttled:
            self.usage.throttled = throttled
            self.usage.freed.update(dict.fromkeys(self._parked.heaps))

    def hold(self, steps: int | None) -> None:
        """Limit the steps in flight that repair nothing, for the health guard; None removes this limit."""
        if steps != self.usage.held:
            self.usage.set_limits(self.usage.limits, steps)
            self.usage.freed.update(dict.fromkeys(self._parked.heaps))

    def bucket_of(self, key: TopicPartition) -> Bucket | None:
        """Return the bucket in which the partition's step waits; None if it is not planned."""
        entry = self._entries.get(key)
        return entry.bucket if isinstance(entry, Step) else entry

    def buckets_of(self, keys: Sequence[TopicPartition]) -> list[Bucket | None]:
        """Do as `bucket_of` for each partition, in a fifth of the time."""
        entries = list(map(self._entries.get, keys))
        return [each.bucket if isinstance(each, Step) else each for each in entries]

    def enqueue(self, key: TopicPartition) -> None:
        """Request that the partition's next step is planned."""
        self.enqueue_all((key,))

    def enqueue_all(self, keys: Collection[TopicPartition]) -> None:
        """Do as `enqueue` for each partition."""
        known = self._to_plan_keys
        self.to_plan.extend(keys if known.isdisjoint(keys) else [key for key in keys if key not in known])
        known.update(keys)

    def next_steps(self, most: int) -> Iterator[tuple[TopicPartition, bool]]:
        """Remove and yield partitions with a step to plan (False), then those whose step may start (True).

        It yields at most `most` of each. If no other step waits, a step may start without being planned
        before. That does not apply to a partition with waves from a plan: its position advances the waves.
        """
        planned = 0
        while self.to_plan and planned < most:
            planned += 1
            key = self.to_plan.popleft()
            self._to_plan_keys.discard(key)
            if not self.to_plan:
                # A set that is emptied item by item keeps the memory of its greatest size.
                self._to_plan_keys.clear()
            yield key, not (self.to_plan or self.size or self.planned.steps_of(key))
        if self.size and most > 0:
            for step in islice(self.candidates(), most):
                if step is not None:
                    yield step[0], True

    def fits(self, key: TopicPartition, cost: Cost) -> bool:
        """Return whether the limits allow this cost for the partition's step in flight instead of its own.

        They do if it takes no more than now, although the limits may be lower than when the step began.
        """
        own = self.costs.get(key)
        if own is None:
            return self.usage.exhausted(capacities_of(cost)) is None
        taken = dict(capacities_of(own))
        more = tuple(row for row in capacities_of(cost) if row[1] > taken.get(row[0], 0))
        self.usage.count(own, -1)
        fits = self.usage.exhausted(more) is None
        self.usage.count(own, 1)
        return fits

    def _pop(self, position: Position) -> tuple[TopicPartition, Cost] | None:
        """Remove the next step of the position's bucket, and queue the bucket again.

        Return None if the entry is void.
        """
        bucket = position.bucket
        # Steps that are added from now on line up here: at wave 0 they would pass all that wait already.
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
            bucket.position = 0
            del self._buckets[bucket.rank, bucket.cost]
        if key is None:
            return None
        self.size -= 1
        if self._entries.get(key) is not taken:
            return None
        del self._entries[key]
        self._parked.passed_by(position)
        return key, bucket.cost

    def _compact(self) -> None:
        """Remove void entries. A bucket that is empty then is removed when it is its turn."""
        for bucket in self._buckets.values():
            valid = (key for key in bucket.keys if self._entries.get(key) is bucket)
            bucket.keys = deque(dict.fromkeys(valid))
            bucket.planned = [step for step in bucket.planned if self._entries.get(step.key) is step]
            heapify(bucket.planned)
        self.size = sum(len(bucket.keys) + len(bucket.planned) for bucket in self._buckets.values())

    def _choose(self) -> Position | None:
        """Take the position of the next bucket.

        Of the next few positions of a rank this is the first with brokers below the average load, else the
        least busy.

        A planned step is taken as it comes, because the plan balances brokers. A bucket that was passed
        `PASSES` times is taken whatever its load. The other positions return to the heap.
        """
        seen: list[tuple[int, Position]] = []
        average = self.usage.average()
        for _ in range(max(2, int(CHOICES / average))):
            if not (self._ready or self._unpark()):
                break
            if seen and (self._ready[0].planned or self._ready[0].rank != seen[0][1].rank):
                # Load decides only among positions of one rank; it never overrides a priority or a plan.
                break
            position = heappop(self._ready)
            # A position with another number is void: the bucket was queued again after it.
            if position.number == position.bucket.position and not self._park(position):
                overdue = position.bucket.passed >= PASSES
                load = -1 if overdue else self.usage.busiest(position.bucket.cost)
                seen.append((load, position))
                if position.planned or load <= 0 or load + 1 <= average:
                    break
        best = min(seen, default=None)
        for candidate in seen:
            if candidate is not best:
                heappush(self._ready, candidate[1])
        return None if best is None else best[1]

    def _park(self, position: Position) -> bool:
        """Park the bucket if its steps lack capacity. Return whether it was parked."""
        bucket = position.bucket
        capacity = self.usage.exhausted(capacities_of(bucket.cost)) or self._parked.kept_from(position)
        bucket.parked_at = capacity
        if capacity is None:
            return False
        self._parked.park(position, capacity)
        return True

    def _queue(self, bucket: Bucket) -> None:
        """Give the bucket a position by the wave of its first step. An earlier position becomes void."""
        self._positions += 1
        bucket.position, bucket.parked_at = self._positions, None
        planned = bool(bucket.planned)
        bucket.wave = max(self._next.get(bucket.rank, 0), bucket.last + 1)
        if planned:
            first = bucket.planned[0].wave
            planned = not bucket.keys or first <= bucket.wave
            bucket.wave = first if planned else bucket.wave
        heappush(self._ready, Position(bucket.rank, bucket.wave, self._positions, bucket, planned))

    def _unpark(self) -> bool:
        """Return the first of the parked buckets whose steps fit to the heap.

        Return whether there was one.
        """
        position = self._parked.take()
        if position is None:
            return False
        position.bucket.parked_at = None
        heappush(self._ready, position)
        return True


class StepCounts(NamedTuple):
    """Steps of planned partitions that have begun, since the start of the process."""

    same: int = 0
    """Those for which the step rule gave the planned list."""
    differs: int = 0
    """Those for which it gave another list, which was used: a broker, the ISR or limit R had changed."""
    replanned: int = 0
    """Those after a step that differed or was turned: the controller plans the rest of such a partition."""


class StepPlans:
    """The planned steps of each partition that have not begun. They end with its reassignment or target."""

    def __init__(self) -> None:
        self.counts = StepCounts()
        self._steps: dict[TopicPartition, Sequence[PlannedStep]] = {}
        """Empty for a partition that left its plan, which is counted as replanned."""

    def __len__(self) -> int:
        return len(self._steps)

    def __iter__(self) -> Iterator[TopicPartition]:
        return iter(self._steps)

    def put(self, key: TopicPartition, steps: Sequence[PlannedStep]) -> None:
        """Set the steps of the partition, without the one in flight."""
        self._steps[key] = steps

    def steps_of(self, key: TopicPartition) -> Sequence[PlannedStep]:
        """Return the partition's steps that have not begun."""
        return self._steps.get(key, ())

    def wave_of(self, key: TopicPartition) -> int | None:
        """Return the wave of the partition's next step; None if no plan gives one."""
        steps = self._steps.get(key)
        return steps[0].wave if steps else None

    def begun(self, key: TopicPartition, replicas: Replicas) -> None:
        """Count a step that begins, and advance the plan. A step that differs ends it."""
        steps = self._steps.get(key)
        if steps is None:
            return
        same, differs, replanned = self.counts
        if not steps:
            self.counts = StepCounts(same, differs, replanned + 1)
        elif steps[0].replicas == replicas:
            self.counts = StepCounts(same + 1, differs, replanned)
            self._steps[key] = steps[1:]
            if len(steps) == 1:
                del self._steps[key]
        else:
            self.counts = StepCounts(same, differs + 1, replanned)
            self._steps[key] = ()

    def turned(self, key: TopicPartition) -> None:
        """End the plan of a partition whose step in flight was turned to another list."""
        if key in self._steps:
            self._steps[key] = ()

    def discard(self, key: TopicPartition) -> None:
        """Forget the partition's steps."""
        self._steps.pop(key, None)
