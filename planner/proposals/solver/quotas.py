"""Plans for large clusters: how many replicas each broker sheds and takes, then which ones.

The number of moves has a lower bound that follows from counts alone: a replica that must leave needs a new
place, a broker above its range must shed, and one below must receive. Where the rack rule fixes how many
replicas of a partition each rack holds, this is true of each rack on its own. A plan that reaches the bound,
and keeps all counts in their ranges, is optimal without a solver. It is not always found; then the class flow
decides.

A plan is made in three phases. Each begins where the one before has ended, and only it changes the sets
meanwhile:

1. `remainder_of` drops the replicas that no plan keeps. Its result is not changed again: all bounds follow
   from it.
2. `shed_for_counts` or `shed_for_bytes` removes replicas from a copy of its sets, as many as others are to
   get.
3. `fill` puts a new replica into each hole of that copy, which is then the plan.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from planner.proposals.problem.arrays import Ints
from planner.proposals.problem.table import per_broker
from planner.proposals.solver.class_flow import Input, Ranges
from planner.proposals.solver.filling import fill
from planner.proposals.solver.remainder import Remainder, Shares, remainder_of
from planner.proposals.solver.shedding import shed_for_bytes, shed_for_counts


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
    """Whether counts alone prove that no plan with as few moves has a lower highest share of a broker. Only
    if it is complete."""


def count_bound(given: Input) -> Callable[[Ranges], int]:
    """Return a function from ranges of counts to the least number of moves of any plan within them."""
    return partial(_bound, remainder_of(given))


def by_quotas(given: Input, shares: Shares | None = None, *, shed: bool = True) -> QuotaPlan:
    """Return a plan. With `shares`, replicas are chosen and placed so that bytes are as even as counts allow.

    Without ranges of counts, replicas leave only for even bytes, and not at all without `shed`.
    """
    remainder, ranges = remainder_of(given), given.ranges
    sets = remainder.sets.copy()
    if ranges is not None:
        shed_for_counts(remainder, sets, ranges, shares)
    elif shares is not None and shed:
        shed_for_bytes(remainder, sets, shares)
    complete = fill(remainder, sets, shares)
    bound = int(remainder.holes.sum()) if ranges is None else _bound(remainder, ranges)
    return QuotaPlan(
        sets, bound, _bytes_bound(remainder, shares), complete, _has_lowest_share(remainder, sets)
    )


def _bound(remainder: Remainder, ranges: Ranges) -> int:
    """Return the least number of moves of a plan that keeps counts in these ranges."""
    missing = remainder.missing(remainder.stays)
    over = remainder.above(remainder.present, ranges, remainder.given.fixed)
    arriving = _arriving(remainder, over, remainder.below(remainder.present, ranges), missing)
    return max(arriving, int(remainder.holes.sum()))


def _bytes_bound(remainder: Remainder, shares: Shares | None) -> int:
    """Return the least number of bytes that a plan copies."""
    given = remainder.given
    bound = int((remainder.holes * given.bytes).sum())
    if shares is not None:
        present = shares.fixed + given.held(remainder.stays)
        missing = remainder.missing(remainder.stays, given.bytes)
        wanted = Ranges(shares.least, shares.most)
        over = _least_copied(remainder, remainder.above(present, wanted, shares.fixed))
        bound = max(bound, _arriving(remainder, over, remainder.below(present, wanted), missing))
    if given.fewest_bytes and given.ranges is not None:
        bound = max(bound, _least_bytes(remainder, given.ranges))
    return bound


def _least_bytes(remainder: Remainder, ranges: Ranges) -> int:
    """Return the least number of bytes of a plan that keeps counts in these ranges.

    Each broker sheds its smallest replicas.

    Where replicas are dropped for a lower factor, these may be the ones that leave; then only what is
    required counts.
    """
    given, stays = remainder.given, remainder.stays
    holes = given.factor - (stays >= 0).sum(axis=1)
    if (holes < 0).any():
        return int((remainder.holes * given.bytes).sum())
    over = remainder.above(remainder.present, ranges, given.fixed)
    least = int((holes * given.bytes).sum())
    for broker in np.flatnonzero(over).tolist():
        sizes = np.sort(given.bytes[(stays == broker).any(axis=1)])
        least += int(sizes[: over[broker]].sum())
    return least


def _least_copied(remainder: Remainder, over: Ints) -> Ints:
    """Return the least bytes to copy so that each broker gets rid of `over` bytes of its own replicas.

    A replica is copied from its leader, which may have less or more. The last one is counted in part.
    """
    given, stays = remainder.given, remainder.stays
    if not given.sizes_differ:
        return over
    sizes, least = given.sizes_in(stays), over.copy()
    for broker in np.flatnonzero(over).tolist():
        mine = (stays == broker) & (sizes > 0)
        own, copied = sizes[mine], given.bytes[mine.nonzero()[0]]
        least[broker] = least_cost(own, copied, int(over[broker]))
    return least


def least_cost(freed: Ints, cost: Ints, wanted: int) -> int:
    """Return the least cost of items that free `wanted` in all, if one of them may be taken in part."""
    order = np.argsort(cost / freed, kind="stable")
    freed, cost = freed[order], cost[order]
    sums = np.cumsum(freed)
    whole = int(np.searchsorted(sums, wanted))
    if whole == len(freed):
        return int(cost.sum())
    rest = wanted - int(sums[whole] - freed[whole])
    return int(cost[:whole].sum()) + rest * int(cost[whole]) // int(freed[whole])


def _arriving(remainder: Remainder, over: Ints, lack: Ints, missing: Ints) -> int:
    """Return how much has to arrive at brokers, in replicas or bytes.

    In each scope, at least as much arrives as brokers below their range `lack`. It is also as much as leaves,
    which is at least what is `over` the ranges, and what is missing now.
    """
    arriving = 0
    for each in remainder.scopes():
        brokers = remainder.given.layout.usable & (remainder.scope == each)
        arriving += max(int(lack[brokers].sum()), int(missing[each] + over[brokers].sum()), 0)
    return arriving


def _has_lowest_share(remainder: Remainder, sets: Ints) -> bool:
    given, layout = remainder.given, remainder.given.layout
    counts = given.fixed + per_broker(sets, None, layout.size)
    arriving = per_broker(np.where(sets == remainder.old, -1, sets), None, layout.size)
    # Replicas of each broker that no plan with the fewest moves moves or drops.
    untouched = (remainder.stays == remainder.sets).all(axis=1) & (given.ranges is None)
    firm = given.fixed + per_broker(remainder.sets[untouched], None, layout.size)
    scopes = [np.flatnonzero(layout.usable & (remainder.scope == each)) for each in remainder.scopes()]
    return all(_share_is_lowest(remainder, brokers, counts, arriving, firm) for brokers in scopes)


def _share_is_lowest(remainder: Remainder, brokers: Ints, counts: Ints, arriving: Ints, firm: Ints) -> bool:
    """Whether these brokers cannot hold as much with lower shares or fewer replicas that leave."""
    layout, ranges = remainder.given.layout, remainder.given.ranges
    weights, present, counts = layout.weights[brokers], remainder.present[brokers], counts[brokers]
    fullest = int((counts / weights).argmax())
    # The most that each may hold with a lower share than the fullest one.
    below = -(-int(counts[fullest]) * weights // int(weights[fullest])) - 1
    most = np.where(layout.receives[brokers], below, np.minimum(below, present))
    if ranges is not None:
        most = np.minimum(most, ranges.most[brokers])
    must_leave = int(np.maximum(0, present - below).sum())
    leaving = int(present.sum() - counts.sum() + arriving[brokers].sum())
    held = int(counts.sum())
    return bool((firm[brokers] > below).any() or most.sum() < held or must_leave > leaving)
