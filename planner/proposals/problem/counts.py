"""How many replicas, or bytes, each broker should hold to be even with the others.

It computes the same for each topic.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import ceil, floor
from typing import NamedTuple

import numpy as np

from planner.proposals.problem.arrays import Flags, Ints
from planner.proposals.problem.goal import CountRange, Problem
from planner.proposals.problem.layout import CELLS
from planner.proposals.problem.nodes import Node, RackRule

LEAST_BYTE_TOLERANCE = Fraction(1, 20)


class RackShare(NamedTuple):
    """What a rack can hold under the rack rule, and the total weight of its brokers."""

    least: int
    most: int
    weight: Fraction


class Amounts(NamedTuple):
    """Replicas or bytes of a problem."""

    by_factor: Mapping[int, int]
    """Partitions that may change (or the mean bytes of a replica of each) by wanted replication factor."""
    fixed: Mapping[int, int]
    """On each broker, of the partitions that may not change."""
    held: Mapping[int, int]
    """On each broker, of the others."""


def count_amounts(problem: Problem) -> Amounts:
    """Return the amounts in replicas."""
    return amounts_of(problem, np.ones(problem.table.size, np.int64), problem.table.counts)


def byte_amounts(problem: Problem) -> Amounts:
    """Return the amounts in bytes."""
    return amounts_of(problem, problem.table.mean_sizes(), problem.table.sizes)


def amounts_of(problem: Problem, weights: Ints, of_rows: Callable[[Flags], Ints]) -> Amounts:
    """Return the amounts for weights of replicas by partition; `of_rows` has what each broker holds."""
    table = problem.table
    ids = table.brokers.tolist()
    factors, sizes = table.factor[table.free], weights[table.free]
    by_factor = {int(factor): int(sizes[factors == factor].sum()) for factor in np.unique(factors).tolist()}
    return Amounts(
        by_factor,
        dict(zip(ids, of_rows(~table.free).tolist(), strict=True)),
        dict(zip(ids, of_rows(table.free).tolist(), strict=True)),
    )


def count_ranges(problem: Problem, rule: RackRule) -> dict[int, CountRange]:
    """Return the wanted number of replicas of each usable broker. One that gets nothing new keeps its count.

    All brokers of a rack get the same share. A rack with fewer brokers gets more for each of them where the
    rack rule fixes how much the rack holds. The tolerance is a fraction of the share; the range is rounded
    outwards to whole replicas.
    """
    return _ranges(problem, rule, count_amounts(problem), problem.goal.tolerance)


def byte_ranges(problem: Problem, rule: RackRule) -> dict[int, CountRange]:
    """Return the wanted bytes of each usable broker, in the same way."""
    goal = problem.goal
    tolerance = (
        max(LEAST_BYTE_TOLERANCE, goal.tolerance) if goal.byte_tolerance is None else goal.byte_tolerance
    )
    return _ranges(problem, rule, byte_amounts(problem), tolerance)


def _ranges(problem: Problem, rule: RackRule, amounts: Amounts, tolerance: Fraction) -> dict[int, CountRange]:
    even = {
        broker: CountRange(floor(ideal * (1 - tolerance)), ceil(ideal * (1 + tolerance)))
        for broker, ideal in ideal_shares(problem, rule, amounts).items()
    }
    kept = {node: amounts.fixed[node.id] + amounts.held[node.id] for node in _keepers(problem)}
    # What is on an offline broker may leave it, if it is one of several replicas that could.
    return even | {node.id: CountRange(count if node.live else 0, count) for node, count in kept.items()}


def ideal_shares(problem: Problem, rule: RackRule, amounts: Amounts) -> dict[int, Fraction]:
    """Return the even share of each broker that receives, as an exact fraction."""
    receivers = [node for node in problem.nodes if node.receives]
    weights: dict[str, Fraction] = defaultdict(Fraction)
    for node in receivers:
        weights[node.rack] += node.weight
    least, most = dict.fromkeys(weights, 0), dict.fromkeys(weights, 0)
    for factor, amount in amounts.by_factor.items():
        bounds = rule.bounds(factor)
        for rack in weights:
            least[rack] += amount * bounds.least.get(rack, 0)
            most[rack] += amount * bounds.most.get(rack, 0)
    for node in receivers:
        least[node.rack] += amounts.fixed[node.id]
        most[node.rack] += amounts.fixed[node.id]
    # Brokers that get nothing new keep their replicas. The receivers of the rack share the rest.
    for node in _keepers(problem):
        if node.rack in weights:
            least[node.rack] = max(0, least[node.rack] - amounts.held[node.id])
            most[node.rack] = max(least[node.rack], most[node.rack] - amounts.held[node.id])
    total = sum(factor * amount for factor, amount in amounts.by_factor.items())
    total += sum(amounts.fixed[node.id] for node in receivers)
    total -= sum(amounts.held[node.id] for node in _keepers(problem))
    shares = {rack: RackShare(least[rack], most[rack], weight) for rack, weight in weights.items() if weight}
    level = _level(total, list(shares.values()))
    return {
        node.id: node.weight * _clamp(share.weight * level, share) / share.weight
        for node in receivers
        if (share := shares.get(node.rack)) is not None
    }


def _keepers(problem: Problem) -> list[Node]:
    """Return the brokers that keep what they have but get nothing new."""
    return [node for node in problem.usable if not node.receives]


def _clamp(value: Fraction, share: RackShare) -> Fraction:
    return min(max(value, Fraction(share.least)), Fraction(share.most))


def _level(total: int, shares: Sequence[RackShare]) -> Fraction:
    """Return the share of weight 1 at which the racks together hold `total`.

    The sum is piecewise linear in the level.
    """

    def held(level: Fraction) -> Fraction:
        return sum((_clamp(share.weight * level, share) for share in shares), Fraction(0))

    knees = sorted({Fraction(bound) / share.weight for share in shares for bound in share[:2]})
    below = Fraction(0)
    for knee in knees:
        if held(knee) >= total:
            slope = held(knee) - held(below)
            return knee if slope == 0 else below + (knee - below) * (total - held(below)) / slope
        below = knee
    return below


def topic_excess(topic: Ints, lists: Ints, brokers: int, usable: int) -> int:
    """Return the sum, over topics and brokers, of the replicas above the topic's rounded even share.

    `topic` numbers the topic of each list, in ascending order. `usable` brokers share the replicas of a
    topic.
    """
    excess = 0
    for _, counts in counts_by_topic(topic, lists, brokers):
        excess += int(np.maximum(0, counts - even_share(counts.sum(axis=1), usable)[:, None]).sum())
    return excess


def even_share(replicas: Ints, usable: int) -> Ints:
    """Return the replicas of a topic that each broker has if they are even, rounded up."""
    share: Ints = -(-replicas // max(1, usable))
    return share


def counts_by_topic(topic: Ints, lists: Ints, brokers: int) -> Iterator[tuple[int, Ints]]:
    """Yield the number of a topic, and its and the next ones' replicas (rows) on each broker (columns)."""
    step = max(1, CELLS // max(1, brokers))
    topics = int(topic.max(initial=-1)) + 1
    for first in range(0, topics, step):
        size = min(step, topics - first)
        begin, end = np.searchsorted(topic, [first, first + size])
        counts = np.zeros(size * brokers, np.int64)
        base = (topic[begin:end] - first).astype(np.int64) * brokers
        for slot in lists[begin:end].T:
            there = slot >= 0
            counts += np.bincount(base[there] + slot[there], minlength=len(counts))
        yield first, counts.reshape(size, brokers)
