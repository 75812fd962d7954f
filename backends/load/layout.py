"""Which row of the columns is which partition.

Topics are one after the other, with their partitions in order. A topic that was made anew has another id, and
thus new rows; where topics have no ids it is the same one if it has the same name.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from backends.load.wire import Ints


class Topic(NamedTuple):
    """A topic: `key` is its id, or its name where it has none."""

    name: str
    key: bytes
    partitions: int


class Layout:
    """The rows of these topics."""

    def __init__(self, topics: Sequence[Topic] = ()) -> None:
        self.topics = topics
        self.counts = np.array([each.partitions for each in topics], np.int64)
        self.first: Ints = np.cumsum(self.counts) - self.counts
        self.size = int(self.counts.sum())
        self.numbers: Mapping[bytes, int] = {each.name.encode(): at for at, each in enumerate(topics)}
        """Of topics, by name."""
        self.topic_of = np.repeat(np.arange(len(topics), dtype=np.int32), self.counts)
        """The number of the topic of each row."""

    def rows(self, topics: Ints, partitions: Ints) -> tuple[Ints, Ints]:
        """Return the rows of partitions, and the positions of those that have one."""
        if not len(self.topics):
            return topics[:0], topics[:0]
        known = np.flatnonzero((topics >= 0) & (partitions >= 0) & (partitions < self.counts[topics]))
        return self.first[topics[known]] + partitions[known], known

    def row(self, topic: str, partition: int) -> int | None:
        """Return the row of a partition, None if it has none."""
        number = self.numbers.get(topic.encode())
        if number is None or not 0 <= partition < self.topics[number].partitions:
            return None
        return int(self.first[number]) + partition

    def name(self, row: int) -> tuple[str, int]:
        """Return the topic and the number of the partition of a row."""
        topic = int(self.topic_of[row])
        return self.topics[topic].name, row - int(self.first[topic])

    def taken_from(self, old: "Layout") -> Ints:
        """Return the row that each partition has in an older layout, -1 for those that were not in it."""
        before = {each.key: at for at, each in enumerate(old.topics)}
        rows = np.full(self.size, -1, np.int64)
        for at, topic in enumerate(self.topics):
            if (known := before.get(topic.key)) is not None:
                count = min(topic.partitions, old.topics[known].partitions)
                start, source = int(self.first[at]), int(old.first[known])
                rows[start : start + count] = np.arange(source, source + count)
        return rows
