"""Even out the bytes of brokers after replicas have their places, and keep their disks below their headroom.

A plan with given counts and even bytes is a knapsack problem, so this is a heuristic: a broker with too many
bytes and one with too few exchange two replicas, or one replica changes its broker where the counts allow it.
Replicas that move anyway come first: they cost nothing. Each exchange makes bytes more even, so the search
ends.

Replicas that do not fit on the disks of a broker are placed on other brokers. The arriving replicas must fit
beside the present ones. Nothing counts as freed before its copy is complete.
"""

from typing import NamedTuple

import numpy as np

from common.units import in_bytes
from planner.proposals.problem.arrays import Flags, Ints
from planner.proposals.problem.goal import ProposalError
from planner.proposals.problem.table import per_broker
from planner.proposals.solver.changed_plan import Placement
from planner.proposals.solver.class_flow import Input, new_replicas
from planner.proposals.solver.remainder import Shares

PARTNERS = 24
"""Small replicas of the light broker that are considered in an exchange."""
LIGHTEST = 12
"""Brokers that are tried as partners of a broker with too many bytes."""


class Budget(NamedTuple):
    """Moves and bytes that an exchange may add to the plan."""

    moves: int
    bytes: int


class ExchangeKind(NamedTuple):
    """Which replicas an exchange takes: moving ones or those that stay, on either side."""

    moving: bool
    back: bool | None
    """Whether the other replica is moving; None if only one replica changes its broker."""


KINDS = (
    ExchangeKind(True, None),
    ExchangeKind(True, True),
    ExchangeKind(False, None),
    ExchangeKind(True, False),
    ExchangeKind(False, True),
    ExchangeKind(False, False),
)
"""In order of preference: by the moves that they add."""


def even_bytes(given: Input, sets: Ints, shares: Shares, budget: Budget) -> Ints:
    """Return sets with more even bytes. Counts stay in the ranges where they are, and the rack rule is kept.

    `sets` has kept replicas at their positions in the lists. No broker receives that may not.
    """
    return _Balance(given, sets, shares, budget).solve()


class _Balance:
    def __init__(self, given: Input, sets: Ints, shares: Shares, budget: Budget) -> None:
        self._placement = Placement(given, sets, shares.fixed)
        self._given, self._layout, self._ranges = given, given.layout, given.ranges
        self._moves, self._bytes = budget
        self._least, self._most = shares.least, shares.most
        self._sizes_differ = given.sizes_differ
        self._held, self._counts = self._placement.held, self._placement.counts

    def solve(self) -> Ints:
        stuck = np.zeros(self._layout.size, np.bool_)
        receives = self._layout.receives
        while True:
            over = np.where(receives & ~stuck, self._held - self._most, 0)
            lack = np.where(receives & ~stuck, self._least - self._held, 0)
            heavy, light = int(over.argmax()), int(lack.argmax())
            if over[heavy] <= 0 and lack[light] <= 0:
                return self._placement.sets
            improved = self._relieve(heavy) if over[heavy] >= lack[light] else self._supply(light)
            if not improved:
                stuck[heavy if over[heavy] >= lack[light] else light] = True

    # ---- pairs of brokers ----------------------------------------------------------------------------------

    def _relieve(self, heavy: int) -> bool:
        """Find a partner with room for a broker with too many bytes."""
        room = np.where(self._layout.receives, self._most - self._held, -1)
        room[heavy] = -1
        partners = np.argsort(-room, kind="stable")[:LIGHTEST]
        return any(self._exchange(heavy, int(light)) for light in partners if room[light] > 0)

    def _supply(self, light: int) -> bool:
        """Find a partner with bytes to spare for a broker with too few."""
        spare = np.where(self._layout.receives, self._held - self._least, -1)
        spare[light] = -1
        partners = np.argsort(-spare, kind="stable")[:LIGHTEST]
        return any(self._exchange(int(heavy), light) for heavy in partners if spare[heavy] > 0)

    def _exchange(self, heavy: int, light: int) -> bool:
        """Shift bytes from one broker to the other, as cheaply as possible.

        Return whether any were shifted.
        """
        over = max(0, int(self._held[heavy] - self._most[heavy]))
        lack = max(0, int(self._least[light] - self._held[light]))
        limit = int(min(self._held[heavy] - self._least[heavy], self._most[light] - self._held[light]))
        wanted = min(over, lack) if over and lack else max(over, lack)
        if limit <= 0:
            limit = wanted
        wanted = min(wanted, limit)
        return any(self._try(kind, heavy, light, wanted, limit) for kind in KINDS)

    def _try(self, kind: ExchangeKind, heavy: int, light: int, wanted: int, limit: int) -> bool:
        if kind.back is None and not self._counts_allow(heavy, light):
            return False
        large = self._placement.entries[heavy][kind.moving]
        if not len(large):
            return False
        sizes = self._placement.sizes(large)
        if kind.back is None:
            small, back_sizes = np.full(1, -1), np.zeros(1, np.int64)
        else:
            small = self._placement.entries[light][kind.back][:PARTNERS]
            back_sizes = self._placement.sizes(small)
        if not len(small):
            return False
        at = np.searchsorted(sizes, back_sizes + wanted)
        near = np.clip(at[:, None] + np.arange(-3, 3), 0, len(large) - 1)
        shift = sizes[near] - back_sizes[:, None]
        # At least a third of what is wanted and possible, so that few exchanges suffice; never more than both
        # can bear.
        possible = int(sizes[-1] - back_sizes[0])
        fits = (shift * 3 >= min(wanted, possible)) & (shift > 0) & (shift <= limit)
        for position in np.argsort(
            np.where(fits, np.abs(shift - wanted), np.iinfo(np.int64).max), axis=None, kind="stable"
        )[:16].tolist():
            row, column = divmod(position, near.shape[1])
            if not fits[row, column]:
                return False
            if self._swap(int(large[near[row, column]]), int(small[row]), heavy, light):
                return True
        return False

    def _counts_allow(self, heavy: int, light: int) -> bool:
        if self._ranges is None:
            return True
        return bool(
            self._counts[heavy] > self._ranges.least[heavy] and self._counts[light] < self._ranges.most[light]
        )

    # ---- single exchanges ----------------------------------------------------------------------------------

    def _swap(self, entry: int, back: int, heavy: int, light: int) -> bool:
        """Move one replica to the light broker, and another one back if `back` is not -1.

        Return whether that is allowed.
        """
        placement = self._placement
        changes = [(entry, heavy, light)] + ([(back, light, heavy)] if back >= 0 else [])
        if not all(placement.may_change(each, target) for each, _, target in changes):
            return False
        moves, size = map(sum, zip(*(placement.cost(*each) for each in changes), strict=True))
        if moves > self._moves or size > self._bytes or not self._improves(changes, heavy, light):
            return False
        self._moves, self._bytes = self._moves - moves, self._bytes - size
        for each in changes:
            placement.apply(*each)
        return True

    def _improves(self, changes: list[tuple[int, int, int]], heavy: int, light: int) -> bool:
        """Whether both brokers are nearer to their ranges afterwards.

        That is not certain where replicas have another size than their copies.
        """
        if not self._sizes_differ:
            return True
        more = dict.fromkeys((heavy, light), 0)
        for entry, source, target in changes:
            more[source] -= int(self._placement.sizes(np.array([entry]))[0])
            more[target] += self._placement.size_on(entry, target)
        before = sum(self._outside(each, 0) for each in more)
        return sum(self._outside(each, size) for each, size in more.items()) < before

    def _outside(self, broker: int, more: int) -> int:
        """Return how many bytes a broker is outside of its range if it holds so many more."""
        held = int(self._held[broker]) + more
        return max(0, held - int(self._most[broker]), int(self._least[broker]) - held)


