"""From sets of replicas to replica lists."""

import numpy as np

from planner.proposals.problem.arrays import Ints, in_blocks

LAST = 2**40


def ordered(lists: Ints, sets: Ints, leaders: Ints) -> Ints:
    """Return the replica list of each partition: the leader, kept replicas in their old order, new ones by broker.

    Kept replicas of `sets` are at their positions in `lists`. All arrays have a row for each partition; lists are padded with -1.
    """
    return in_blocks(_ordered, lists, sets, leaders)


def _ordered(lists: Ints, sets: Ints, leaders: Ints) -> Ints:
    width = sets.shape[1]
    old = np.full(sets.shape, -1, np.int64)
    old[:, : lists.shape[1]] = lists
    keys = np.where(sets == old, np.arange(width), width + sets)
    keys = np.where(sets < 0, LAST, np.where(sets == leaders[:, None], -1, keys))
    result: Ints = np.take_along_axis(sets, np.argsort(keys, axis=1, kind="stable"), axis=1)
    return result
