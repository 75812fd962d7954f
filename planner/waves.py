"""Waves: sets of steps that can run at the same time under the limits of KIP-435.

First fit: each step, in the given order, is placed in the first wave that has capacity for it and comes after
the wave of the partition's previous step. The scan over the waves of a million steps must be fast, so a set
of waves is one integer with a bit per wave: the waves without capacity for a step are the union (`|`) of one
integer per limit. Only plans have waves. The server has a rolling window instead (`controller.machine`),
which does not wait for the slowest step of a wave.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

from controller.model.limits import UNLIMITED, PlanLimits


class Load(NamedTuple):
    """What one step counts against the limits.

    Brokers that get a replica, the broker that sends it, a new leader.

    `partition` identifies the partition. The steps of a partition are adjacent and in order.
    """

    partition: Hashable
    adding: Sequence[int]
    source: int
    leads: bool


class WaveCapacity:
    """The use of one limit in each wave.

    A step that exceeds the limit alone can be placed in an empty wave; otherwise it could not run at all.
    `first` is the first wave that is not full. Earlier waves are dropped, since the cost of a placement grows
    with the number of waves that are kept.
    """

    __slots__ = ("_closed", "_largest", "_limit", "_used", "first")

    def __init__(self, limit: int) -> None:
        self.first = 0
        self._limit = limit
        self._used: dict[int, int] = {}
        """Use by wave. Full waves are not in it."""
        self._closed = {1: 0}
        """For each amount that has been requested: the waves without capacity for it. Bit 0 is `first`."""
        self._largest = 1
        """The largest key of `_closed`."""

    def closed(self, start: int, amount: int) -> int:
        """Return the waves without capacity for the amount. Bit 0 is the wave `start`, at least `first`."""
        closed = self._closed.get(amount)
        if closed is None:
            closed = self._find_closed(amount)
        return closed >> (start - self.first)

    def take(self, wave: int, amount: int) -> None:
        """Add a step with this amount to the wave."""
        self._used[wave] = used = self._used.get(wave, 0) + amount
        # Most steps end here: the wave still has capacity for every amount, so no bit changes.
        if used + self._largest > self._limit:
            self._close(wave, used)

    def _close(self, wave: int, used: int) -> None:
        """Set the wave's bit for each amount that it has no capacity for. Drop the leading full waves."""
        bit = 1 << (wave - self.first)
        for amount in self._closed:
            if used + amount > self._limit:
                self._closed[amount] |= bit
        if used >= self._limit:
            del self._used[wave]
            if wave == self.first:
                self._drop(_lowest_clear(self._closed[1]))

    def _drop(self, count: int) -> None:
        """Drop the first `count` waves, which are full. Shorter integers make all operations faster."""
        self.first += count
        for amount in self._closed:
            self._closed[amount] >>= count

    def _find_closed(self, amount: int) -> int:
        """Compute the waves without capacity for an amount that is requested for the first time."""
        closed_waves = (wave for wave, used in self._used.items() if used + amount > self._limit)
        # Full waves are not in `_used`, but have their bit for amount 1.
        closed = self._closed[1] | sum(1 << (wave - self.first) for wave in closed_waves)
        self._closed[amount] = closed
        self._largest = max(self._largest, amount)
        return closed


class Waves:
    """Waves, numbered from 0, to which steps are added one by one."""

    def __init__(self, limits: PlanLimits) -> None:
        self._limits = limits
        self._leaders = WaveCapacity(limits.leaders)
        self._partitions = WaveCapacity(limits.partitions)
        self._replicas = WaveCapacity(limits.replicas)
        self._into = defaultdict[int, WaveCapacity](lambda: WaveCapacity(limits.per_broker))
        self._from = defaultdict[int, WaveCapacity](lambda: WaveCapacity(limits.per_broker))

    def place(self, load: Load, earliest: int) -> int:
        """Add the step to the first wave, from `earliest` on, that has capacity for it; return the wave."""
        uses = self._uses(load)
        # A wave before `first` of any limit is full for that limit.
        start = earliest
        for capacity, _ in uses:
            start = max(start, capacity.first)
        closed = 0
        for capacity, amount in uses:
            closed |= capacity.closed(start, amount)
        wave = start + _lowest_clear(closed)
        for capacity, amount in uses:
            capacity.take(wave, amount)
        return wave

    def _uses(self, load: Load) -> list[tuple[WaveCapacity, int]]:
        """Return the limits that apply to the step, and the amount of each. Unlimited ones are left out.

        A step that adds no replicas counts as a leader movement only. An amount above the limit counts as the
        limit, so that the step is placed in a wave of its own.
        """
        _, partitions, leaders, replicas, per_broker, _ = self._limits
        uses = [(self._leaders, 1)] if load.leads and leaders < UNLIMITED else []
        amount = len(load.adding)
        if amount:
            if partitions < UNLIMITED:
                uses.append((self._partitions, 1))
            if replicas < UNLIMITED:
                uses.append((self._replicas, min(amount, replicas)))
            if per_broker < UNLIMITED:
                uses.append((self._from[load.source], min(amount, per_broker)))
                uses += [(self._into[broker], 1) for broker in load.adding]
        return uses


def first_fit(loads: Iterable[Load], limits: PlanLimits) -> list[int]:
    """Return the wave of each step, numbered from 0."""
    waves = Waves(limits)
    placed = []
    previous: Hashable = None
    wave = -1
    for load in loads:
        # The steps of one partition run one after the other.
        wave = waves.place(load, wave + 1 if load.partition == previous else 0)
        previous = load.partition
        placed.append(wave)
    return placed


def _lowest_clear(bits: int) -> int:
    """Return the position of the lowest bit that is 0."""
    return (~bits & (bits + 1)).bit_length() - 1
