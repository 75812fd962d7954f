"""The least number of moves as a minimum-cost flow.

Partitions with the same leader, the same set of replicas and the same replication factor form a class. A unit
of flow is a replica: class → rack of the class → broker → sink. The rack rule bounds the first arcs, even
counts the last ones, and a replica on a new broker costs on the second ones. The costs of the criteria are
graded, so that the cheapest flow is the lexicographic optimum: rack rule, deviation of counts, moves, racks
filled on the way, replicas that stay though they are not in sync, highest counts, leaders that move.

Grading: two flows differ by simple cycles of the residual network. A simple cycle passes each broker once, so
it changes a criterion that is counted on arcs to brokers, or between classes and racks, by at most two for
each broker, and the sink's arcs by two. A unit of a criterion therefore costs more than all lower criteria
together can change on one cycle.
"""

from typing import NamedTuple

import numpy as np

from planner.proposals.problem.arrays import UNBOUNDED, Flags, Ints, group_codes, in_blocks
from planner.proposals.problem.goal import ProposalError
from planner.proposals.problem.layout import Layout
from planner.proposals.problem.table import IN_SYNC, OFFLINE, per_broker
from planner.proposals.solver.levels import MOST_LEVELS, Levels, Loads
from planner.proposals.solver.network import Network

MOST_STEPS = 2**12
"""Most steps into which sizes are divided when a plan is to copy few bytes."""
MOST_COST = 2**61
"""Most that the dearest arc of a network may cost, times its nodes: the solver's numbers have 64 bits."""
MOST_ROUNDS = 16
"""After so many rounds the levels are kept. Where racks are independent of each other, a few rounds
suffice."""


class Ranges(NamedTuple):
    """Least and most replicas of each broker."""

    least: Ints
    most: Ints

    def widened(self, by: int) -> "Ranges":
        """Return the ranges extended on both sides."""
        return Ranges(self.least - by, self.most + by)


class Input(NamedTuple):
    """The partitions that may change, and the bounds of each broker.

    Brokers are positions in `Table.brokers`.
    """

    layout: Layout
    lists: Ints
    """Present replicas of each partition, the leader first, padded with -1."""
    stays: Flags
    """Whether each of them may stay where it is."""
    state: Ints
    """IN_SYNC, BEHIND or OFFLINE for each of them."""
    factor: Ints
    bytes: Ints
    """Size of a copy of each partition."""
    own: Ints
    """Size of each of the present replicas."""
    fixed: Ints
    """Replicas of the other partitions on each broker."""
    repair_racks: bool
    ranges: Ranges | None
    """The wanted counts, `fixed` included; None if counts do not matter."""
    room: Ints
    """Bytes that each broker can receive; UNBOUNDED if the size of its disks is not known."""
    fewest_bytes: bool = False
    """Whether a plan is to copy few bytes rather than to have few moves."""

    def at(self, sets: Ints, room: Ints) -> "Input":
        """Return the input for partitions with these replicas; kept ones stay at their positions."""
        padding = ((0, 0), (0, sets.shape[1] - self.lists.shape[1]))
        before = np.pad(self.lists, padding, constant_values=-1)
        state = np.where(sets == before, np.pad(self.state, padding), np.int8(IN_SYNC))
        return self._replace(lists=sets, stays=sets >= 0, state=state, own=self.sizes_in(sets), room=room)

    def sizes_in(self, sets: Ints) -> Ints:
        """Return the size of each replica of these sets: of kept ones their own, of new ones that of a copy.

        Kept ones are at their positions in the lists.
        """
        padding = ((0, 0), (0, sets.shape[1] - self.lists.shape[1]))
        kept = sets == np.pad(self.lists, padding, constant_values=-2)
        sizes: Ints = np.where(kept, np.pad(self.own, padding), self.bytes[:, None])
        return sizes

    def held(self, sets: Ints) -> Ints:
        """Return the bytes of each broker in these sets."""
        return per_broker(sets, self.sizes_in(sets), self.layout.size)

    @property
    def required(self) -> Ints:
        """How many replicas of each partition must be new, but for rack rule and even counts."""
        required: Ints = np.maximum(0, self.factor - self.stays.sum(axis=1))
        return required

    def cost(self, sets: Ints) -> tuple[int, int]:
        """Return the moves and the bytes to copy for these sets."""
        new = new_replicas(self.lists, sets)
        return int(new.sum()), int((new * self.bytes).sum())

    @property
    def sizes_differ(self) -> bool:
        """Whether a replica has another size than a copy would have."""
        return bool(((self.own != self.bytes[:, None]) & (self.lists >= 0)).any())


