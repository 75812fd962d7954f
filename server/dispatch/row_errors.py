"""Errors of rows that a handler refuses, and their merge with the outcomes of the controller."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

from common.error_codes import ErrorCode

K = TypeVar("K", bound=Hashable)

RowError = tuple[int, str | None]
"""Error code and message of one row; code 0 is success. The controller's `Outcome` is a subtype."""

TOPIC_DENIED: RowError = (ErrorCode.TOPIC_AUTHORIZATION_FAILED, None)
DUPLICATE_TOPIC: RowError = (ErrorCode.INVALID_REQUEST, "Duplicate topic name.")


def repeated(keys: Iterable[K]) -> set[K]:
    """Return the keys that occur more than once."""
    return {key for key, times in Counter(keys).items() if times > 1}


def merged(refusals: Sequence[RowError | None], outcomes: Iterable[RowError]) -> list[RowError]:
    """Return one error per row: the refusal if there is one, else the next of the controller's outcomes."""
    remaining = iter(outcomes)
    return [next(remaining) if refusal is None else refusal for refusal in refusals]
