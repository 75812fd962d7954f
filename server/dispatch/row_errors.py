"""Rows that a handler refuses itself, and their merge with the controller's results."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

from common.error_codes import ErrorCode

K = TypeVar("K", bound=Hashable)

Verdict = tuple[int, str | None]
"""Error code and message of one row. An `Outcome` of the controller is one."""

DENIED: Verdict = (ErrorCode.TOPIC_AUTHORIZATION_FAILED, None)
DUPLICATE: Verdict = (ErrorCode.INVALID_REQUEST, "Duplicate topic name.")


def repeated(keys: Iterable[K]) -> set[K]:
    """Return the keys that occur more than once."""
    return {key for key, times in Counter(keys).items() if times > 1}


def merged(refusals: Sequence[Verdict | None], settled: Iterable[Verdict]) -> list[Verdict]:
    """Return the refusals, with the controller's results in order where there is none."""
    verdicts = iter(settled)
    return [next(verdicts) if refusal is None else refusal for refusal in refusals]
