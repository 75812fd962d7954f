"""Spread the partitions of each topic over brokers, by exchanges of replicas between brokers of a rack.

An exchange keeps the counts of brokers and the rack rule. Of two replicas, one that moves anyway can go to
the other's broker, or can stay in place of one that moves: neither needs a further move. With
`further_moves`, replicas that would stay are exchanged too. Pairs are tried in rounds, many at once; those of
a round have no partition and no topic on a broker in common, so that the gain of each is exact. This is a
heuristic: the excess only falls, but another plan may have less.
"""

from typing import NamedTuple

import numpy as np

from planner.proposals.problem.arrays import UNBOUNDED, Flags, Ints
from planner.proposals.problem.counts import counts_by_topic, even_share
from planner.proposals.solver.byte_balance import Budget, room_left
from planner.proposals.solver.class_flow import Input

ROUNDS = 48
"""Partners that are tried for each replica in one pass."""
IDLE_ROUNDS = 12
"""A pass ends after so many rounds without an exchange."""
NEAR = 64
"""Partners are among at least so many replicas of similar size."""
MOST_TRIED = 100_000
"""Most replicas for which a partner is tried in one round."""
MOST_PAIRS = 600_000
"""Most pairs that are tried in one pass, so that large clusters take seconds."""
MOST_CELLS = 2**26
"""Most topics times brokers that are counted at once; smaller topics beyond are left as they are."""
MOST_BYTES = 2**48
"""Replicas above this size count as of this size where sizes are compared."""
DRAWS = 1_024
"""Replicas are drawn with a chance of so many parts."""
MULTIPLIER = 2_654_435_761
"""Knuth's multiplicative hash: partners differ from round to round, and are the same in each run."""


class Topics(NamedTuple):
    """The topics of the partitions that may change, and the replicas of the others."""

    of_row: Ints
    """Number of the topic, ascending."""
    fixed: Ints
    """Topics of partitions that may not change, ascending."""
    fixed_lists: Ints


class Bounds(NamedTuple):
    """What exchanges have to keep."""

    least: Ints
    """Bytes of each broker, fixed ones included."""
    most: Ints
    fixed: Ints
    """Bytes of partitions that may not change on each broker."""
    budget: Budget
    """Further moves and bytes of the whole plan. Exchanges that save some add to it."""
    further_moves: bool = False


def unbounded(size: int) -> Bounds:
    """Return the bounds of a plan for which the bytes of brokers do not matter.

    No further moves and bytes.
    """
    none = np.zeros(size, np.int64)
    return Bounds(none, np.full(size, UNBOUNDED), none, Budget(0, 0))


def spread_topics(given: Input, sets: Ints, topics: Topics, bounds: Bounds) -> Ints:
    """Return sets in which fewer replicas are above the even share of their topic on a broker.

    Counts of brokers and racks of partitions stay, and the plan has no more moves and bytes, unless
    `further_moves` is set.
    """
    return _Spread(given, sets, topics, bounds).solve()


