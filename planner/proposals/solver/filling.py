"""Where new replicas go: the third phase of `quotas`.

It begins with sets from which all replicas have left that leave, and puts a new replica into each hole. The
quotas of brokers, how many new replicas each takes, follow from counts; which one goes where follows from
bytes.
"""

from heapq import heapify, heappop, heappush

import numpy as np

from planner.proposals.problem.arrays import UNBOUNDED, Ints, filled
from planner.proposals.problem.table import per_broker
from planner.proposals.solver.remainder import Remainder, Shares

MOST_STUCK = 2_000
"""Most replicas for which another one is placed on another broker to make room."""


def fill(remainder: Remainder, sets: Ints, shares: Shares | None) -> bool:
    """Put missing replicas into `sets`, large ones first, each where most bytes are lacking.

    Returns whether all found a place.
    """
    given, layout = remainder.given, remainder.given.layout
    missing = given.factor - (sets >= 0).sum(axis=1)
    rows = np.repeat(np.arange(len(missing)), missing)
    if not len(rows):
        return True
    racks = (
        _hole_racks(remainder, sets, missing) if remainder.racks_are_fixed else np.zeros(len(rows), np.int64)
    )
    places = _places(remainder, sets, shares, np.bincount(racks, minlength=len(layout.brokers_of)))
    order = np.lexsort((rows, -given.bytes[rows]))
    return _Filler(remainder, sets, places, _lacks(remainder, sets, shares)).place_all(
        rows[order], racks[order]
    )


def _hole_racks(remainder: Remainder, sets: Ints, missing: Ints) -> Ints:
    """Return the rack of each missing replica.

    The i-th one of a partition goes to the i-th place that a rack lacks.
    """
    given, layout = remainder.given, remainder.given.layout
    each = np.flatnonzero(missing)
    lacking = layout.most[given.factor[each]] - layout.held(sets[each])
    racks: Ints = np.repeat(np.tile(np.arange(lacking.shape[1]), len(each)), lacking.ravel())
    return racks


def _places(remainder: Remainder, sets: Ints, shares: Shares | None, holes: Ints) -> Ints:
    """Return how many new replicas each broker takes.

    Each is filled up to its least first, then so that the fullest is least full.

    `holes` are the missing replicas of each scope. Where only bytes count, there are places without number.
    """
    given, layout, ranges = remainder.given, remainder.given.layout, remainder.given.ranges
    if ranges is None and shares is not None:
        return np.where(layout.receives, UNBOUNDED, 0)
    places = np.zeros(layout.size, np.int64)
    held = given.fixed + per_broker(sets, None, layout.size)
    for each in np.flatnonzero(holes).tolist():
        brokers = np.flatnonzero(layout.receives & (remainder.scope == each))
        counts, left = held[brokers], int(holes[each])
        most = np.full(len(brokers), UNBOUNDED)
        if ranges is not None:
            first = np.maximum(0, ranges.least[brokers] - counts)
            if first.sum() <= left:
                places[brokers], left, counts = first, left - int(first.sum()), counts + first
            most = ranges.most[brokers]
        places[brokers] += filled(counts, left, most, layout.weights[brokers])
    return places


def _lacks(remainder: Remainder, sets: Ints, shares: Shares | None) -> Ints:
    """Return how many bytes each broker is below the one with the most, or below its share."""
    layout = remainder.given.layout
    held = remainder.given.held(sets)
    if shares is None:
        return -held // np.maximum(1, layout.weights)
    lacks: Ints = (shares.least + shares.most) // 2 - held - shares.fixed
    return lacks


class _Filler:
    """Places replicas one after the other.

    `places` and `lacks` are by broker; both fall with each replica that it gets.

    Each rack has a heap of the brokers with places left, the one that lacks most bytes first.
    """

    def __init__(self, remainder: Remainder, sets: Ints, places: Ints, lacks: Ints) -> None:
        given = remainder.given
        self._given, self._layout, self._fixed = given, given.layout, remainder.racks_are_fixed
        self._old, self._new = remainder.old, sets
        self._lacks, self._places, self._room = lacks.tolist(), places.tolist(), given.room.tolist()
        self._rack = given.layout.rack.tolist() if given.layout.shared else [0] * given.layout.size
        self._heaps: dict[int, list[tuple[int, int]]] = {}
        for broker in np.flatnonzero(places).tolist():
            self._heaps.setdefault(self._rack[broker], []).append((-self._lacks[broker], broker))
        for heap in self._heaps.values():
            heapify(heap)

    def place_all(self, rows: Ints, racks: Ints) -> bool:
        """Place a replica of each row, in the given rack if racks are fixed.

        Return whether all found a place.
        """
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
        """Return the racks where a replica of the row may go.

        Those that must have one more, else those that may.
        """
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
        """Take a place on the broker that lacks most.

        Return -1 if the partition has replicas on all that have places.
        """
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
