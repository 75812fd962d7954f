"""The solver of proposals: places of replicas, budgets, bytes, disks, leaders and the order of lists."""

from itertools import count
from typing import NamedTuple

import numpy as np

from common.wording import counted
from planner.proposals.problem.arrays import UNBOUNDED, Flags, Ints
from planner.proposals.problem.counts import byte_ranges, count_ranges
from planner.proposals.problem.goal import CountRange, LeftOut, Problem, ProposalError
from planner.proposals.problem.layout import layout_of
from planner.proposals.problem.nodes import RackRule
from planner.proposals.problem.table import per_broker
from planner.proposals.solver.byte_balance import Budget, even_bytes, room_left, within_disks
from planner.proposals.solver.changed_plan import ordered
from planner.proposals.solver.class_flow import (
    Input,
    Ranges,
    aligned,
    arcs_of,
    differing,
    moves_of,
    place,
    place_fewest_bytes,
    size_steps,
)
from planner.proposals.solver.demotion import (
    elections,
    handover,
    kept_leaderships,
    taken_by_others,
    with_demoted_last,
)
from planner.proposals.solver.leaders import even_leaders, taken_over
from planner.proposals.solver.notes import (
    MOST_NOTES,
    byte_notes,
    disk_notes,
    least_bytes_note,
    rack_notes,
    share_notes,
)
from planner.proposals.solver.quotas import QuotaPlan, by_quotas, count_bound
from planner.proposals.solver.relief import relieve
from planner.proposals.solver.remainder import Shares
from planner.proposals.solver.topic_spread import Topics, spread_topics, unbounded

EXACT_ARCS = 400_000
"""The class flow solves networks up to this size at once. Larger ones are tried by quotas first."""
MOST_ARCS = 12_000_000
"""Larger networks are not built: they would need several GB and minutes."""
LEAST_STEPS = 16
"""With fewer steps, sizes are too coarse for a plan with few bytes."""
SIZED_ARCS = 1_000_000
"""Largest network in which partitions of different sizes are told apart."""
MOST_ROUNDS = 16
"""How often the wanted bytes are computed again because replicas differ in size."""
UNLIMITED = 2**62
"""A budget of moves or bytes that no plan reaches. It is multiplied by nothing but Python's integers, which
do not overflow."""


class Placed(NamedTuple):
    """New sets of replicas, and the least number of moves of any plan."""

    sets: Ints
    bound: int
    bytes_bound: int
    bytes_estimate: int = 0
    """The bytes of a plan that divides replicas; 0 if it is not known."""


class Solution(NamedTuple):
    """A solved problem. Arrays have a row for each partition of the table that may change."""

    lists: Ints
    """New replica lists, as positions in the table's brokers, padded with -1."""
    ranges: dict[int, CountRange]
    """Wanted counts before a budget widened them; empty if counts do not matter."""
    widened: int
    moves_bound: int
    bytes_bound: int
    notes: tuple[str, ...]
    elected: Flags | None = None
    """Partitions whose list does not change, but whose preferred leader is to be elected; None for none."""
    short: tuple[str, ...] = ()
    """A line for each broker that the goal relieves, and that stays too full."""
    bytes_estimate: int = 0
    """The least bytes for even loads if replicas could be divided; 0 if it is not known."""
    left_out: tuple[LeftOut, ...] = ()
    """Partitions whose leader cannot be changed, although the goal asks for it."""


def solve(problem: Problem) -> Solution:
    """Find the best plan. Raises ProposalError, MissingSolverError."""
    return Solver(problem).solve()