class _Spread:
    """Replicas are numbered by their position in the flattened matrix of sets (*entries*).

    Brokers are positions in the layout; -1 stands for no replica. Facts, which nothing changes, are `_old`
    (the present lists, in the shape of the sets), `_own` (by entry: the bytes of the present replica),
    `_home` (its flat view: the broker that an entry has, or had, its replica on), `_behind` (by entry: 1 or
    more if the present replica is not in sync), `_topic` (by row of the sets: the row in `_counts`), `_share`
    (by row of `_counts`: the even share of a broker) and `_rack` (by broker; all 0 without a rack rule).

    The plan changes in `_apply` alone, all of it together: `_sets` with `_flat`, its flat view; `_counts`
    (topics by brokers: replicas), `_held` (by broker: bytes, fixed ones included), `_room` (by broker: bytes
    that may still arrive), and `_moves_left` and `_bytes_left`, the rest of the budget.

    Candidates are collected by `_sorted`, before the first round: `_over`, of which `solve` leaves out those
    that are not above the share any more; `_by_rack`, in order of rack and size, and `_by_home`, in order of
    home and size. Exchanges change neither the rack nor the home of an entry, so both stay in order.
    """

    def __init__(self, given: Input, sets: Ints, topics: Topics, bounds: Bounds) -> None:
        self._given, self._layout, self._bounds = given, given.layout, bounds
        self._sets, self._width = sets.copy(), sets.shape[1]
        self._flat = self._sets.reshape(-1)
        self._old = np.full(sets.shape, -1, np.int64)
        self._old[:, : given.lists.shape[1]] = given.lists
        self._home = self._old.reshape(-1)
        padding = ((0, 0), (0, sets.shape[1] - given.lists.shape[1]))
        self._behind = np.pad(given.state, padding).reshape(-1).astype(np.int64)
        self._count(topics)
        self._own = given.sizes_in(self._old).reshape(-1)
        self._held = bounds.fixed + given.held(sets)
        self._room = room_left(given, sets)
        self._over, self._by_rack, self._by_home = (np.zeros(0, np.int64) for _ in range(3))
        self._moves_left, self._bytes_left = bounds.budget
        self._rack = given.layout.rack if given.layout.shared else np.zeros(given.layout.size, np.int64)

    def _count(self, topics: Topics) -> None:
        """Count the replicas of each topic that has several partitions on each broker."""
        layout, of_row = self._layout, topics.of_row
        size = int(max(of_row.max(initial=-1), topics.fixed.max(initial=-1))) + 1
        replicas = np.zeros(size, np.int64)
        parts = ((of_row, self._sets), (topics.fixed, topics.fixed_lists))
        for numbers, lists in parts:
            replicas += np.bincount(numbers, (lists >= 0).sum(axis=1), size).astype(np.int64)
        several = np.flatnonzero(np.bincount(of_row, minlength=size) > 1)
        largest = several[np.argsort(-replicas[several], kind="stable")]
        counted = np.sort(largest[: MOST_CELLS // layout.size])
        position = np.full(size, -1, np.int64)
        position[counted] = np.arange(len(counted))
        self._topic = position[of_row]
        """Row in the matrix of counts; -1 for topics that are not counted."""
        self._share = even_share(replicas[counted], int(layout.usable.sum()))
        self._counts = np.zeros((len(counted), layout.size), np.int32)
        for numbers, lists in parts:
            for first, counts in counts_by_topic(numbers, lists, layout.size):
                mine = position[first : first + len(counts)]
                self._counts[mine[mine >= 0]] += counts[mine >= 0].astype(np.int32)

    def solve(self) -> Ints:
        """Try rounds of exchanges until they do not help any more."""
        self._sorted()
        idle, left = 0, MOST_PAIRS
        for number in range(ROUNDS):
            self._over = self._over[self._surplus(self._over) > 0]
            if idle >= IDLE_ROUNDS or not len(self._over) or left <= 0:
                break
            exchanged, tried = self._round(number)
            idle, left = 0 if exchanged else idle + 1, left - tried
        return self._sets

    # ---- pairs ---------------------------------------------------------------------------------------------

    def _sorted(self) -> None:
        """Collect replicas above their topic's share, and those to exchange them with, in order of size."""
        entries = np.flatnonzero(self._flat >= 0)
        entries = entries[
            (self._topic[entries // self._width] >= 0) & self._layout.usable[self._flat[entries]]
        ]
        self._over = entries[self._surplus(entries) > 0]
        moving = entries[self._moves(entries)]
        if not self._bounds.further_moves:
            # One that stays can only be exchanged with one that has left the same broker.
            left = np.zeros(self._layout.size + 1, np.bool_)
            left[self._home[moving]] = True
            self._over = self._over[self._moves(self._over) | left[self._flat[self._over]]]
            entries = moving
        sizes = self._sizes(entries)
        self._by_rack = entries[np.lexsort((entries, sizes, self._rack[self._flat[entries]]))]
        moving = moving[self._home[moving] >= 0]
        self._by_home = moving[np.lexsort((moving, self._sizes(moving), self._home[moving]))]

    def _sizes(self, entries: Ints) -> Ints:
        sizes: Ints = np.minimum(self._given.bytes[entries // self._width], MOST_BYTES - 1)
        return sizes

    def _size_on(self, entries: Ints, brokers: Ints) -> Ints:
        """Return the bytes that each replica has, or would have, on the broker."""
        copied = self._given.bytes[entries // self._width]
        sizes: Ints = np.where(self._home[entries] == brokers, self._own[entries], copied)
        return sizes

    def _moves(self, entries: Ints) -> Flags:
        """Whether the replicas are new on their brokers."""
        moves: Flags = self._flat[entries] != self._home[entries]
        return moves

    def _surplus(self, entries: Ints) -> Ints:
        """Return how many replicas of the topic are on the broker above its even share.

        Less than 0 if there are fewer.
        """
        return self._above(self._topic[entries // self._width], self._flat[entries])

    def _above(self, topic: Ints, broker: Ints) -> Ints:
        above: Ints = self._counts[topic, broker] - self._share[topic]
        return above

    def _round(self, number: int) -> tuple[bool, int]:
        """Exchange replicas with a partner where that helps.

        Return whether any was exchanged, and how many were tried.
        """
        over = self._over
        # Of each topic on a broker, about as many as are too many.
        surplus = self._surplus(over)
        present = surplus + self._share[self._topic[over // self._width]]
        drawn = _hashed(over, number) % DRAWS * present < surplus * DRAWS
        over = over[drawn][:MOST_TRIED]
        moving = self._moves(over)
        in_rack = self._by_rack
        if not self._bounds.further_moves:
            in_rack = in_rack[self._moves(in_rack)]
        leaving = self._by_home[self._moves(self._by_home)]
        mine, stays = over if self._bounds.further_moves else over[moving], over[~moving]
        pairs = (
            self._near(mine, self._rack[self._flat[mine]], in_rack, self._rack[self._flat[in_rack]], number),
            self._near(stays, self._home[stays], leaving, self._home[leaving], number),
        )
        first, second = (np.concatenate(each) for each in zip(*pairs, strict=True))
        return self._exchange(first, second), len(first)

    def _near(self, mine: Ints, wanted: Ints, others: Ints, groups: Ints, number: int) -> tuple[Ints, Ints]:
        """Pair each replica with one of the others in the group that it wants, of similar size.

        `others` are in order of group and size.
        """
        starts, ends = np.searchsorted(groups, wanted), np.searchsorted(groups, wanted, side="right")
        some = ends > starts
        mine, wanted, starts, ends = mine[some], wanted[some], starts[some], ends[some]
        keys = groups * MOST_BYTES + self._sizes(others)
        nearest = np.searchsorted(keys, wanted * MOST_BYTES + self._sizes(mine))
        length = ends - starts
        window = np.minimum(length, np.maximum(NEAR, length // 16))
        low = np.clip(nearest - window // 2, starts, ends - window)
        offset = np.where(window <= ROUNDS, number, _hashed(mine, number)) % np.maximum(1, window)
        return mine, others[low + offset]

    # ---- exchanges -----------------------------------------------------------------------------------------

    def _exchange(self, first: Ints, second: Ints) -> bool:
        """Carry out those of the exchanges that help and are allowed. Return whether there are any."""
        rows = first // self._width, second // self._width
        topics = self._topic[rows[0]], self._topic[rows[1]]
        source, target = self._flat[first], self._flat[second]
        # Both replicas go where there is a place below the share, so that each exchange helps.
        keep = (self._above(topics[0], target) < 0) & (self._above(topics[1], source) < 0)
        keep &= self._above(topics[0], source) > 0
        first, second = first[keep], second[keep]
        allowed = self._allowed(first, second)
        first, second = self._separate(first[allowed], second[allowed])
        cheapest = np.argsort(self._cost(first, second).bytes, kind="stable")
        first, second = self._within_bounds(first[cheapest], second[cheapest])
        if len(first):
            self._apply(first, second)
        return bool(len(first))

    def _separate(self, first: Ints, second: Ints) -> tuple[Ints, Ints]:
        """Leave out second exchanges of a partition, and those beyond a topic's places on a broker."""
        rows = np.stack([first // self._width, second // self._width], axis=1)
        keep = (_rank(rows.ravel()) == 0).reshape(rows.shape).all(axis=1)
        first, second = first[keep], second[keep]
        topics = self._topic[first // self._width], self._topic[second // self._width]
        source, target = self._flat[first], self._flat[second]
        size = self._layout.size
        arriving = _rank(np.stack([topics[0] * size + target, topics[1] * size + source], axis=1).ravel())
        leaving = _rank(np.stack([topics[0] * size + source, topics[1] * size + target], axis=1).ravel())
        arriving, leaving = arriving.reshape(-1, 2), leaving.reshape(-1, 2)
        keep = arriving[:, 0] < -self._above(topics[0], target)
        keep &= arriving[:, 1] < -self._above(topics[1], source)
        keep &= leaving[:, 0] < self._above(topics[0], source)
        return first[keep], second[keep]

    def _allowed(self, first: Ints, second: Ints) -> Flags:
        """Whether both may take each other's place, without a further move unless that is allowed."""
        source, target = self._flat[first], self._flat[second]
        allowed: Flags = (source != target) & (self._rack[source] == self._rack[target])
        allowed &= self._may_go(first, target) & self._may_go(second, source)
        more = self._size_on(second, source) - self._size_on(first, source)
        less = self._size_on(first, target) - self._size_on(second, target)
        allowed &= self._may_change(source, more) & self._may_change(target, less)
        cost = self._cost(first, second)
        if not self._bounds.further_moves:
            allowed &= (cost.moves <= 0) & (cost.leaders <= 0) & (cost.behind <= 0)
        return allowed

    def _may_change(self, brokers: Ints, more: Ints) -> Flags:
        """Whether each broker may hold so many bytes more."""
        after, bounds = self._held[brokers] + more, self._bounds
        may: Flags = np.where(more > 0, after <= bounds.most[brokers], after >= bounds.least[brokers])
        may |= more == 0
        return may

    def _may_go(self, entries: Ints, target: Ints) -> Flags:
        rows, columns = np.divmod(entries, self._width)
        home = self._home[entries] == target
        old = self._old[rows]
        old[np.arange(len(rows)), columns] = -1
        there = (self._sets[rows] == target[:, None]).any(axis=1) | (old == target[:, None]).any(axis=1)
        may: Flags = ~there & (home | self._layout.receives[target])
        return may

    def _cost(self, first: Ints, second: Ints) -> "_Cost":
        source, target = self._flat[first], self._flat[second]
        moves = [
            (after != self._home[entries]).astype(np.int64) - (before != self._home[entries])
            for entries, before, after in ((first, source, target), (second, target, source))
        ]
        sizes = self._given.bytes[first // self._width], self._given.bytes[second // self._width]
        leads = first % self._width == 0, second % self._width == 0
        return _Cost(
            moves[0] + moves[1],
            moves[0] * sizes[0] + moves[1] * sizes[1],
            moves[0] * leads[0] + moves[1] * leads[1],
            -moves[0] * self._behind[first] - moves[1] * self._behind[second],
        )

    def _within_bounds(self, first: Ints, second: Ints) -> tuple[Ints, Ints]:
        """Leave out exchanges until bytes, disks and budgets are kept."""
        while len(first):
            bad = self._brokers_outside(first, second)
            if bad.any():
                touching = np.flatnonzero(bad[self._flat[first]] | bad[self._flat[second]])
                keep = np.ones(len(first), np.bool_)
                keep[touching[len(touching) // 2 :]] = False
            elif (affordable := self._affordable(first, second)) < len(first):
                keep = np.arange(len(first)) < affordable
            else:
                break
            first, second = first[keep], second[keep]
        return first, second

    def _brokers_outside(self, first: Ints, second: Ints) -> Flags:
        """Whether the bytes of a broker would leave their range, or its disks would be too full."""
        held, room = self._change(first, second)
        after, bounds = self._held + held, self._bounds
        high = (after > bounds.most) & (held > 0)
        low = (after < bounds.least) & (held < 0)
        outside: Flags = high | low | ((self._room - room < 0) & (room > 0))
        return outside

    def _change(self, first: Ints, second: Ints) -> tuple[Ints, Ints]:
        """Return how the bytes of each broker change, and those that arrive at it."""
        held, arriving = np.zeros(self._layout.size, np.int64), np.zeros(self._layout.size, np.int64)
        for entries, others in ((first, second), (second, first)):
            size, home = self._given.bytes[entries // self._width], self._home[entries]
            source, target = self._flat[entries], self._flat[others]
            np.add.at(held, target, self._size_on(entries, target))
            np.subtract.at(held, source, self._size_on(entries, source))
            np.add.at(arriving, target, size * (target != home))
            np.subtract.at(arriving, source, size * (source != home))
        return held, arriving

    def _affordable(self, first: Ints, second: Ints) -> int:
        """Return how many of the exchanges fit the budgets, the first ones."""
        cost = self._cost(first, second)
        fits = (np.cumsum(cost.moves) <= self._moves_left) & (np.cumsum(cost.bytes) <= self._bytes_left)
        return len(first) if fits.all() else int(fits.argmin())

    def _apply(self, first: Ints, second: Ints) -> None:
        source, target = self._flat[first], self._flat[second]
        held, arriving = self._change(first, second)
        self._held += held
        self._room -= arriving
        cost = self._cost(first, second)
        self._moves_left -= int(cost.moves.sum())
        self._bytes_left -= int(cost.bytes.sum())
        for entries, before, after in ((first, source, target), (second, target, source)):
            topic = self._topic[entries // self._width]
            np.subtract.at(self._counts, (topic, before), 1)
            np.add.at(self._counts, (topic, after), 1)
        self._flat[first], self._flat[second] = target, source


class _Cost(NamedTuple):
    """What exchanges add to the plan.

    Moves, bytes, replicas of leaders that move, and replicas that stay behind.
    """

    moves: Ints
    bytes: Ints
    leaders: Ints
    behind: Ints
    """Replicas that stay though they are not in sync."""


def _rank(keys: Ints) -> Ints:
    """Return how many equal keys are before each."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if len(keys) else order
    rank = np.empty(len(keys), np.int64)
    rank[order] = np.arange(len(keys)) - np.repeat(starts, np.diff([*starts.tolist(), len(keys)]))
    return rank


def _hashed(entries: Ints, number: int) -> Ints:
    """Return numbers that look random, the same in each run.

    The upper bits of the product, which change most.
    """
    hashed: Ints = ((entries * MULTIPLIER + number * 40_503) & 0xFFFF_FFFF) >> 7
    return hashed
