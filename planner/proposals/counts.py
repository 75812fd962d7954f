"""How many replicas each broker should hold for even counts."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from fractions import Fraction
from math import ceil, floor
from typing import NamedTuple

from planner.proposals.goal import Problem, replica_counts
from planner.proposals.rack_rule import RackRule


class CountRange(NamedTuple):
    """Least and most replicas of a broker, out-of-scope partitions included."""

    least: int
    most: int

    def widened(self, by: int) -> "CountRange":
        """Return the range extended on both sides."""
        return CountRange(self.least - by, self.most + by)


class RackShare(NamedTuple):
    """Replicas that a rack can hold under the rack rule, and the total weight of its brokers."""

    least: int
    most: int
    weight: Fraction


def count_ranges(problem: Problem, rule: RackRule) -> dict[int, CountRange]:
    """Return the wanted range of each usable broker. One that gets nothing new keeps its count.

    All brokers of a rack get the same share. A rack with fewer brokers gets more for each of them where the rack rule fixes how
    much the rack holds.
    """
    tolerance = problem.goal.tolerance
    even = {
        broker: CountRange(floor(ideal * (1 - tolerance)), ceil(ideal * (1 + tolerance)))
        for broker, ideal in ideal_counts(problem, rule).items()
    }
    fixed = replica_counts(problem.fixed)
    kept = _kept_elsewhere(problem)
    return even | {
        broker: CountRange(fixed[broker] + count, fixed[broker] + count) for broker, count in kept.items()
    }


def ideal_counts(problem: Problem, rule: RackRule) -> dict[int, Fraction]:
    """Return the even share of each broker, as an exact fraction."""
    receivers = [node for node in problem.nodes if node.receives]
    weights: dict[str, Fraction] = defaultdict(Fraction)
    for node in receivers:
        weights[node.rack] += node.weight
    least, most = Counter[str](), Counter[str]()
    fixed = replica_counts(problem.fixed)
    factors = Counter(row.factor for row in problem.rows)
    for factor, count in factors.items():
        bounds = rule.bounds(factor)
        for rack in weights:
            least[rack] += count * bounds.least.get(rack, 0)
            most[rack] += count * bounds.most.get(rack, 0)
    for node in receivers:
        least[node.rack] += fixed[node.id]
        most[node.rack] += fixed[node.id]
    total = sum(row.factor for row in problem.rows) + sum(fixed[node.id] for node in receivers)
    total -= sum(_kept_elsewhere(problem).values())
    shares = {rack: RackShare(least[rack], most[rack], weight) for rack, weight in weights.items() if weight}
    level = _level(total, list(shares.values()))
    return {
        node.id: node.weight * _clamp(share.weight * level, share) / share.weight
        for node in receivers
        if (share := shares.get(node.rack)) is not None
    }


def _kept_elsewhere(problem: Problem) -> dict[int, int]:
    """Count the replicas of brokers that keep what they have but get nothing new."""
    held = replica_counts(problem.rows)
    return {node.id: held[node.id] for node in problem.usable if not node.receives}


def _clamp(value: Fraction, share: RackShare) -> Fraction:
    return min(max(value, Fraction(share.least)), Fraction(share.most))


def _level(total: int, shares: Sequence[RackShare]) -> Fraction:
    """Return the share of weight 1 at which the racks together hold `total`. The sum is piecewise linear in the level."""

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
