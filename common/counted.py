"""Numbers with their nouns, and lists that are cut, in messages."""

from collections.abc import Sequence


def counted(number: int, noun: str) -> str:
    """Return `1 partition` or `2,000 partitions`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def some(texts: Sequence[str], most: int) -> str:
    """Return `a, b, c and 2 more`: the first `most` texts, and how many are left out."""
    left = len(texts) - most
    return ", ".join(texts[:most]) + (f" and {left} more" if left > 0 else "")