class Solver:
    """Sets of replicas pass through the phases of `_moved`, each of which returns new ones.

    `_finish` makes lists of them.

    The other fields are facts of the problem. `_notes` alone grows on the way.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem, self._goal = problem, problem.goal
        self._layout = layout_of(problem.nodes, problem.table)
        self._rule = RackRule(problem.nodes)
        self._counted = self._goal.even_counts and self._goal.by != "bytes" and not self._goal.loads
        self._ranges = count_ranges(problem, self._rule) if self._counted else {}
        self._shares = self._wanted_bytes(problem)
        """The wanted bytes of each broker as far as they follow from the problem alone; see `_even_bytes`."""
        self._notes: list[str] = []

    def solve(self) -> Solution:
        given = input_of(self._problem, self._as_arrays(self._ranges) if self._counted else None)
        if self._goal.relieves:
            return self._relieved(given)
        order_only = self._goal.changes_order_only
        placed, widened = (Placed(given.lists, 0, 0), 0) if order_only else self._moved(given)
        solution = self._finish(given.lists, placed, widened)
        return solution._replace(bytes_estimate=placed.bytes_estimate)

    def _relieved(self, given: Input) -> Solution:
        found = relieve(self._problem, given)
        _, copied = given.cost(found.sets)
        bounded = copied and not found.short and self._goal.minimize == "bytes"
        self._notes += [*found.notes, *([least_bytes_note(copied, found.bytes_bound)] if bounded else [])]
        placed = Placed(found.sets, found.moves_bound, found.bytes_bound)
        return self._finish(given.lists, placed, 0)._replace(short=found.short)

    def _moved(self, given: Input) -> tuple[Placed, int]:
        """Return the new sets of replicas, and by how much a budget widened the ranges."""
        placed, widened = self._within_budget(given)
        sets, shares = placed.sets, self._shares
        if shares is not None:
            sets, after = self._even_bytes(given, shares, sets, widened)
            if given.sizes_differ and not after.equals(shares):
                # The bound is that of the first wanted bytes.
                required = int((given.required * given.bytes).sum())
                placed = placed._replace(bytes_bound=min(placed.bytes_bound, required))
            shares = after
        sets = within_disks(given, sets, self._problem.table.brokers)
        self._notes += rack_notes(self._problem, given.layout, given.factor) + disk_notes(self._problem)
        self._notes += share_notes(self._problem, self._ranges)[:MOST_NOTES] if given.layout.shared else []
        if shares is not None:
            self._notes += byte_notes(self._problem, given, shares, sets, (placed.bound, placed.bytes_bound))
        sets = self._spread(given, sets, shares)
        if self._goal.minimize == "bytes" and shares is None:
            _, copied = given.cost(sets)
            self._notes += [least_bytes_note(copied, placed.bytes_bound)] if copied else []
        return placed._replace(sets=sets), widened

    def _as_arrays(self, ranges: dict[int, CountRange]) -> Ranges:
        """Return ranges by position. Brokers that are not usable have 0 to 0, which nothing reads."""
        every = [ranges.get(broker, CountRange(0, 0)) for broker in self._problem.table.brokers.tolist()]
        return Ranges(
            np.array([each.least for each in every], np.int64),
            np.array([each.most for each in every], np.int64),
        )

    def _wanted_bytes(self, problem: Problem) -> Shares | None:
        """Return the wanted bytes of each broker, or None if bytes are not asked for or not known."""
        table = problem.table
        by_bytes = self._goal.even_counts and self._goal.by != "replicas" and not self._goal.loads
        if not by_bytes or not table.bytes.any():
            return None
        wanted = self._as_arrays(byte_ranges(problem, self._rule))
        return Shares(wanted.least, wanted.most, table.sizes(~table.free))

    # ---- places --------------------------------------------------------------------------------------------

    def _placed(self, given: Input) -> Placed:
        """Place the replicas by the class flow, or by quotas where these are proven to be as good."""
        arcs = arcs_of(given)
        if given.fewest_bytes and given.ranges is not None and self._shares is None:
            return self._fewest_bytes(given)
        if self._shares is None and arcs <= EXACT_ARCS:
            return self._by_flow(given, by_leader=True)
        plan = self._with_sound_bounds(given, by_quotas(given, self._shares, shed=False))
        optimal = self._is_optimal(given, plan)
        # Even bytes come before the highest share, and change it.
        lowest = plan.lowest_share or self._shares is not None or arcs > MOST_ARCS
        if optimal and lowest:
            return Placed(plan.sets, plan.bound, plan.bytes_bound)
        if arcs <= MOST_ARCS:
            return self._by_flow(given, by_leader=arcs <= EXACT_ARCS)._replace(bytes_bound=plan.bytes_bound)
        self._notes.append(
            "the cluster is too large for the exact solver: a plan with fewer moves or more even counts may"
            " exist"
        )
        return self._approximate(given, plan)

    def _fewest_bytes(self, given: Input) -> Placed:
        """Return the plan with the fewest bytes for even counts.

        Quotas give it if they are proven, else a flow.
        """
        plan = self._with_sound_bounds(given, by_quotas(given))
        valid = plan.complete and self._keeps_ranges(given, plan.sets) and self._keeps_racks(given, plan.sets)
        _, copied = given.cost(plan.sets)
        if not valid or copied > plan.bytes_bound:
            # Partitions of different sizes are not alike: the network has nearly as many classes as
            # partitions.
            arcs = len(given.lists) * (int(self._layout.receives.sum()) + 4 * self._layout.racks)
            if arcs <= SIZED_ARCS and size_steps(given) >= LEAST_STEPS:
                sets, least = place_fewest_bytes(given)
                if not valid or given.cost(sets)[1] < copied:
                    return Placed(sets, plan.bound, max(least, plan.bytes_bound))
                return Placed(plan.sets, plan.bound, max(least, plan.bytes_bound))
            if not valid:
                return self._placed(given._replace(fewest_bytes=False))._replace(bytes_bound=plan.bytes_bound)
        return Placed(plan.sets, plan.bound, plan.bytes_bound)

    def _approximate(self, given: Input, plan: QuotaPlan) -> Placed:
        """Return a plan by quotas, with wider ranges of counts where the given ones have too few places."""
        widened = 1
        while not plan.complete:
            if given.ranges is None or widened > given.ranges.most.max():
                raise ProposalError(
                    ["the cluster is too large for the exact solver, and quotas find no plan"]
                )
            wider = given._replace(ranges=given.ranges.widened(widened))
            plan = by_quotas(wider, self._shares)._replace(bound=plan.bound)
            widened *= 2
        return Placed(plan.sets, plan.bound, plan.bytes_bound)

    def _by_flow(self, given: Input, *, by_leader: bool) -> Placed:
        sets = place(given, by_leader=by_leader)
        return Placed(sets, moves_of(given.lists, sets), int((given.required * given.bytes).sum()))

    def _with_sound_bounds(self, given: Input, plan: QuotaPlan) -> QuotaPlan:
        """Return the plan with bounds that hold for any plan.

        The bounds of quotas assume that the rack rule can be met. If the plan breaks it and some brokers get
        nothing new, only what leaves unusable brokers or the factor asks for is sure to move.
        """
        layout = self._layout
        everywhere = not (layout.usable & ~layout.receives).any()
        if everywhere or (plan.complete and self._keeps_racks(given, plan.sets)):
            return plan
        required = given.required
        return plan._replace(bound=int(required.sum()), bytes_bound=int((required * given.bytes).sum()))

    def _is_optimal(self, given: Input, plan: QuotaPlan) -> bool:
        """Whether the plan reaches the bound, keeps counts in their ranges, and obeys the rack rule."""
        if not plan.complete or moves_of(given.lists, plan.sets) > plan.bound:
            return False
        return self._keeps_ranges(given, plan.sets) and self._keeps_racks(given, plan.sets)

    def _keeps_ranges(self, given: Input, sets: Ints) -> bool:
        """Whether all counts are in their ranges."""
        if given.ranges is None:
            return True
        counts = given.fixed + per_broker(sets, None, self._layout.size)
        outside = (counts < given.ranges.least) | (counts > given.ranges.most)
        return not (outside & self._layout.usable).any()

    def _keeps_racks(self, given: Input, sets: Ints) -> bool:
        """Whether no partition breaks the rack rule, or none more than before if racks are not repaired."""
        if not self._layout.shared:
            return True
        if given.repair_racks:
            return not self._layout.excess(sets).any()
        changed = differing(given.lists, sets)
        before = self._layout.excess(self._without_leaving(given)[changed])
        return bool((self._layout.excess(sets[changed]) <= before).all())

    def _without_leaving(self, given: Input) -> Ints:
        """Return the lists without offline replicas that leave usable brokers.

        The rack rule does not keep them.
        """
        leaving = (given.lists >= 0) & ~given.stays & self._layout.usable[given.lists]
        lists: Ints = np.where(leaving, -1, given.lists)
        return lists

    # ---- budgets -------------------------------------------------------------------------------------------

    def _within_budget(self, given: Input) -> tuple[Placed, int]:
        """Return the sets, and by how much the ranges were widened until moves and bytes fit their budgets.

        What drained brokers, racks and replication factors require is not optional. Even counts are: the
        ranges are widened by the least number for which the budgets suffice.
        """
        placed = self._placed(given)
        if self._fits(given, placed):
            return placed, 0
        required = self._placed(given._replace(ranges=None)) if self._counted else placed
        self._check_required(given, required)
        moves, size = given.cost(placed.sets)
        target = min(self._most_moves, moves * self._most_bytes // max(1, size))
        return self._widened(given, target)

    def _widened(self, given: Input, target: int) -> tuple[Placed, int]:
        """Search for the least widening, from the first one whose bound is at most `target`."""
        ranges = given.ranges
        if ranges is None:
            raise ProposalError(["the budget cannot be met"])
        bound = count_bound(given)
        low, high = 0, 1
        while bound(ranges.widened(high)) > target and high < int(ranges.most.max()) + 1:
            high *= 2
        first = high // 2
        while high - first > 1:
            middle = (first + high) // 2
            first, high = (middle, high) if bound(ranges.widened(middle)) > target else (first, middle)
        if target == self._most_moves:
            low = high - 1  # the bound proves that a narrower range needs more moves
        best = self._placed(given._replace(ranges=ranges.widened(high)))
        step = 1
        while not self._fits(given, best):
            low, high, step = high, high + step, 2 * step
            best = self._placed(given._replace(ranges=ranges.widened(high)))
        while high - low > 1:
            middle = (low + high) // 2
            placed = self._placed(given._replace(ranges=ranges.widened(middle)))
            if self._fits(given, placed):
                high, best = middle, placed
            else:
                low = middle
        return best, high

    @property
    def _most_moves(self) -> int:
        return UNLIMITED if self._goal.max_moves is None else self._goal.max_moves

    @property
    def _most_bytes(self) -> int:
        return UNLIMITED if self._goal.max_bytes is None else self._goal.max_bytes

    def _fits(self, given: Input, placed: Placed) -> bool:
        moves, size = given.cost(placed.sets)
        return moves <= self._most_moves and size <= self._most_bytes

    def _check_required(self, given: Input, required: Placed) -> None:
        moves, size = given.cost(required.sets)
        reasons = []
        if moves > self._most_moves:
            reasons.append(
                f"the goal needs {moves:,} moves without any balancing, but {self._most_moves:,} are allowed"
            )
        if size > self._most_bytes:
            reasons.append(
                f"the goal needs to copy {size:,} bytes without any balancing, but {self._most_bytes:,} are"
                " allowed"
            )
        if reasons:
            raise ProposalError(reasons)

    # ---- bytes, leaders and lists --------------------------------------------------------------------------

    def _even_bytes(self, given: Input, shares: Shares, sets: Ints, widened: int) -> tuple[Ints, Shares]:
        """Even out bytes until a further proposal for the resulting cluster would change nothing.

        A broker that gets nothing new is to keep what it has; if it holds less in the end, the others are to
        hold more. A replica that was larger or smaller than its leader's has the size of that one after a
        move. So the wanted bytes are computed again from the result, and returned with it.
        """
        if given.ranges is not None:
            given = given._replace(ranges=given.ranges.widened(widened))
        start, better = given, sets
        for rounds in count():
            better = self._more_even(given, start, shares, sets)
            if np.array_equal(better, start.lists):
                depends = self._keeps or (given.sizes_differ and rounds < MOST_ROUNDS)
                after = self._wanted_bytes(self._problem.after(better)) if depends else None
                if after is None or after.equals(shares):
                    break
                shares = after
            elif given.sizes_differ and not self._is_better(given, shares, better, sets):
                better = sets  # A replica that comes back has its own size again, not that of a copy.
                break
            sets = better
            start = given.at(sets, room_left(given, sets))
        return aligned(given.lists, better), shares

    def _is_better(self, given: Input, shares: Shares, sets: Ints, before: Ints) -> bool:
        return self._unevenness(given, shares, sets) < self._unevenness(given, shares, before)

    @property
    def _keeps(self) -> bool:
        """Whether a broker only keeps replicas, so that wanted bytes depend on those."""
        return bool((self._layout.usable & ~self._layout.receives).any())

    def _spread(self, given: Input, sets: Ints, shares: Shares | None) -> Ints:
        """Return sets in which topics are spread more evenly.

        It adds moves only if the goal asks for them.

        Without even counts, too few replicas move to be worth the time.
        """
        if not self._goal.even_counts:
            return sets
        table = self._problem.table
        topics = Topics(table.topic[table.free], table.topic[~table.free], table.replicas[~table.free])
        bounds = unbounded(self._layout.size)
        if shares is not None:
            bounds = bounds._replace(least=shares.least, most=shares.most, fixed=shares.fixed)
        better = spread_topics(given, sets, topics, bounds)
        if self._goal.spread == "cluster":
            return better
        # As for bytes: until a further proposal for the resulting cluster would change nothing.
        start, before = given, moves_of(given.lists, better)
        while True:
            further = bounds._replace(further_moves=True, budget=self._budget(given, better))
            better = spread_topics(start, better, topics, further)
            if np.array_equal(better, start.lists):
                break
            start = given.at(better, room_left(given, better))
        better = aligned(given.lists, better)
        if (more := moves_of(given.lists, better) - before) > 0:
            self._notes.append(f"{counted(more, 'further move')}, for topics that are spread evenly")
        return better

    def _more_even(self, given: Input, start: Input, shares: Shares, sets: Ints) -> Ints:
        """Return sets with more even bytes.

        It moves large replicas of full brokers where counts do not matter, else it exchanges replicas.
        """
        large = self._by_large(given, start, shares) if given.ranges is None else None
        if large is not None and not self._unevenness(given, shares, large):
            return large
        better = even_bytes(start, sets, shares, self._budget(given, sets))
        if large is not None and self._unevenness(given, shares, large) < self._unevenness(
            given, shares, better
        ):
            return large
        return better

    def _budget(self, given: Input, sets: Ints) -> Budget:
        moves, size = given.cost(sets)
        return Budget(self._most_moves - moves, self._most_bytes - size)

    def _by_large(self, given: Input, start: Input, shares: Shares) -> Ints | None:
        """Return a plan that moves the largest replicas of full brokers; None beyond the budget."""
        plan = by_quotas(start, shares)
        fits = plan.complete and self._fits(given, Placed(plan.sets, 0, 0))
        if not fits or not self._keeps_racks(given, plan.sets):
            return None
        return even_bytes(start, plan.sets, shares, self._budget(given, plan.sets))

    def _unevenness(self, given: Input, shares: Shares, sets: Ints) -> int:
        """Return by how many bytes brokers are outside of their ranges."""
        held = shares.fixed + given.held(sets)
        outside = np.maximum(0, held - shares.most) + np.maximum(0, shares.least - held)
        return int(outside[self._layout.usable].sum())

    def _leaders(self, lists: Ints, sets: Ints) -> Ints:
        """Return the leader of each partition."""
        table = self._problem.table
        fixed, states = self._fixed_leaders(), table.state[table.free]
        if not self._goal.even_leaders:
            return taken_over(lists, sets, states, fixed)
        leaders, _ = even_leaders(lists, sets, states, fixed, self._able, self._demoted)
        return leaders

    @property
    def _demoted(self) -> Flags:
        demoted: Flags = np.isin(self._problem.table.brokers, sorted(self._goal.demote))
        return demoted

    @property
    def _able(self) -> Flags:
        """The brokers that leaders are evened out over."""
        return self._layout.receives & ~self._demoted

    def _fixed_leaders(self) -> Ints:
        """Return how many of the partitions that may not change each broker leads."""
        table = self._problem.table
        counts: Ints = np.bincount(table.replicas[~table.free][:, 0], minlength=self._layout.size)
        return counts

    def _finish(self, lists: Ints, placed: Placed, widened: int) -> Solution:
        """Choose the leaders and the order of the lists."""
        sets = placed.sets
        table, demoted = self._problem.table, self._demoted
        leaders = self._leaders(lists, sets)
        bounds, notes = (placed.bound, placed.bytes_bound), tuple(self._notes)
        if not self._goal.demote:
            return Solution(ordered(lists, sets, leaders), self._ranges, widened, *bounds, notes)
        found = handover(table, sets, leaders, demoted, self._layout.usable)
        leaders = taken_by_others(found, lists, sets, leaders, self._fixed_leaders())
        after = with_demoted_last(found, ordered(lists, sets, leaders), demoted)
        elected = elections(found, table, after)
        left_out = kept_leaderships(found, self._problem, sets, leaders)
        return Solution(after, self._ranges, widened, *bounds, notes, elected, left_out=left_out)


def input_of(problem: Problem, ranges: Ranges | None = None) -> Input:
    """Return the partitions that may change as arrays."""
    table, layout = problem.table, layout_of(problem.nodes, problem.table)
    lists = table.replicas[table.free].astype(np.int64)
    return Input(
        layout,
        lists,
        (lists >= 0) & layout.usable[lists] & ~table.leaves[table.free],
        table.state[table.free],
        table.factor[table.free].astype(np.int64),
        table.bytes[table.free],
        table.own[table.free],
        table.counts(~table.free),
        problem.goal.repair_racks,
        ranges,
        _room(problem),
        problem.goal.minimize == "bytes",
    )


def _room(problem: Problem) -> Ints:
    room = {node.id: node.room for node in problem.nodes if node.room is not None}
    return np.array([room.get(broker, UNBOUNDED) for broker in problem.table.brokers.tolist()], np.int64)
