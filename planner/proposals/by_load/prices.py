"""How much of each kind of replica brokers give and take: a linear program over classes of replicas.

Replicas with about the same loads per byte are a class. The program says which part of a class leaves each
broker, and how much of it arrives there, so that all loads are in their ranges and the fewest bytes are
copied. Its dual values are prices of loads on brokers: a replica is worth moving if the price of its loads
falls by more than its bytes.

The prices also prove a bound. For any prices, let each replica choose the cheapest place on its own: no plan
within the ranges copies fewer bytes than the sum of what they choose, less what the ranges pay for.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from planner.proposals.by_load.linear import LinearProgram
from planner.proposals.by_load.task import Items, Task
from planner.proposals.problem.arrays import Flags, Ints, Rates

BINS: Mapping[int, tuple[int, ...]] = {0: (), 1: (32,), 2: (8, 6)}
"""Classes along the ratio of each load to bytes, by the number of such ratios."""
MARGIN = 0.01
"""Part of a range that the program leaves at each end, so that whole replicas fit afterwards."""
PENALTY = 50.0
"""What a fair share outside of a range costs, in the bytes of a mean broker."""
MOVE = 1e-5
"""What a move costs beside its bytes, in mean replicas."""
CELLS = 2**21
"""Most pairs of a replica and a broker that are priced at once."""
LEAST_WEIGHT = 1e-300


class Quotas(NamedTuple):
    """What a scope should do. Arrays of items have those of the scope."""

    part: Rates
    """By item: the part of its class that leaves its broker; 1 for holes."""
    loads: Rates
    """By broker: the loads that it should have in the end."""
    prices: Rates
    """By broker: the price of a unit of each load, in bytes."""
    classes: Ints
    """By item: the number of its class."""
    arriving: Rates
    """By class and broker: what arrives, in the unit of `move_cost`."""
    estimate: float
    """The bytes of the linear program, which divides replicas."""


def move_cost(items: Items) -> Rates:
    """Return the bytes of each copy and a little more, so that nothing moves without a reason."""
    cost: Rates = items.cost + (1.0 + MOVE * float(items.cost.mean()) if len(items.cost) else 1.0)
    return cost


def classes_of(task: Task, items: Items) -> Ints:
    """Number the classes of the items."""
    share = np.maximum(1.0, items.home.sum(axis=0))
    weight = (items.home / share).sum(axis=1) + items.cost / max(1.0, float(items.cost.sum()))
    size = move_cost(items)
    ratios = [items.home[:, each] / size for each in range(task.width) if each != task.bytes_at]
    codes = np.zeros(len(items.row), np.int64)
    for ratio, bins in zip(ratios, BINS[len(ratios)], strict=True):
        codes = _split(codes, ratio, weight, bins)
    return codes


def _split(codes: Ints, ratio: Rates, weight: Rates, bins: int) -> Ints:
    """Divide each class into bins of about the same weight, in order of the ratio."""
    order = np.lexsort((ratio, codes))
    groups, ordered, mine = codes[order], ratio[order], weight[order]
    new = np.diff(groups, prepend=-1) != 0
    starts = np.flatnonzero(new)
    lengths = np.diff(starts, append=len(groups))
    before = np.cumsum(mine) - mine
    base = np.repeat(before[starts], lengths)
    total = np.repeat(np.add.reduceat(mine, starts), lengths) if len(mine) else mine
    parts = (before - base) / np.maximum(total, LEAST_WEIGHT)
    position = np.minimum(bins - 1, (parts * bins).astype(np.int64))
    # Equal ratios stay together.
    first = np.flatnonzero(new | (np.diff(ordered, prepend=np.nan) != 0))
    position = np.repeat(position[first], np.diff(first, append=len(groups)))
    result = np.empty(len(codes), np.int64)
    result[order] = np.unique(groups * bins + position, return_inverse=True)[1]
    return result


def quotas_of(task: Task, items: Items, brokers: Ints, start: Rates) -> Quotas | None:
    """Solve the program of a scope. `start` has the loads of all brokers without the holes."""
    return _ClassProgram(task, items, brokers, start).solve()


class _ClassProgram:
    """Variables: the part of a class that leaves a broker, and of its whole amount that arrives at one."""

    def __init__(self, task: Task, items: Items, brokers: Ints, start: Rates) -> None:
        self._task, self._items, self._brokers, self._start = task, items, brokers, start
        self._codes = classes_of(task, items)
        classes = int(self._codes.max(initial=-1)) + 1
        self._receivers = brokers[task.given.layout.receives[brokers]]
        size = move_cost(items)
        stays = items.broker >= 0
        keys = np.where(stays, items.broker * classes + self._codes, -1)
        self._pairs, inverse = np.unique(keys[stays], return_inverse=True)
        self._pair_of = np.full(len(keys), -1)
        self._pair_of[stays] = inverse
        self._pair_broker, self._pair_class = np.divmod(self._pairs, max(1, classes))
        count = len(self._pairs)
        self._pair_size = np.bincount(inverse, size[stays], count)
        self._pair_loads = _sums(inverse, items.home[stays], count)
        self._size = np.bincount(self._codes, size, classes)
        self._loads = _sums(self._codes, items.new, classes)
        self._holes = np.bincount(self._codes[~stays], size[~stays], classes)
        self._unit = max(1.0, float(size.sum()) / max(1, len(brokers)))
        """A cost of 1 in the program, in bytes."""

    def solve(self) -> Quotas | None:
        """Return the quotas, or None if the program has no solution."""
        program = LinearProgram()
        leaving = program.add_variables(self._pair_size / self._unit, 1.0)
        classes, receivers = len(self._size), self._receivers
        arriving = program.add_variables(np.zeros(classes * len(receivers)), np.inf)
        arriving = arriving.reshape(classes, len(receivers))
        slack = program.add_variables(np.full(2 * len(self._brokers) * self._task.width, PENALTY), np.inf)
        slack = slack.reshape(len(self._brokers), self._task.width, 2)
        for position, broker in enumerate(self._brokers.tolist()):
            mine = np.flatnonzero(self._pair_broker == broker)
            there = np.flatnonzero(receivers == broker)
            variables = np.concatenate([leaving[mine], *(arriving[:, each] for each in there.tolist())])
            for load in range(self._task.width):
                share = float(self._task.ranges.share[broker, load])
                more = [self._loads[:, load] / share] * len(there)
                factors = np.concatenate([-self._pair_loads[mine, load] / share, *more, [1.0, -1.0]])
                least, most = self._bounds(broker, load, bool(len(there)))
                program.constrain(np.append(variables, slack[position, load]), factors, least, most)
        for each in range(classes):
            mine = np.flatnonzero(self._pair_class == each)
            size = max(1.0, float(self._size[each]))
            factors = np.concatenate([-self._pair_size[mine] / size, np.ones(len(receivers))])
            held = float(self._holes[each]) / size
            program.constrain(np.concatenate([leaving[mine], arriving[each]]), factors, held, held)
        solved = program.solve()
        return None if solved is None else self._quotas(solved.values, solved.prices, leaving, arriving)

    def _bounds(self, broker: int, load: int, receives: bool) -> tuple[float, float]:
        """Return the bounds of what a broker gains, in fair shares."""
        task = self._task
        least, most = float(task.ranges.least[broker, load]), float(task.ranges.most[broker, load])
        margin = MARGIN * (most - least) / 2 if receives else 0.0
        share, start = float(task.ranges.share[broker, load]), float(self._start[broker, load])
        return (least + margin - start) / share, (most - margin - start) / share

    def _quotas(self, values: Rates, duals: Rates, leaving: Ints, arriving: Ints) -> Quotas:
        task = self._task
        part = values[leaving]
        of_item = np.append(part, 1.0)[self._pair_of]  # The last one, -1, is that of holes.
        loads = self._start.copy()
        np.subtract.at(loads, self._pair_broker, part[:, None] * self._pair_loads)
        loads[self._receivers] += values[arriving].T @ self._loads
        prices = np.zeros(loads.shape)
        rows = duals[: len(self._brokers) * task.width].reshape(len(self._brokers), task.width)
        prices[self._brokers] = -rows * self._unit / task.ranges.share[self._brokers]
        arrives = np.zeros((len(self._size), len(loads)))
        arrives[:, self._receivers] = values[arriving] * self._size[:, None]
        return Quotas(
            of_item,
            loads,
            prices,
            self._codes,
            arrives,
            float(part @ self._pair_size) + float(self._holes.sum()),
        )


def _sums(groups: Ints, loads: Rates, count: int) -> Rates:
    sums = [np.bincount(groups, loads[:, each], count) for each in range(loads.shape[1])]
    return np.stack(sums, axis=1)


def proven_bytes(task: Task, items: Items, brokers: Ints, prices: Rates, fixed: Rates) -> float:
    """Return a number of bytes that no plan within the ranges of these brokers undercuts.

    `fixed` are the loads of brokers without the items.
    """
    receivers = brokers[task.given.layout.receives[brokers]]
    mine = prices[brokers]
    ranges = np.maximum(mine * task.ranges.least[brokers], mine * task.ranges.most[brokers]).sum()
    total = float((mine * fixed[brokers]).sum() - ranges)
    step = max(1, CELLS // max(1, len(receivers)))
    for start in range(0, len(items.row), step):
        part = items.of(np.arange(start, min(len(items.row), start + step)))
        moved = part.cost + (part.new @ prices[receivers].T).min(axis=1)
        stays = np.where(part.broker >= 0, (prices[part.broker] * part.home).sum(axis=1), np.inf)
        total += float(np.minimum(moved, stays).sum())
    return total


def held_by(items: Items, brokers: int) -> Rates:
    """Return the loads of all brokers by the items that are not holes."""
    stays: Flags = items.broker >= 0
    return _sums(items.broker[stays], items.home[stays], brokers)
