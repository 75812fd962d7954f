"""Rows that are refused before the controller sees them, and how they come back together with those it answers."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

from common.error_codes import ErrorCode

K = TypeVar("K", bound=Hashable)

Verdict = tuple[int, str | None]
"""Error code and message of one row. The controller's `Outcome` is one."""

DENIED: Verdict = (ErrorCode.TOPIC_AUTHORIZATION_FAILED, None)
DUPLICATE: Verdict = (ErrorCode.INVALID_REQUEST, "Duplicate topic name.")


def repeated(keys: Iterable[K]) -> set[K]:
    """The keys that occur more than once."""
    return {key for key, times in Counter(keys).items() if times > 1}


def merged(refusals: Sequence[Verdict | None], settled: Iterable[Verdict]) -> list[Verdict]:
    """Put the controller's verdicts, in order, where there is no refusal."""
    verdicts = iter(settled)
    return [next(verdicts) if refusal is None else refusal for refusal in refusals]
