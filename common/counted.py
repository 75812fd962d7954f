"""Numbers with their nouns, in messages."""


def counted(number: int, noun: str) -> str:
    """Return `1 partition` or `2,000 partitions`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