class Classes(NamedTuple):
    """Partitions that are alike for the flow."""

    of_row: Ints
    size: Ints
    factor: Ints
    leader: Ints
    """-1 if the leader does not distinguish classes."""
    members: Flags
    """Which brokers (columns) have a replica that may stay."""
    state: Ints
    """IN_SYNC, BEHIND or OFFLINE for the replicas of members."""
    held: Ints
    """Replicas of members in each rack."""
    units: Ints
    """Cost of a move; 0 for all if moves are counted, otherwise the size in steps."""
    barred: Flags
    """Which brokers (columns) have a replica that leaves: it does not come back."""


class Costs(NamedTuple):
    """Cost of one unit of each criterion, the most important last."""

    leader: int
    level: int
    """For each level of a broker's share."""
    behind: int
    """For a replica that stays although it is not in sync; twice that if its broker is offline."""
    lack: int
    move: int
    unit: int
    """For each step of the size of a replica that moves."""
    deviation: int
    rack: int


def graded(brokers: int, levels: int, behind_on: int, sizes: int, *, by_leader: bool) -> Costs:
    """Return costs for so many usable brokers, levels, brokers with lagging replicas, and steps of sizes."""
    per_cycle = 2 * (brokers + 1)
    leader = 1 if by_leader else 0
    level = leader * per_cycle + 1
    behind = level * 2 * (levels + 2) + level
    # On a cycle, each broker with such replicas loses one or gets one back, and each counts at most twice.
    lack = behind * (4 * behind_on + 1)
    move = lack * (per_cycle + 1)
    unit = move * (per_cycle + 1)
    deviation = (move + unit * sizes) * (per_cycle + 1)
    return Costs(leader, level, behind, lack, move, unit, deviation, deviation * 3)


def classes_of(given: Input, *, by_leader: bool, units: Ints | None = None) -> Classes:
    """Group partitions by replicas with their states, wanted factor and, if asked to, leader and size."""
    lists, factor = given.lists, given.factor
    units = np.zeros(len(lists), np.int64) if units is None else units
    leader = lists[:, 0] if by_leader else np.full(len(lists), -1, lists.dtype)
    of_row = group_codes([leader, factor, units, *_replica_codes(given).T])
    _, first, size = np.unique(of_row, return_index=True, return_counts=True)
    rows, columns = np.arange(len(first))[:, None], np.where(given.stays[first], lists[first], -1)
    members = np.zeros((len(first), given.layout.size + 1), np.bool_)
    members[rows, columns] = True
    barred = np.zeros(members.shape, np.bool_)
    barred[rows, np.where(given.stays[first], -1, lists[first])] = True
    state = np.zeros(members.shape, np.int8)
    state[rows, columns] = given.state[first]
    held = given.layout.held(columns).astype(np.int64)
    parts = (of_row, size, factor[first], leader[first], members[:, :-1], state[:, :-1], held, units[first])
    return Classes(*parts, barred[:, :-1])


def _replica_codes(given: Input) -> Ints:
    """Return a number for each replica that tells its broker, its state, and whether it may stay.

    The numbers are in ascending order.
    """
    status = np.where(given.stays, given.state, OFFLINE + 1)
    codes: Ints = np.sort(np.where(given.lists >= 0, given.lists * (OFFLINE + 2) + status, -1), axis=1)
    return codes


def arcs_of(given: Input) -> int:
    """Return about how many arcs the network has if leaders do not distinguish classes."""
    sets = group_codes([given.factor, *_replica_codes(given).T])
    return (int(sets.max(initial=-1)) + 1) * (int(given.layout.receives.sum()) + 4 * given.layout.racks)


