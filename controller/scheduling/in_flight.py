"""Which partitions have a step in flight."""

from controller.model.cluster import Partition


class StepsInFlight(dict[str, set[int]]):
    """By topic, partitions with a step in flight; a topic without any is absent. Changed by `note` only."""

    def __init__(self) -> None:
        super().__init__()
        self._touched: set[str] = set()

    def note(self, partition: Partition) -> None:
        """The partition is like this now."""
        flying = self.get(partition.topic)
        if partition.moving:
            if flying is None:
                flying = self[partition.topic] = set()
            flying.add(partition.partition)
        elif flying is not None and partition.partition in flying:
            flying.discard(partition.partition)
            if not flying:
                del self[partition.topic]
        else:
            return
        self._touched.add(partition.topic)

    def take_touched(self) -> set[str]:
        """Topics in which a step began, changed or ended since this was last asked."""
        touched, self._touched = self._touched, set()
        return touched