def within_disks(given: Input, sets: Ints, brokers: Ints) -> Ints:
    """Return sets in which every broker has room for what arrives.

    Raises ProposalError with a line for each that has not.

    `brokers` are the ids. Counts stay in their ranges if possible; disks come first.
    """
    if (arriving_bytes(given, sets) <= given.room).all():
        return sets
    placement = Placement(given, sets, np.zeros(given.layout.size, np.int64))
    for strict in (True, False):
        for broker in np.flatnonzero(placement.room < 0).tolist():
            _relieve(given, placement, broker, strict=strict)
    if full := np.flatnonzero(placement.room < 0).tolist():
        raise ProposalError([_reason(given, placement, brokers, broker) for broker in full])
    return placement.sets


def arriving_bytes(given: Input, sets: Ints) -> Ints:
    """Return the bytes that arrive at each broker."""
    rows = np.flatnonzero(new_replicas(given.lists, sets))
    new = (sets[rows] >= 0) & ~(sets[rows][:, :, None] == given.lists[rows][:, None, :]).any(axis=2)
    return per_broker(np.where(new, sets[rows], -1), given.bytes[rows], given.layout.size)


def room_left(given: Input, sets: Ints) -> Ints:
    """Return the room of each broker beside what arrives in a plan."""
    return given.room - arriving_bytes(given, sets)


def _relieve(given: Input, placement: Placement, broker: int, *, strict: bool) -> None:
    """Place arriving replicas on other brokers, large ones first, each on the broker with the most room."""
    for entry in placement.entries[broker][True][::-1].tolist():
        if placement.room[broker] >= 0:
            return
        targets = np.flatnonzero(_open(given, placement, broker, strict=strict))
        by_room = targets[np.argsort(-placement.room[targets], kind="stable")]
        for target in by_room.tolist():
            if placement.may_change(entry, target):
                placement.apply(entry, broker, target)
                break


def _open(given: Input, placement: Placement, broker: int, *, strict: bool) -> Flags:
    """Return the brokers that may take a replica of this one.

    With `strict`, they may only if counts stay in their ranges.
    """
    places = given.layout.receives & (placement.room > 0)
    if strict and given.ranges is not None:
        places &= placement.counts < given.ranges.most
        places &= placement.counts[broker] > given.ranges.least[broker]
    return places


def _reason(given: Input, placement: Placement, brokers: Ints, broker: int) -> str:
    room = int(given.room[broker])
    arriving = room - int(placement.room[broker])
    return (
        f"no room: broker {brokers[broker]} would receive {in_bytes(arriving)}, but has room for"
        f" {in_bytes(max(0, room))} below the headroom of its disks"
    )
