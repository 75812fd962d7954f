"""A partition that one request names more than once: the last valid row counts, as with Kafka.

Kafka's ZooKeeper controller keeps one row a partition; KRaft takes the rows one after the other, and each replaces the one
before. Here the last valid one alone is carried out, so that a job has each partition once, and one way back.
"""

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence

from controller.messages.job_events import AlterRow, AlterTopic
from controller.model.cluster import TopicPartition
from controller.model.errors import Outcome

ROWS_PER_SLICE = 20_000

Outcomes = list[tuple[int, Outcome]]


class RepeatedRows:
    """The partitions with more than one row, and which of the rows counts."""

    def __init__(self) -> None:
        self._keys: set[TopicPartition] = set()
        self._last: dict[TopicPartition, tuple[AlterRow, Outcomes, int]] = {}

    def find(self, topics: Sequence[AlterTopic]) -> Generator[None, None, "RepeatedRows"]:
        """Look through the request, in slices; returns itself."""
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
        for topic, named in numbers.items():
            if len(set(named)) < len(named):
                self._keys.update(
                    TopicPartition(topic, n) for n, times in Counter(named).items() if times > 1
                )
        return self

    def put_off(self, topic: str, row: AlterRow, outcomes: Outcomes, place: int) -> bool:
        """Whether the valid row, whose outcome is to be at this place, has to wait until all rows are read."""
        key = TopicPartition(topic, row.partition)
        if key not in self._keys:
            return False
        self._last[key] = row, outcomes, place
        return True

    def carry_out(self, order: Callable[[TopicPartition, AlterRow], Outcome]) -> Iterator[None]:
        """Order what the last valid rows say, and answer these rows with what comes of it."""
        for seen, (key, (row, outcomes, place)) in enumerate(self._last.items(), 1):
            outcomes[place] = row.partition, order(key, row)
            if seen % ROWS_PER_SLICE == 0:
                yield
