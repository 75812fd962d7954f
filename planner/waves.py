"""Waves: sets of steps that can run at the same time under the limits of KIP-435.

First fit: in the order given, each step goes to the earliest wave with room for it, after the wave of the same
partition's step before. A set of waves is one big integer, a bit a wave, so that a look at all of them costs little.
At run time there are no waves but a rolling window (`controller.reassignment.window`), which never waits for the slowest of a wave.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

from controller.scheduling.plan_limits import PlanLimits
from controller.scheduling.steps import UNLIMITED


class Load(NamedTuple):
    """What one step takes: the brokers that get a replica, the broker it comes from, whether leadership moves.

    `partition` tells which steps are of one partition; they are given one after the other, in their order.
    """

    partition: Hashable
    adding: Sequence[int]
    source: int
    leads: bool


class WaveRoom:
    """One limit: what of it is taken in each wave. More than the limit fits where nothing is taken yet.

    `first` is the first wave that is not full. Those before it are not remembered: what first fit costs grows with
    the number of waves that it looks at.
    """

    __slots__ = ("_closed", "_limit", "_taken", "_widest", "first")

    def __init__(self, limit: int) -> None:
        self.first = 0
        self._limit = limit
        self._taken: dict[int, int] = {}
        self._closed = {1: 0}
        self._widest = 1

    def closed(self, start: int, amount: int) -> int:
        """The waves without room for the amount, a bit each; bit 0 is `start`, which is not before `first`."""
        closed = self._closed.get(amount)
        if closed is None:
            closed = self._first_look(amount)
        return closed >> (start - self.first)

    def take(self, wave: int, amount: int) -> None:
        """Add a step with this amount to the wave."""
        self._taken[wave] = taken = self._taken.get(wave, 0) + amount
        if taken + self._widest > self._limit:
            self._close(wave, taken)

    def _close(self, wave: int, taken: int) -> None:
        bit = 1 << (wave - self.first)
        for amount in self._closed:
            if taken + amount > self._limit:
                self._closed[amount] |= bit
        if taken >= self._limit:
            del self._taken[wave]
            if wave == self.first:
                self._forget(_lowest_clear(self._closed[1]))

    def _forget(self, count: int) -> None:
        self.first += count
        for amount in self._closed:
            self._closed[amount] >>= count

    def _first_look(self, amount: int) -> int:
        tight = (wave for wave, taken in self._taken.items() if taken + amount > self._limit)
        closed = self._closed[1] | sum(1 << (wave - self.first) for wave in tight)
        self._closed[amount] = closed
        self._widest = max(self._widest, amount)
        return closed


class Waves:
    """Waves, numbered from 0, to which steps are added one by one."""

    def __init__(self, limits: PlanLimits) -> None:
        self._limits = limits
        self._leaders = WaveRoom(limits.leaders)
        self._partitions = WaveRoom(limits.partitions)
        self._replicas = WaveRoom(limits.replicas)
        self._into = defaultdict[int, WaveRoom](lambda: WaveRoom(limits.per_broker))
        self._from = defaultdict[int, WaveRoom](lambda: WaveRoom(limits.per_broker))

    def place(self, load: Load, earliest: int) -> int:
        """Add the step to the first wave, from `earliest` on, that has capacity for it; return the wave."""
        rooms = self._rooms(load)
        start = earliest
        for room, _ in rooms:
            start = max(start, room.first)
        closed = 0
        for room, amount in rooms:
            closed |= room.closed(start, amount)
        wave = start + _lowest_clear(closed)
        for room, amount in rooms:
            room.take(wave, amount)
        return wave

    def _rooms(self, load: Load) -> list[tuple[WaveRoom, int]]:
        """Yield the limits that apply to the step. A step that adds no replicas counts as a leader movement only."""
        _, partitions, leaders, replicas, per_broker = self._limits
        rooms = [(self._leaders, 1)] if load.leads and leaders < UNLIMITED else []
        amount = len(load.adding)
        if amount:
            if partitions < UNLIMITED:
                rooms.append((self._partitions, 1))
            if replicas < UNLIMITED:
                rooms.append((self._replicas, min(amount, replicas)))
            if per_broker < UNLIMITED:
                rooms.append((self._from[load.source], min(amount, per_broker)))
                rooms += [(self._into[broker], 1) for broker in load.adding]
        return rooms


def first_fit(loads: Iterable[Load], limits: PlanLimits) -> list[int]:
    """Return the wave of each step, numbered from 0."""
    waves = Waves(limits)
    placed = []
    before: Hashable = None
    wave = -1
    for load in loads:
        wave = waves.place(load, wave + 1 if load.partition == before else 0)
        before = load.partition
        placed.append(wave)
    return placed


def _lowest_clear(bits: int) -> int:
    return (~bits & (bits + 1)).bit_length() - 1
