"""First orders of many partitions at once, which most of a large plan is: a third of the time of one by one (KIP-455)."""

from controller.model.cluster import Partition, Reassignment, Replicas, TopicPartition
from controller.model.rows import row_maker
from controller.reassignment.phases import Phase, phase_of
from controller.state.decision import Decision

_reassignment = row_maker(Reassignment)


class FirstOrders:
    """Orders of one job for partitions of one topic, as if each were fired (`controller.reassignment.phases`) in its turn.

    Before anything else is done to partitions of the topic, `accept` those that were taken.
    """

    def __init__(self, d: Decision, topic: str, job: int) -> None:
        self._d, self._topic, self._job = d, topic, job
        self._taken: dict[TopicPartition, Reassignment] = {}

    def take(self, partition: Partition, target: Replicas) -> bool:
        """Whether this is a first order: of a partition that is idle, and of which no other was taken."""
        state, key = self._d.state, partition.key
        if key in self._taken or phase_of(state, key) is not Phase.IDLE or partition.key in state.in_flight:
            return False
        original = partition.replicas
        if target != original:
            self._taken[key] = _reassignment((*key, original, target, self._job, ""))
        return True

    def accept(self) -> None:
        """Remember what was taken, and have it wait for its turn."""
        if self._taken:
            self._d.put_first(self._topic, self._job, self._taken)
            self._d.state.backlog.arrive_all(self._taken)
            self._taken = {}
