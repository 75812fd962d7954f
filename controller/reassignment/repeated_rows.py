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

Outcomes = list[tuple[int, Outcome]]


def find_repeated(topics: Sequence[AlterTopic]) -> Generator[None, None, "RepeatedRows | None"]:
    """Search the request in slices. Return its repeated rows, or None if it names each partition once."""
    numbers: dict[str, list[int]] = {}
    seen = 0
    for topic, rows in topics:
        if rows is None:
            continue
        numbers.setdefault(topic, []).extend([row.partition for row in rows])
        seen += len(rows)
        if seen >= ROWS_PER_SLICE:
            seen = 0
            yield
    repeated = {
        TopicPartition(topic, number)
        for topic, named in numbers.items()
        if len(set(named)) < len(named)
        for number, times in Counter(named).items()
        if times > 1
    }
    return RepeatedRows(repeated) if repeated else None


class RepeatedRows:
    """The partitions with more than one row, and the row of each that counts."""

    def __init__(self, partitions: Set[TopicPartition]) -> None:
        self._partitions = partitions
        self._last: dict[TopicPartition, tuple[AlterRow, Outcomes, int]] = {}

    def defer(self, topic: str, row: AlterRow, outcomes: Outcomes, index: int) -> bool:
        """Defer a valid row of a repeated partition until all rows are read. Its outcome belongs at `index`.

        Returns whether the row was deferred.
        """
        key = TopicPartition(topic, row.partition)
        if key not in self._partitions:
            return False
        self._last[key] = row, outcomes, index
        return True

    def carry_out(self, order: Callable[[TopicPartition, AlterRow], Outcome]) -> Iterator[None]:
        """Carry out the last valid row of each partition, and set its outcome."""
        for seen, (key, (row, outcomes, index)) in enumerate(self._last.items(), 1):
            outcomes[index] = row.partition, order(key, row)
            if seen % ROWS_PER_SLICE == 0:
                yield
