"""The record of the load of some partitions by hour of the day.

Plans for the busy hour need it, and after a restart or a take-over it would take a week to be known again.
`backends.load.kept_hours` makes and reads these records; the controller only keeps them.
"""

from typing import NamedTuple


class LoadHours(NamedTuple):
    """The hours of about a thousand partitions. Each record says by itself which these are."""

    number: int
    """From 0. A partition belongs to one number, as long as there are not twice as many."""
    written_ms: int
    """Milliseconds since 1970."""
    topics: str
    """A line for each run of partitions: topic, its id in hexadecimal, first partition, and count."""
    hours: str
    """The rates of each hour, compressed, in base64."""

    @property
    def key(self) -> int:
        """The key under which the record is stored."""
        return self.number
