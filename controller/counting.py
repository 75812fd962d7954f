"""Counts and sets by key that hold no more than there is: a count of nothing is absent."""

from typing import TypeVar

K = TypeVar("K")


def count_up(counts: dict[K, int], key: K, by: int = 1) -> None:
    """So many more of this key."""
    counts[key] = counts.get(key, 0) + by


def count_down(counts: dict[K, int], key: K) -> None:
    """One less of this key, of which there is one at least."""
    left = counts[key] - 1
    if left:
        counts[key] = left
    else:
        del counts[key]


def toggle(members: set[K], key: K, belongs: bool) -> None:
    """The key is a member from now on, or not."""
    if belongs:
        members.add(key)
    else:
        members.discard(key)
