"""Values grouped by key, and lists with millions of elements, freed a slice at a time.

Python frees all elements of a list in one step, in which no other thread can run: 0.1 s for a million rows.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


def grouped(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """The values of each key, in order. Keys are in the order in which they first occur, adjacent or not."""
    groups: dict[K, list[V]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


ELEMENTS_PER_SLICE = 10_000
"""Elements that are freed in about a millisecond."""

T = TypeVar("T")


def drained(elements: Sequence[T]) -> Iterator[T]:
    """Yield the elements in order, and remove each of them if it is a list."""
    if isinstance(elements, list):
        elements.reverse()
        while elements:
            yield elements.pop()
    else:
        yield from elements


def clear_lists(value: object) -> None:
    """Empty the value if it is a list, and the lists in it if it is an object of parsed JSON."""
    for inner in [value, *value.values()] if isinstance(value, dict) else [value]:
        while isinstance(inner, list) and inner:
            del inner[-ELEMENTS_PER_SLICE:]
