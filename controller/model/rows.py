"""Fast creation of many rows of messages and events from complete tuples."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, cast

T = TypeVar("T", bound=tuple[object, ...])


def row_maker(kind: type[T]) -> Callable[[tuple[object, ...]], T]:
    """Return a constructor from complete tuples.

    It costs a third of the class's own: it checks nothing, has no defaults.
    """
    return partial(tuple.__new__, kind)


def plain(_: type[T], rows: list[tuple[Any, ...]]) -> list[T]:
    """Return plain tuples typed as rows, for rows that are only encoded.

    They cost a third of those of `row_maker`.
    """
    return cast("list[T]", rows)
