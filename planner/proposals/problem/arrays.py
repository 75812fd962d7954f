"""Types of numpy arrays, and the few array functions that several modules of proposals need."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[Any]
"""Integers of any width."""
Flags = npt.NDArray[np.bool_]
Rates = npt.NDArray[np.float64]

UNBOUNDED = 2**60
"""More replicas or bytes than any cluster has."""
BLOCK = 2**18
"""Rows that are worked on at once where each row is on its own, so that intermediate arrays stay small."""


def in_blocks(function: Callable[..., Ints], *arrays: Ints) -> Ints:
    """Return the rows of `function(*arrays)`, called with blocks of rows.

    The arrays have the same number of rows.
    """
    starts = range(0, max(1, len(arrays[0])), BLOCK)
    return np.concatenate([function(*(each[start : start + BLOCK] for each in arrays)) for start in starts])


def group_codes(columns: list[Ints]) -> Ints:
    """Number the distinct rows of several columns of integers ≥ -1.

    Equal rows get equal numbers, in lexical order.
    """
    codes = np.zeros(len(columns[0]), np.int64)
    size = 1
    for column in columns:
        base = int(column.max(initial=-1)) + 2
        if size * base >= 2**62:
            codes = np.unique(codes, return_inverse=True)[1].astype(np.int64)
            size = int(codes.max(initial=0)) + 1
        codes = codes * base + (column + 1)
        size *= base
    return np.unique(codes, return_inverse=True)[1].astype(np.int64)


def filled(counts: Ints, amount: int, most: Ints, weights: Ints) -> Ints:
    """Return how many of `amount` units each broker gets, so that the fullest by weight is least full.

    No broker gets above its `most`; the sum is smaller than `amount` if there is no room for it. Ties go to
    the first brokers.
    """
    if amount <= 0 or not len(counts):
        return np.zeros(len(counts), np.int64)
    top = int(weights.max())

    def gains(level: int) -> Ints:
        gained: Ints = np.maximum(0, np.minimum(level * weights // top, most) - counts)
        return gained

    low = 0
    high = 1 + (int(counts.max()) + amount + 1) * top // int(weights.min())
    if gains(high).sum() <= amount:
        return gains(high)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if gains(middle).sum() < amount else (low, middle)
    below = gains(low)
    return _with_rest(below, gains(high), amount, (counts + below + 1) / weights)


def lowered(counts: Ints, amount: int, least: Ints, weights: Ints | None = None) -> Ints:
    """Return how many of `amount` units to take from each broker, so that the fullest is least full.

    No broker falls below its `least`; the sum is smaller than `amount` if that leaves too few. Ties go to the
    first brokers.
    """
    if amount <= 0 or not len(counts):
        return np.zeros(len(counts), np.int64)

    weights = np.ones(len(counts), np.int64) if weights is None else weights
    top = int(weights.max())

    def losses(level: int) -> Ints:
        lost: Ints = np.maximum(0, counts - np.maximum(least, level * weights // top))
        return lost

    low, high = int(least.min()) - 1, 1 + int(counts.max()) * top // int(weights.min())
    if losses(low).sum() <= amount:
        return losses(low)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if losses(middle).sum() >= amount else (low, middle)
    below = losses(high)
    return _with_rest(below, losses(low), amount, -(counts - below) / weights)


def _with_rest(below: Ints, above: Ints, amount: int, order: Ints) -> Ints:
    """Raise entries of `below` to those of `above`, which differ by at most one, until the sum is `amount`.

    It raises those of low `order` first.
    """
    rest = amount - int(below.sum())
    raised = np.flatnonzero(above > below)
    raised = raised[np.argsort(order[raised], kind="stable")][:rest]
    result = below.copy()
    result[raised] += 1
    return result
