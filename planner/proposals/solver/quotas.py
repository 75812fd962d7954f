"""Plans for large clusters: how many replicas each broker sheds and takes, then which ones.

The number of moves has a lower bound that follows from counts alone: a replica that must leave needs a new place, a broker above
its range must shed, and one below must receive. Where the rack rule fixes how many replicas of a partition each rack holds, this
is true of each rack on its own. A plan that reaches the bound, and keeps all counts in their ranges, is optimal without a solver.
It is not always found; then the class flow decides.
"""

from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np

from planner.proposals.problem.arrays import UNBOUNDED, Flags, Ints, filled, lowered
from planner.proposals.problem.layout import first_to_drop
from planner.proposals.problem.table import IN_SYNC, per_broker
from planner.proposals.solver.class_flow import Input, Ranges

CHUNKS = 64
"""Replicas that leave for the factor or the rack rule are chosen in this many rounds; counts are brought up to date between."""
MOST_STUCK = 2_000
"""Most replicas for which another one is placed on another broker to make room."""


class Shares(NamedTuple):
    """Wanted bytes of each broker, out-of-scope partitions included, and the bytes of these partitions."""

    least: Ints
    most: Ints
    fixed: Ints

    def equals(self, other: "Shares") -> bool:
        """Return whether all wanted bytes are the same."""
        return np.array_equal(self.least, other.least) and np.array_equal(self.most, other.most)


class QuotaPlan(NamedTuple):
    """A plan, and whether counts alone prove that no other moves fewer replicas."""

    sets: Ints
    """New set of each partition: kept replicas at their positions in its list, padded with -1."""
    bound: int
    """No plan moves fewer replicas."""
    bytes_bound: int
    """No plan copies fewer bytes; 0 without `shares` if nothing has to leave."""
    complete: bool
    """Whether every replica found a place within the quotas."""
    lowest_share: bool
    """Whether counts alone prove that no plan with as few moves has a lower highest share of a broker. Only if it is complete."""


def count_bound(given: Input) -> Callable[[Ranges], int]:
    """Return a function from ranges of counts to the least number of moves of any plan that keeps counts in them."""
    quotas = _Quotas(given, None)
    return quotas.bound


def by_quotas(given: Input, shares: Shares | None = None, *, shed: bool = True) -> QuotaPlan:
    """Return a plan. With `shares`, replicas are chosen and placed so that bytes are as even as counts allow.

    Without ranges of counts, replicas leave only for even bytes, and not at all without `shed`.
    """
    return _Quotas(given, shares).solve(shed=shed)


