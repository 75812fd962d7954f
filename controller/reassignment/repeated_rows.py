"""Partitions that one request names more than once: the last valid row counts, as in Kafka.

Kafka's ZooKeeper controller keeps one row per partition. KRaft carries out the rows in order, so that each
replaces the one before. Here only the last valid row is carried out, so that a job has each partition once,
with one way back.
"""

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence, Set

from controller.messages.job_events import AlterRow, AlterTopic
from controller.model.cluster import TopicPartition
from controller.model.errors import Outcome

ROWS_PER_SLICE = 20_000
WORK_OF_TOPIC = 10
"""The work for a topic, as a number of rows."""

Outcomes = list[tuple[int, Outcome]]


def find_repeated(topics: Sequence[AlterTopic]) -> Generator[None, None, "RepeatedRows | None"]:
    """Search the request in slices. Return its repeated rows, or None if it names each partition once."""
    numbers: dict[str, list[int]] = {}
    work = 0
    for topic, rows in topics:
        for part in parts_of(rows) if rows and len(rows) > ROWS_PER_SLICE else (rows or (),):
            numbers.setdefault(topic, []).extend([row.partition for row in part])
            work += len(part) + WORK_OF_TOPIC
            if work >= ROWS_PER_SLICE:
                work = 0
                yield
    repeated: set[TopicPartition] = set()
    for topic, named in numbers.items():
        if len(named) > 1:
            yield from _count(topic, named, repeated)
        work += len(named)
        if work >= ROWS_PER_SLICE:
            work = 0
            yield
    return RepeatedRows(repeated) if repeated else None


def _count(topic: str, named: Sequence[int], repeated: set[TopicPartition]) -> Iterator[None]:
    """Add the partitions of the topic that are named more than once."""
    times = Counter(named[:ROWS_PER_SLICE])
    for start in range(ROWS_PER_SLICE, len(named), ROWS_PER_SLICE):
        yield
        times.update(named[start : start + ROWS_PER_SLICE])
    if len(times) < len(named):
        repeated.update(TopicPartition(topic, number) for number, count in times.items() if count > 1)


def parts_of(rows: Sequence[AlterRow]) -> Iterator[Sequence[AlterRow]]:
    """Yield the rows in parts of at most `ROWS_PER_SLICE`."""
    for start in range(0, len(rows), ROWS_PER_SLICE):
        yield rows[start : start + ROWS_PER_SLICE]


class RepeatedRows:
    """The partitions with more than one row, and the row of each that counts."""

    def __init__(self, partitions: Set[TopicPartition]) -> None:
        self.partitions = partitions
        self._last: dict[TopicPartition, tuple[AlterRow, Outcomes, int]] = {}

    def defer(self, topic: str, row: AlterRow, outcomes: Outcomes, index: int) -> bool:
        """Defer a valid row of a repeated partition until all rows are read. Its outcome belongs at `index`.

        Returns whether the row was deferred.
        """
        key = TopicPartition(topic, row.partition)
        if key not in self.partitions:
            return False
        self._last[key] = row, outcomes, index
        return True

    def carry_out(self, order: Callable[[TopicPartition, AlterRow], Outcome]) -> Iterator[None]:
        """Carry out the last valid row of each partition, and set its outcome."""
        for seen, (key, (row, outcomes, index)) in enumerate(self._last.items(), 1):
            outcomes[index] = row.partition, order(key, row)
            if seen % ROWS_PER_SLICE == 0:
                yield
