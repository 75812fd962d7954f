"""Cancels in bulk. Most partitions of a cancelled plan are back at once; in bulk they take a sixth of the time."""

from collections.abc import Hashable
from typing import NamedTuple

from controller.execution import direct_steps
from controller.messages.effects import DropReplica, Publish
from controller.model.cluster import (
    NO_LEADER,
    Deleted,
    Ending,
    Finished,
    Partition,
    Reassignment,
    Replicas,
    TopicPartition,
)
from controller.model.rows import row_maker
from controller.reassignment.reassignments import close_job
from controller.scheduling import steps
from controller.state.decision import Decision
from controller.state.state import State

_partition, _finished = row_maker(Partition), row_maker(Finished)
_publish, _drop, _deleted = row_maker(Publish), row_maker(DropReplica), row_maker(Deleted)


class _End(NamedTuple):
    """How a cancel ends the reassignments of partitions with equal lists."""

    undoes: bool = False
    """Whether it undoes a step in flight. The other fields are about that."""
    replicas: Replicas = ()
    isr: Replicas = ()
    leader: int = NO_LEADER
    gone: Replicas = ()
    lead: bool = False


_NOT_MOVED = _End()


class BulkCancels:
    """Cancels of one request that end their reassignment at once. The result is that of `phases.fire` for each.

    A partition that needs a step to return, or whose cancel may be refused, is none of them.
    """

    def __init__(self, d: Decision) -> None:
        self._d = d
        self._ends: dict[Hashable, _End | None] = {}
        """By replica lists: partitions with equal lists end in the same way."""
        self.rows: list[tuple[TopicPartition, Partition, Reassignment, _End]] = []
        """What was taken and is not carried out yet."""

    def take(self, key: TopicPartition, partition: Partition, reassignment: Reassignment) -> bool:
        """Return whether the cancel ends the reassignment at once; `carry_out` does so."""
        state = self._d.state
        _, _, replicas, isr, leader, _, _, adding, removing = partition
        original, target = reassignment.original, reassignment.target
        if original == target or state.pending or state.topics[partition.topic].deleting:
            return False
        if key in state.in_flight:
            shape = replicas, isr, leader, adding, removing, original, target
            if shape not in self._ends:
                self._ends[shape] = _end_of_step(state, partition, reassignment)
            end = self._ends[shape]
        else:
            end = _NOT_MOVED if replicas == original and key not in state.upstream_steps else None
        if end is None or (not self.rows and state.cancel_stops):
            return False
        self.rows.append((key, partition, reassignment, end))
        return True

    def carry_out(self, topic: str) -> None:
        """Carry out the cancels that were taken, all of this topic."""
        d, state = self._d, self._d.state
        changes, effects = d.changes, d.effects
        keys: list[TopicPartition] = []
        settled: list[Partition] = []
        ended: dict[int, dict[TopicPartition, Finished]] = {}
        for key, partition, reassignment, end in self.rows:
            _, number, _, _, _, leader_epoch, partition_epoch, _, _ = partition
            keys.append(key)
            if end.undoes:
                epoch = leader_epoch + end.lead
                values = end.replicas, end.isr, end.leader, epoch, partition_epoch + end.lead
                final = _partition((topic, number, *values, (), ()))
                settled.append(final)
                changes.append(final)
                effects.append(_publish((final, (), (), end.lead)))
                if end.gone:
                    effects.append(_drop((topic, number, end.gone, epoch)))
            changes.append(_deleted((Reassignment, key)))
            job, back = reassignment.job, reassignment.original
            if job:
                row = _finished((job, topic, number, back, back, Ending.ROLLED_BACK, 0))
                ended.setdefault(job, {})[key] = row
                changes.append(row)
        self.rows.clear()
        state.put_settled(topic, settled)
        state.end_all(topic, keys, ended)
        for job in ended:
            close_job(d, job)


def _end_of_step(state: State, partition: Partition, reassignment: Reassignment) -> _End | None:
    """Return how a cancel ends the step in flight and the reassignment; None if it may not do both at once."""
    back = reassignment.original
    if state.profile.has_upstream or reassignment.current_of(partition) != back:
        return None
    preferred = steps.preferred_leader(back, state.backlog.usage.step)
    if preferred not in {NO_LEADER, partition.leader} or not direct_steps.keeps_data(partition, back):
        return None
    final, gone, lead = direct_steps.undone(state, partition, back)
    if final.leader != partition.leader:
        return None
    return _End(True, final.replicas, final.isr, final.leader, gone, lead)