class _Quotas:
    def __init__(self, given: Input, shares: Shares | None) -> None:
        self._given, self._layout, self._shares = given, given.layout, shares
        rows = len(given.lists)
        width = max(given.lists.shape[1], int(given.factor.max(initial=1)))
        self._old = np.full((rows, width), -1, np.int64)
        self._old[:, : given.lists.shape[1]] = given.lists
        padding = ((0, 0), (0, width - given.lists.shape[1]))
        self._new = np.where(np.pad(given.stays, padding), self._old, -1)
        self._state = np.pad(given.state, padding)
        self._counts = given.fixed + per_broker(self._new, None, self._layout.size)
        self._present, self._kept = self._counts.copy(), self._new.copy()
        self._drop()
        untouched = (self._kept == self._new).all(axis=1) & (given.ranges is None)
        self._firm = given.fixed + per_broker(self._new[untouched], None, self._layout.size)
        """Replicas of each broker that no plan with the fewest moves moves or drops."""
        self._fixed = self._racks_are_fixed()
        self._scope = self._layout.rack if self._fixed else np.zeros(self._layout.size, np.int64)
        missing = self._given.factor - (self._new >= 0).sum(axis=1)
        self._required = int(missing.sum())
        self._required_bytes = int((missing * self._given.bytes).sum())
        self._complete = True

    def solve(self, *, shed: bool) -> QuotaPlan:
        """Choose which replicas leave, and place as many new ones."""
        ranges, shares = self._given.ranges, self._shares
        bound = self._required if ranges is None else self.bound(ranges)
        bytes_bound = self._required_bytes if shares is None else self._bytes_bound(shares)
        if self._given.fewest_bytes and ranges is not None:
            bytes_bound = max(bytes_bound, self._least_bytes(ranges))
        if ranges is not None:
            self._shed(self._leaving(ranges))
        elif shares is not None and shed:
            self._shed_largest(shares)
        self._fill()
        return QuotaPlan(self._new, bound, bytes_bound, self._complete, self._has_lowest_share())

    def bound(self, ranges: Ranges) -> int:
        """Return the least number of moves of a plan that keeps counts in these ranges."""
        fixed = self._given.fixed
        return max(self._arriving(self._present, fixed, self._missing(self._kept), ranges), self._required)

    def _bytes_bound(self, shares: Shares) -> int:
        """Return the least number of bytes that a plan copies which keeps bytes in their ranges."""
        present = shares.fixed + per_broker(self._kept, self._given.bytes, self._layout.size)
        missing = self._missing(self._kept, self._given.bytes)
        wanted = Ranges(shares.least, shares.most)
        return max(self._arriving(present, shares.fixed, missing, wanted), self._required_bytes)

    def _least_bytes(self, ranges: Ranges) -> int:
        """Return the least number of bytes of a plan that keeps counts in these ranges: each broker sheds its smallest replicas.

        Where replicas are dropped for a lower factor, these may be the ones that leave; then only what is required counts.
        """
        if ((self._kept >= 0).sum(axis=1) > self._given.factor).any():
            return self._required_bytes
        over = np.where(
            self._layout.usable,
            np.clip(self._present - ranges.most, 0, self._present - self._given.fixed),
            0,
        )
        least = int(((self._given.factor - (self._kept >= 0).sum(axis=1)) * self._given.bytes).sum())
        for broker in np.flatnonzero(over).tolist():
            sizes = np.sort(self._given.bytes[(self._kept == broker).any(axis=1)])
            least += int(sizes[: over[broker]].sum())
        return least

    def _arriving(self, present: Ints, fixed: Ints, missing: Ints, wanted: Ranges) -> int:
        """Return how much has to arrive at brokers, in replicas or bytes.

        In each scope, at least as much arrives as brokers below their range lack. It is also as much as leaves, which is at least
        what is above the ranges, and what is missing now.
        """
        usable = self._layout.usable
        over = np.where(usable, np.clip(present - wanted.most, 0, present - fixed), 0)
        lack = np.where(self._layout.receives, np.maximum(0, wanted.least - present), 0)
        arriving = 0
        for each in np.unique(self._scope[usable]).tolist():
            brokers = usable & (self._scope == each)
            arriving += max(int(lack[brokers].sum()), int(missing[each] + over[brokers].sum()), 0)
        return arriving

    def _has_lowest_share(self) -> bool:
        counts = self._given.fixed + per_broker(self._new, None, self._layout.size)
        arriving = per_broker(np.where(self._new == self._old, -1, self._new), None, self._layout.size)
        usable = self._layout.usable
        scopes = [np.flatnonzero(usable & (self._scope == each)) for each in np.unique(self._scope[usable])]
        return all(self._share_is_lowest(brokers, counts, arriving) for brokers in scopes)

    def _share_is_lowest(self, brokers: Ints, counts: Ints, arriving: Ints) -> bool:
        """Whether these brokers cannot hold as much with lower shares, or without that more replicas leave them."""
        weights, present, counts = self._layout.weights[brokers], self._present[brokers], counts[brokers]
        fullest = int((counts / weights).argmax())
        # The most that each may hold with a lower share than the fullest one.
        below = -(-int(counts[fullest]) * weights // int(weights[fullest])) - 1
        most = np.where(self._layout.receives[brokers], below, np.minimum(below, present))
        if self._given.ranges is not None:
            most = np.minimum(most, self._given.ranges.most[brokers])
        must_leave = int(np.maximum(0, present - below).sum())
        leaving = int(present.sum() - counts.sum() + arriving[brokers].sum())
        held = int(counts.sum())
        return bool((self._firm[brokers] > below).any() or most.sum() < held or must_leave > leaving)

    # ---- what has to leave --------------------------------------------------------------------------------------

    def _drop(self) -> None:
        """Remove replicas above the wanted factor, and those against the rack rule if it is to be repaired."""
        given, layout = self._given, self._layout
        kept = (self._new >= 0).sum(axis=1)
        surplus = np.maximum(0, kept - given.factor)
        if given.repair_racks and layout.shared:
            surplus = np.maximum(surplus, self._excess(np.flatnonzero(kept >= 0), given.factor))
        for rows in np.array_split(np.flatnonzero(surplus), CHUNKS):
            for turn in range(int(surplus[rows].max(initial=0))):
                self._drop_one(rows[surplus[rows] > turn])

    def _excess(self, rows: Ints, factor: Ints) -> Ints:
        """Return how many replicas of each row must leave: those in full racks, or as many as other racks lack."""
        held = self._layout.held(self._new[rows])
        over = np.maximum(0, held - self._layout.most[factor[rows]]).sum(axis=1)
        short = np.maximum(0, self._layout.least[factor[rows]] - held).sum(axis=1)
        holes = np.maximum(0, factor[rows] - held.sum(axis=1))
        excess: Ints = np.maximum(over, short - holes)
        return excess

    def _drop_one(self, rows: Ints) -> None:
        """Remove a replica of each row."""
        if not len(rows):
            return
        sets, factor = self._new[rows], self._given.factor[rows]
        slot = first_to_drop(self._layout, sets, sets >= 0, self._state[rows], factor, self._counts)
        self._counts -= np.bincount(sets[np.arange(len(rows)), slot], minlength=self._layout.size)
        self._new[rows, slot] = -1

    def _racks_are_fixed(self) -> bool:
        """Whether the rack rule determines how many replicas of each partition every rack holds."""
        layout, factor = self._layout, self._given.factor
        if not layout.shared:
            return False
        for each in np.unique(factor).tolist():
            if (layout.least[each] != layout.most[each]).any():
                return False
        held = layout.held(self._new)
        return bool((held <= layout.most[factor]).all())

    def _missing(self, sets: Ints, sizes: Ints | None = None) -> Ints:
        """Return how many replicas (or bytes) each scope should hold above those that it has in these sets."""
        given, missing = self._given, np.zeros(len(self._layout.brokers_of), np.int64)
        weights = np.ones(len(sets), np.int64) if sizes is None else sizes
        held = per_broker(sets, weights, self._layout.size)
        if not self._fixed:
            missing[0] = int((given.factor * weights).sum()) - int(held.sum())
            return missing
        for factor in np.unique(given.factor).tolist():
            missing += self._layout.most[factor] * int(weights[given.factor == factor].sum())
        np.subtract.at(missing, self._layout.rack, held)
        return missing

    def _leaving(self, ranges: Ranges) -> Ints:
        """Return how many replicas each broker sheds for even counts."""
        leaving, holes = np.zeros(self._layout.size, np.int64), self._missing(self._new)
        usable, receives = self._layout.usable, self._layout.receives
        over = np.where(usable, np.clip(self._counts - ranges.most, 0, self._counts - self._given.fixed), 0)
        lack = np.where(receives, np.maximum(0, ranges.least - self._counts), 0)
        for each in np.unique(self._scope[usable]).tolist():
            brokers = np.flatnonzero(usable & (self._scope == each))
            short = int(lack[brokers].sum() - holes[each] - over[brokers].sum())
            rest = self._counts[brokers] - over[brokers]
            floor = np.maximum(ranges.least[brokers], self._given.fixed[brokers])
            lower = lowered(rest, short, np.minimum(rest, floor), self._layout.weights[brokers])
            leaving[brokers] = over[brokers] + lower
        return leaving

    # ---- which replicas leave -----------------------------------------------------------------------------------

    def _shed(self, leaving: Ints) -> None:
        """Choose the replicas that leave each broker."""
        donors = np.flatnonzero(leaving)
        if not len(donors):
            return
        slots = np.flatnonzero(np.isin(self._new, donors).ravel())
        brokers = self._new.ravel()[slots]
        order = np.argsort(brokers, kind="stable")
        slots, starts = slots[order], np.searchsorted(brokers[order], [*donors.tolist(), self._layout.size])
        targets = None if self._shares is None else self._shed_bytes(self._shares, leaving > 0)
        leaders = np.bincount(self._given.lists[:, 0], minlength=self._layout.size)
        share = -(-len(self._given.lists) // max(1, int(self._layout.receives.sum())))
        for number, donor in enumerate(donors.tolist()):
            mine = slots[starts[number] : starts[number + 1]]
            wanted = None if targets is None else int(targets[donor])
            followers_first = max(0, int(leaders[donor]) - share)
            most = UNBOUNDED if self._given.fewest_bytes else followers_first
            chosen = self._chosen(mine, int(leaving[donor]), wanted, most)
            self._new.ravel()[chosen] = -1
        self._counts -= leaving

    def _chosen(self, slots: Ints, count: int, wanted: int | None, leaders: int) -> Ints:
        """Choose `count` of the replicas at these slots, with `wanted` bytes in all if given, else the smallest.

        Leaders beyond `leaders` come last. Those that are not in sync come first, unless that is farther from the wanted bytes.
        """
        rows, position = np.divmod(slots, self._new.shape[1])
        sizes = self._given.bytes[rows]
        leads = position == 0
        rank = np.cumsum(leads) * leads
        pool = np.flatnonzero(rank <= leaders)
        if len(pool) < count:
            pool = np.arange(len(slots))[np.argsort(rank, kind="stable")][:count]
        behind = self._state.ravel()[slots] != IN_SYNC
        pool = pool[np.lexsort((slots[pool], ~behind[pool], sizes[pool]))]
        if wanted is None:
            if not self._given.fewest_bytes:
                pool = pool[np.argsort(~behind[pool], kind="stable")]
            return slots[pool[:count]]
        # Whatever is nearest to the wanted bytes; the first one that misses them by at most 2 %.
        best, missed = pool[:0], UNBOUNDED
        for candidates in self._candidates(slots, sizes, pool, behind, count):
            chosen = _nearest(sizes, *candidates, count, wanted)
            distance = abs(int(sizes[chosen].sum()) - wanted)
            if distance < missed:
                best, missed = chosen, distance
            if missed * 50 <= wanted:
                break
        return slots[best]

    def _candidates(
        self, slots: Ints, sizes: Ints, pool: Ints, behind: Flags, count: int
    ) -> Iterator[tuple[Ints, Ints]]:
        """Yield positions that are chosen in any case, and those that the rest is chosen from, in order of size."""
        if behind[pool].any():
            yield pool[behind[pool]][:count], pool[~behind[pool]]
        yield pool[:0], pool
        yield pool[:0], np.lexsort((slots, sizes))

    def _shed_bytes(self, shares: Shares, leaving: Flags) -> Ints:
        """Return how many bytes these brokers should shed: down to their most, or further if other brokers lack more."""
        usable, receives = self._layout.usable, self._layout.receives
        held = shares.fixed + per_broker(self._new, self._given.bytes, self._layout.size)
        missing = self._missing(self._new, self._given.bytes)
        lack = np.where(receives, np.maximum(0, shares.least - held), 0)
        over = np.where(leaving, np.clip(held - shares.most, 0, held - shares.fixed), 0)
        for each in np.unique(self._scope[usable]).tolist():
            mine = usable & (self._scope == each)
            donors = np.flatnonzero(mine & leaving)
            rest = held[donors] - over[donors]
            short = int(lack[mine].sum() - missing[each] - over[donors].sum())
            floor = np.maximum(shares.least[donors], shares.fixed[donors])
            over[donors] += lowered(rest, short, np.minimum(rest, floor))
        return over

    def _shed_largest(self, shares: Shares) -> None:
        """Remove replicas for even bytes: large ones, so that few have to leave."""
        targets = self._shed_bytes(shares, self._layout.usable)
        for broker in np.flatnonzero(targets).tolist():
            slots = np.flatnonzero((self._new == broker).ravel())
            sizes = self._given.bytes[slots // self._new.shape[1]]
            order = np.lexsort((slots, self._state.ravel()[slots] == IN_SYNC, -sizes))
            self._new.ravel()[slots[order[_largest(sizes[order], int(targets[broker]))]]] = -1
        self._counts = self._given.fixed + per_broker(self._new, None, self._layout.size)

    # ---- where replicas go --------------------------------------------------------------------------------------

    def _fill(self) -> None:
        """Place the missing replicas, large ones first, each on the broker that lacks most bytes and has places left."""
        missing = self._given.factor - (self._new >= 0).sum(axis=1)
        rows = np.repeat(np.arange(len(missing)), missing)
        if not len(rows):
            return
        racks = self._hole_racks(missing) if self._fixed else np.zeros(len(rows), np.int64)
        places = self._places(np.bincount(racks, minlength=len(self._layout.brokers_of)))
        order = np.lexsort((rows, -self._given.bytes[rows]))
        filler = _Filler(self._given, self._old, self._new, places, self._lacks(), self._fixed)
        self._complete = filler.place_all(rows[order], racks[order])

    def _hole_racks(self, missing: Ints) -> Ints:
        """Return the rack of each missing replica: the i-th one of a partition goes to the i-th place that a rack lacks."""
        each = np.flatnonzero(missing)
        lacking = self._layout.most[self._given.factor[each]] - self._layout.held(self._new[each])
        racks: Ints = np.repeat(np.tile(np.arange(lacking.shape[1]), len(each)), lacking.ravel())
        return racks

    def _places(self, holes: Ints) -> Ints:
        """Return how many new replicas each broker takes: first up to its least, then so that the fullest is least full."""
        places, ranges = np.zeros(self._layout.size, np.int64), self._given.ranges
        if ranges is None and self._shares is not None:
            return np.where(self._layout.receives, UNBOUNDED, 0)
        for each in np.flatnonzero(holes).tolist():
            brokers = np.flatnonzero(self._layout.receives & (self._scope == each))
            counts, left = self._counts[brokers], int(holes[each])
            weights = self._layout.weights[brokers]
            most = np.full(len(brokers), UNBOUNDED)
            if ranges is not None:
                first = np.maximum(0, ranges.least[brokers] - counts)
                if first.sum() <= left:
                    places[brokers], left, counts = first, left - int(first.sum()), counts + first
                most = ranges.most[brokers]
            places[brokers] += filled(counts, left, most, weights)
        return places

    def _lacks(self) -> Ints:
        """Return how many bytes each broker is below the one with the most, or below its share."""
        held = per_broker(self._new, self._given.bytes, self._layout.size)
        if self._shares is None:
            return -held // np.maximum(1, self._layout.weights)
        lacks: Ints = (self._shares.least + self._shares.most) // 2 - held - self._shares.fixed
        return lacks


def _largest(sizes: Ints, wanted: int) -> Ints:
    """Return positions of sizes, in descending order, whose sum is at most `wanted`: each time the largest one that fits."""
    chosen: list[Ints] = []
    start = 0
    while start < len(sizes):
        start += int(np.searchsorted(-sizes[start:], -wanted))
        fitting = int(np.searchsorted(np.cumsum(sizes[start:]), wanted, side="right"))
        if not fitting:
            break
        chosen.append(np.arange(start, start + fitting))
        wanted -= int(sizes[start : start + fitting].sum())
        start += fitting
    return np.concatenate(chosen) if chosen else np.zeros(0, np.int64)


def _window(sizes: Ints, count: int, wanted: int) -> Ints:
    """Return the positions of `count` adjacent sizes, in ascending order, whose sum is nearest to `wanted`."""
    sums = np.concatenate([[0], np.cumsum(sizes)])
    totals = sums[count:] - sums[:-count]
    first = int(np.abs(totals - wanted).argmin())
    return np.arange(first, first + count)


def _nearest(sizes: Ints, certain: Ints, others: Ints, count: int, wanted: int) -> Ints:
    """Return `count` positions: the certain ones, and adjacent others with which the sum is nearest to `wanted`."""
    if len(certain) == count:
        return certain
    rest = _window(sizes[others], count - len(certain), wanted - int(sizes[certain].sum()))
    return np.concatenate([certain, others[rest]])


class _Filler:
    """Places replicas one after the other."""

    def __init__(self, given: Input, old: Ints, new: Ints, places: Ints, lacks: Ints, fixed: bool) -> None:
        self._given, self._layout, self._fixed = given, given.layout, fixed
        self._old, self._new = old, new
        self._lacks, self._places, self._room = lacks.tolist(), places.tolist(), given.room.tolist()
        self._rack = given.layout.rack.tolist() if given.layout.shared else [0] * given.layout.size
        self._heaps: dict[int, list[tuple[int, int]]] = {}
        for broker in np.flatnonzero(places).tolist():
            self._heaps.setdefault(self._rack[broker], []).append((-self._lacks[broker], broker))
        for heap in self._heaps.values():
            heapify(heap)
        self._placed: dict[int, list[tuple[int, int]]] = {}

    def place_all(self, rows: Ints, racks: Ints) -> bool:
        """Place a replica of each row, in the given rack if racks are fixed. Return whether all found a place."""
        sizes = self._given.bytes[rows].tolist()
        olds, slots = self._old[rows].tolist(), self._free_slots(rows)
        news: dict[int, list[int]] = {}
        stuck = []
        where = zip(rows.tolist(), racks.tolist(), olds, slots, sizes, strict=True)
        placed_rows, placed_slots, placed_on = [], [], []
        for row, rack, old, slot, size in where:
            own = news.setdefault(row, [])
            options = (rack,) if self._fixed else self._racks_of(row, own)
            broker = self._take(options, old, own, size)
            if broker < 0:
                stuck.append((row, rack, slot))
                continue
            own.append(broker)
            placed_rows.append(row)
            placed_slots.append(slot)
            placed_on.append(broker)
        self._new[placed_rows, placed_slots] = placed_on
        return not stuck or (len(stuck) <= MOST_STUCK and all(self._exchange(*each) for each in stuck))

    def _free_slots(self, rows: Ints) -> list[int]:
        """Return a position for each new replica: those of lost replicas first."""
        distinct = np.unique(rows)
        order = np.argsort(rows, kind="stable")
        ordered = rows[order]
        first = np.searchsorted(ordered, distinct)
        turn = np.arange(len(rows)) - np.repeat(first, np.diff([*first.tolist(), len(rows)]))
        news, olds = self._new[ordered], self._old[ordered]
        priority = np.where(news >= 0, 2, np.where(olds >= 0, 0, 1))
        columns = np.argsort(priority, axis=1, kind="stable")
        slots = np.empty(len(rows), np.int64)
        slots[order] = columns[np.arange(len(rows)), turn]
        result: list[int] = slots.tolist()
        return result

    def _racks_of(self, row: int, own: list[int]) -> list[int]:
        """Return the racks where a replica of the row may go: those that must have one more, else those that may."""
        if not self._layout.shared:
            return [0]
        factor = int(self._given.factor[row])
        held = np.bincount(
            self._layout.rack[[*self._new[row][self._new[row] >= 0].tolist(), *own]],
            minlength=len(self._layout.brokers_of),
        )
        lacking = np.flatnonzero(held < self._layout.least[factor])
        racks: list[int] = (
            lacking if len(lacking) else np.flatnonzero(held < self._layout.most[factor])
        ).tolist()
        return racks

    def _take(self, racks: "tuple[int, ...] | list[int]", old: list[int], own: list[int], size: int) -> int:
        """Take a place on the broker that lacks most. Return -1 if the partition has replicas on all that have places."""
        best: list[tuple[int, int]] | None = None
        aside: list[tuple[list[tuple[int, int]], tuple[int, int]]] = []
        for rack in racks:
            heap = self._heaps.get(rack)
            while heap and (heap[0][1] in old or heap[0][1] in own or size > self._room[heap[0][1]]):
                aside.append((heap, heappop(heap)))
            if heap and (best is None or heap[0] < best[0]):
                best = heap
        broker = -1
        if best is not None:
            broker = heappop(best)[1]
            self._lacks[broker] -= size
            self._room[broker] -= size
            self._places[broker] -= 1
            if self._places[broker]:
                heappush(best, (-self._lacks[broker], broker))
        for heap, entry in aside:
            heappush(heap, entry)
        return broker

    def _exchange(self, row: int, rack: int, slot: int) -> bool:
        """Place a replica on a full broker, and place one of that broker's new replicas on another one."""
        racks = [rack] if self._fixed else self._racks_of(row, [])
        free = [broker for broker, places in enumerate(self._places) if places]
        taken = set(self._old[row].tolist()) | set(self._new[row].tolist())
        arrived = (self._new != self._old) & (self._new >= 0)
        for broker in np.flatnonzero(self._layout.receives).tolist():
            if broker in taken or self._rack[broker] not in racks:
                continue
            for other, position in np.argwhere(arrived & (self._new == broker)).tolist():
                members = set(self._old[other].tolist()) | set(self._new[other].tolist())
                for target in free:
                    if self._rack[target] == self._rack[broker] and target not in members:
                        self._new[other, position], self._new[row, slot] = target, broker
                        self._places[target] -= 1
                        return True
        return False
