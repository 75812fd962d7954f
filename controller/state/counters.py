"""Counters that the state updates with each record."""

from collections import Counter
from typing import TypeVar

K = TypeVar("K")


def count_down(counts: Counter[K], key: K, by: int = 1) -> None:
    """Subtract from the count of the key, and remove a key whose count is 0."""
    left = counts[key] - by
    if left:
        counts[key] = left
    else:
        del counts[key]
