"""First orders in bulk. Most rows of a large plan are first orders; in bulk they take a third of the time."""

from controller.model.cluster import Partition, Reassignment, Replicas, TopicPartition
from controller.model.rows import row_maker
from controller.reassignment.phases import Phase, phase_of
from controller.state.decision import Decision

_reassignment = row_maker(Reassignment)


class FirstOrders:
    """Collects the first orders of one job for one topic. The result is that of `phases.fire` for each.

    Call `accept` before anything else changes partitions of the topic.
    """

    def __init__(self, d: Decision, topic: str, job: int) -> None:
        self._d, self._topic, self._job = d, topic, job
        self._taken: dict[TopicPartition, Reassignment] = {}

    def take(self, partition: Partition, target: Replicas) -> bool:
        """Collect the order if it is a first order: the partition is idle and not collected yet.

        Return whether it is a first order.
        """
        state, key = self._d.state, partition.key
        if key in self._taken or phase_of(state, key) is not Phase.IDLE or partition.key in state.in_flight:
            return False
        original = partition.replicas
        if target != original:
            self._taken[key] = _reassignment((*key, original, target, self._job, ""))
        return True

    def accept(self) -> None:
        """Record the collected orders and enqueue their partitions."""
        if self._taken:
            self._d.put_first(self._topic, self._job, self._taken)
            self._d.state.backlog.enqueue_all(self._taken)
            self._taken = {}
