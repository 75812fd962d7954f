"""How even the loads of leaders can be at best, with the replicas that a plan has.

Leadership is handed over between pairs of brokers, in parts: from one to another at most the load of those
partitions that the one leads and the other may lead. A linear program finds the lowest share of the fullest
broker. No choice of leaders is better, because each of them is such a handover.
"""

import numpy as np

from planner.proposals.by_load.linear import LinearProgram
from planner.proposals.problem.arrays import Flags, Ints, Rates

MOST_BROKERS = 100
"""With more brokers that take leadership there is no bound: the program grows with their square."""


def least_highest(carried: Rates, share: Rates, weights: Rates, leaders: Ints, targets: Ints) -> float:
    """Return the lowest part of a fair share that the fullest broker carries; 0 if it is not known.

    `carried` is the load of each broker with these `leaders`, and `share` is 0 where it does not count.
    `weights` has the load of leading each partition, and `targets` a row with the brokers that may lead it
    instead, padded with -1.
    """
    counted = np.flatnonzero(share > 0)
    if not 0 < len(counted) <= MOST_BROKERS:
        return 0.0
    size = len(carried)
    movable = np.bincount(leaders, np.where((targets >= 0).any(axis=1), weights, 0.0), size)
    between = _between(weights, leaders, targets, size)
    pairs = np.argwhere(between > 0)
    program, unit = LinearProgram(), float(share[counted].mean())
    level = program.add_variables(np.ones(1), np.inf)
    handed = program.add_variables(np.zeros(len(pairs)), between[between > 0] / unit)
    for broker in range(size):
        gives, gets = handed[pairs[:, 0] == broker], handed[pairs[:, 1] == broker]
        program.constrain(gives, np.ones(len(gives)), 0.0, float(movable[broker]) / unit)
        if share[broker] > 0:
            variables = np.concatenate([gives, gets, level])
            signs = np.repeat([1.0, -1.0], [len(gives), len(gets)])
            factors = np.append(signs, share[broker] / unit)
            program.constrain(variables, factors, float(carried[broker]) / unit, np.inf)
    solved = program.solve()
    return 0.0 if solved is None else float(solved.values[level[0]])


def _between(weights: Rates, leaders: Ints, targets: Ints, size: int) -> Rates:
    """Return the load that each broker (row) could hand over to each other one."""
    rows, columns = np.nonzero((targets >= 0) & (targets != leaders[:, None]))
    codes = leaders[rows] * size + targets[rows, columns]
    between: Rates = np.bincount(codes, weights[rows], size * size).astype(np.float64)
    return between.reshape(size, size)


def able_targets(sets: Ints, may_lead: Flags, leaders: Ints) -> Ints:
    """Return the other brokers that may lead each partition, padded with -1."""
    targets: Ints = np.where(may_lead & (sets != leaders[:, None]), sets, -1)
    return targets
