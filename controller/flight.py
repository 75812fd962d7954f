"""Which partitions have a step in flight."""

from collections.abc import Iterator, Mapping

from controller.model import Partition


class Flight(Mapping[str, set[int]]):
    """By topic, partitions with a step in flight; a topic without any is absent. `note` keeps it up."""

    def __init__(self) -> None:
        self._topics: dict[str, set[int]] = {}
        self._touched: set[str] = set()

    def __getitem__(self, topic: str) -> set[int]:
        return self._topics[topic]

    def __iter__(self) -> Iterator[str]:
        return iter(self._topics)

    def __len__(self) -> int:
        return len(self._topics)

    def note(self, partition: Partition) -> None:
        """The partition is like this now."""
        flying = self._topics.get(partition.topic)
        if partition.moving:
            if flying is None:
                flying = self._topics[partition.topic] = set()
            flying.add(partition.partition)
        elif flying is not None and partition.partition in flying:
            flying.discard(partition.partition)
            if not flying:
                del self._topics[partition.topic]
        else:
            return
        self._touched.add(partition.topic)

    def take_touched(self) -> set[str]:
        """Topics in which a step began, changed or ended since this was last asked."""
        touched, self._touched = self._touched, set()
        return touched