def place(given: Input, *, by_leader: bool = True) -> Ints:
    """Return the new set of each partition, padded with -1. Kept replicas are at their positions in `lists`.

    The array is as wide as the longest list or the largest factor. Raises ProposalError, MissingSolverError.
    """
    return _ClassFlow(given, by_leader).solve()


def place_fewest_bytes(given: Input) -> tuple[Ints, int]:
    """Return sets as `place`, for a plan that copies few bytes, then has few moves.

    The second result is a lower bound on the bytes of any plan.

    Sizes are rounded down to steps, as many as the costs allow. Without rounding, the bound is what the plan
    copies.
    """
    largest = int(given.bytes.max(initial=1))
    step = max(1, -(-largest // size_steps(given)))
    sets = _ClassFlow(given, False, given.bytes // step).solve()
    return sets, int((new_replicas(given.lists, sets) * (given.bytes // step)).sum()) * step


def size_steps(given: Input) -> int:
    """Return into how many steps sizes can be divided so that costs times nodes fit 64 bits."""
    layout = given.layout
    brokers = int(layout.usable.sum())
    behind_on = len(np.unique(given.lists[given.stays & (given.state != IN_SYNC)]))
    nodes = len(given.lists) * (1 + layout.racks) + layout.size + 1
    dearest = graded(brokers, MOST_LEVELS, behind_on, 1, by_leader=False).rack
    return int(min(MOST_STEPS, MOST_COST // (nodes * dearest)))


class _ClassFlow:
    """Builds the network and reads the sets from its flow.

    Nodes: sink, brokers, classes, racks of classes.
    """

    def __init__(self, given: Input, by_leader: bool, units: Ints | None = None) -> None:
        self._given, self._layout, self._by_leader = given, given.layout, by_leader
        self._classes = classes_of(given, by_leader=by_leader, units=units)
        self._levels = self._levels_of()
        layout, groups = self._layout, len(self._classes.size)
        self._first_class = 1 + layout.size
        shared = np.flatnonzero(layout.brokers_of > 1)
        self._first_rack = self._first_class + groups
        self._rack_nodes = np.full(len(layout.brokers_of), -1, np.int64)
        self._rack_nodes[shared] = self._first_rack + np.arange(len(shared)) * groups
        """Node of the first class in each rack with several usable brokers."""
        self._nodes = self._first_rack + len(shared) * groups

    def solve(self) -> Ints:
        """Return the new set of each partition.

        The flow is solved again until levels begin at the highest shares.
        """
        sets = self._solve()
        for _ in range(MOST_ROUNDS):
            counts = self._given.fixed + per_broker(sets, None, self._layout.size)
            if not self._levels.refine(counts):
                break
            sets = self._solve()
        return sets

    def _solve(self) -> Ints:
        given, classes = self._given, self._classes
        self._network, self._starts = Network(), self._levels.starts()
        self._costs = self._graded()
        places = (self._layout.receives | classes.members) & ~classes.barred
        group, broker = np.nonzero(self._layout.usable & places)
        order = np.lexsort((broker, self._layout.rack[broker], group))
        group, broker = group[order], broker[order]
        where = self._add_replicas(group, broker)
        self._add_sinks()
        supplies = np.zeros(self._nodes, np.int64)
        supplies[self._first_class : self._first_rack] = classes.size * classes.factor
        supplies[0] = -supplies.sum()
        flow = self._network.cheapest_flow(supplies)
        if flow is None:
            raise ProposalError(["the replicas do not fit on the brokers that may hold them"])
        used = flow[where]
        return deal(classes, group[used > 0], broker[used > 0], used[used > 0], given)

    def _graded(self) -> Costs:
        behind_on = int(self._classes.state.any(axis=0).sum())
        sizes = int(self._classes.units.max(initial=0))
        levels = len(self._levels.shares)
        shape = int(self._layout.usable.sum()), levels, behind_on, sizes
        costs = graded(*shape, by_leader=self._by_leader)
        # The last criterion is given up rather than that costs overflow.
        return costs if costs.rack * self._nodes <= MOST_COST else graded(*shape, by_leader=False)

    # ---- costs ---------------------------------------------------------------------------------------------

    def _levels_of(self) -> Levels:
        """Return the levels for the shares that are to be expected."""
        given, layout = self._given, self._layout
        kept = per_broker(np.where(given.stays, given.lists, -1), None, layout.size)
        classes = self._classes
        held, size, lacks = classes.held, classes.size, classes.factor - classes.held.sum(axis=1)
        # Without a repair of racks, replicas leave only for a lower factor, and others arrive only for a
        # higher one.
        changes = given.repair_racks | np.stack([lacks < 0, lacks > 0])[:, :, None]
        over = np.maximum(0, held - layout.most[classes.factor]) * changes[0]
        lacking = np.maximum(0, layout.least[classes.factor] - held) * changes[1]
        leaving, missing = ((each * size[:, None]).sum(axis=0) for each in (over, lacking))
        rest = int((lacks * size).sum()) - int(missing.sum()) + int(leaving.sum())
        most = np.zeros(layout.size, np.int64) if given.ranges is None else given.ranges.most
        return Levels(layout, Loads(given.fixed + kept, leaving, missing, rest, most))

    # ---- arcs ----------------------------------------------------------------------------------------------

    def _add_replicas(self, group: Ints, broker: Ints) -> slice:
        """Add the arcs between classes and brokers.

        Return where the flows of those that end at brokers will be.
        """
        classes, costs, rack = self._classes, self._costs, self._layout.rack[broker]
        cost = np.where(
            classes.members[group, broker],
            costs.behind * classes.state[group, broker].astype(np.int64)
            - costs.leader * (classes.leader[group] == broker),
            costs.move + costs.unit * classes.units[group],
        )
        tails = self._first_class + group
        inner = self._rack_nodes[rack] >= 0
        tails[inner] = self._rack_nodes[rack[inner]] + group[inner]
        steps = self._rack_steps()
        single = ~inner
        first = np.full(len(group), costs.rack, np.int64)
        for capacity, step_cost in reversed(steps[:-1]):
            first = np.where(capacity[group, rack] > 0, step_cost, first)
        cost[single] += first[single]
        where = self._network.add(tails, 1 + broker, classes.size[group], cost)
        reached = np.zeros((len(classes.size), len(self._rack_nodes)), np.bool_)
        reached[group[inner], rack[inner]] = True
        group, rack = np.nonzero(reached)
        for capacity, step_cost in steps:
            units = capacity[group, rack] * classes.size[group]
            there = units > 0
            self._network.add(
                self._first_class + group[there],
                self._rack_nodes[rack[there]] + group[there],
                units[there],
                np.full(int(there.sum()), step_cost, np.int64),
            )
        return where

    def _rack_steps(self) -> list[tuple[Ints, int]]:
        """Return (replicas of each class in each rack, cost).

        Rewarded up to the least, free up to the most, then penalized.

        Without a repair the bounds give way to what the partition holds already: nothing moves only for its
        rack. A replica that moves for another reason still prefers a rack that lacks one.
        """
        layout, classes, costs = self._layout, self._classes, self._costs
        least, most = layout.least[classes.factor], layout.most[classes.factor]
        firm, room = least, most
        if not self._given.repair_racks:
            firm, room = np.minimum(least, classes.held), np.maximum(most, classes.held)
        everything = np.repeat(classes.factor[:, None], len(self._rack_nodes), axis=1)
        return [
            (firm, -costs.rack),
            (least - firm, -costs.lack),
            (np.minimum(room, most) - least, 0),
            (room - most, 0),
            (everything, costs.rack),
        ]

    def _add_sinks(self) -> None:
        """Add arcs of growing cost: counts in the range are preferred, and lower counts to higher ones."""
        for broker in np.flatnonzero(self._layout.usable).tolist():
            base = int(self._given.fixed[broker])
            levels, ranges = self._starts[int(self._layout.weights[broker])], self._given.ranges
            knees = levels
            if ranges is not None:
                knees = np.concatenate([knees, [ranges.least[broker], ranges.most[broker]]])
            starts = np.unique(np.concatenate([[base], knees[knees > base]]))
            costs = self._costs.level * 2 * np.searchsorted(levels, starts, side="right")
            if ranges is not None:
                costs -= self._costs.deviation * (starts < ranges.least[broker])
                costs += self._costs.deviation * (starts >= ranges.most[broker])
            capacities = np.diff(starts, append=starts[-1] + UNBOUNDED)
            self._network.add(
                np.full(len(starts), 1 + broker), np.zeros(len(starts), np.int64), capacities, costs
            )


def deal(classes: Classes, group: Ints, broker: Ints, count: Ints, given: Input) -> Ints:
    """Return the new set of each partition from numbers of replicas.

    `count` of the class `group` on `broker`.

    These are in order of class, rack and broker, and are dealt to the partitions of a class in turn. A broker
    has at most as many as there are partitions, so none gets it twice, and they differ by at most one in each
    rack. Partitions that get more new replicas than others of their class are the smallest ones.
    """
    units, unit_group = np.repeat(broker, count), np.repeat(group, count)
    first_unit = np.cumsum(classes.size * classes.factor) - classes.size * classes.factor
    first_row = np.cumsum(classes.size) - classes.size
    turn = np.arange(len(units)) - first_unit[unit_group]
    rows, width = len(given.lists), max(given.lists.shape[1], int(given.factor.max(initial=1)))
    hands = np.full((rows, width), -1, np.int64)
    hands[first_row[unit_group] + turn % classes.size[unit_group], turn // classes.size[unit_group]] = units
    hand_group = np.repeat(np.arange(len(classes.size)), classes.size)
    new = ((hands >= 0) & ~classes.members[hand_group[:, None], hands]).sum(axis=1)
    hands = hands[np.lexsort((-new, hand_group))]
    result = np.full((rows, width), -1, np.int64)
    result[np.lexsort((given.bytes, classes.of_row))] = hands
    return aligned(given.lists, result)


def aligned(lists: Ints, sets: Ints) -> Ints:
    """Return the sets: kept replicas at their positions in the lists, new ones in order at the others."""
    return in_blocks(_aligned, lists, sets)


def _aligned(lists: Ints, sets: Ints) -> Ints:
    rows, width = sets.shape
    old = np.full((rows, width), -1, np.int64)
    old[:, : lists.shape[1]] = lists
    kept = ((old[:, :, None] == sets[:, None, :]) & (old >= 0)[:, :, None]).any(axis=2)
    new = (sets >= 0) & ~((sets[:, :, None] == old[:, None, :]).any(axis=2))
    from_column = np.argsort(np.where(new, sets, UNBOUNDED), axis=1, kind="stable")
    # Replaced replicas come first, so that positions pair a lost replica with a new one where they can.
    to_column = np.argsort(np.where(kept, 2, np.where(old >= 0, 0, 1)), axis=1, kind="stable")
    moved = np.take_along_axis(np.where(new, sets, -1), from_column, axis=1)
    result = np.where(kept, old, -1)
    free = np.take_along_axis(kept, to_column, axis=1)
    replaced = np.take_along_axis(result, to_column, axis=1)
    np.put_along_axis(result, to_column, np.where(free, replaced, moved), axis=1)
    return result


def new_replicas(lists: Ints, sets: Ints) -> Ints:
    """Return the number of new replicas of each partition."""
    changed = differing(lists, sets)
    old, new = lists[changed], sets[changed]
    counts = np.zeros(len(lists), np.int64)
    counts[changed] = ((new >= 0) & ~(new[:, :, None] == old[:, None, :]).any(axis=2)).sum(axis=1)
    return counts


def differing(lists: Ints, sets: Ints) -> Ints:
    """Return the numbers of the rows that are not the same apart from padding."""
    width = min(lists.shape[1], sets.shape[1])
    differs: Flags = (lists[:, :width] != sets[:, :width]).any(axis=1)
    for longer in (lists[:, width:], sets[:, width:]):
        differs |= (longer >= 0).any(axis=1)
    return np.flatnonzero(differs)


def moves_of(lists: Ints, sets: Ints) -> int:
    """Return the number of new replicas."""
    return int(new_replicas(lists, sets).sum())
