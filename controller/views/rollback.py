"""What a rollback of a job would do now (KIP-236)."""

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from controller.model.cluster import Finished, Job, Partition, Reassignment, Replicas, TopicPartition
from controller.reassignment.jobs import rollback_target
from controller.scheduling.steps import Step, steps_to, why_short
from controller.state.state import State


class RollbackRow(NamedTuple):
    """What a rollback would do with one partition of the job."""

    key: TopicPartition
    replicas: Replicas = ()
    """The list to which it moves back; empty if it does not move."""
    reason: str = ""
    """Why it is skipped; empty if it is not."""
    withdrawn: bool = False
    """It is a queued entry that has not started, and is withdrawn."""
    unmoved: bool = False
    """It has `replicas` still: it is taken out of the job, and no replica changes."""
    waits_for: str = ""
    """Why it cannot reach `replicas` with the brokers that are live now; empty if it can."""
    reached: Replicas = ()
    """How far it gets then."""


def rollback_rows(state: State, job: Job) -> Iterator[RollbackRow | None]:
    """Yield a row for each partition of the job; None for those of other jobs."""
    for pending in list(state.orders.pending.values()):
        yield RollbackRow(pending.key, withdrawn=True) if pending.job == job.id else None
    ongoing: list[Reassignment | Finished] = list(state.orders.reassignments.values())
    for row in chain(ongoing, list(state.orders.finished.get(job.id, {}).values())):
        yield _rollback_row(state, job, row) if row.job == job.id else None


def _rollback_row(state: State, job: Job, row: Reassignment | Finished) -> RollbackRow:
    key = TopicPartition(row.topic, row.partition)
    back, reason = rollback_target(state, job, key, row if isinstance(row, Finished) else None)
    partition, reassignment = state.cluster.partition(*key), state.orders.reassignments.get(key)
    if reason or partition is None:
        return RollbackRow(key, reason=reason)
    goes_to = partition.replicas
    if reassignment is not None and not reassignment.blocked:
        goes_to = reassignment.target
    unmoved = not partition.moving and partition.replicas == back
    if goes_to == back:
        return RollbackRow(key)
    if unmoved:
        return RollbackRow(key, back, unmoved=True)
    reached = partition.current
    for step in _steps(state, partition, back):
        reached = step.replicas
    if reached == back:
        return RollbackRow(key, back)
    reason = why_short(back, live=state.cluster.live, leader=partition.leader)
    return RollbackRow(key, back, waits_for=reason, reached=reached)


def _steps(state: State, partition: Partition, back: Replicas) -> Iterator[Step]:
    """Return the steps from where the partition is after its last completed step."""
    wanted = state.orders.reassignments.get(partition.key)
    return steps_to(
        partition.current,
        back,
        isr=tuple(broker for broker in partition.isr if broker in partition.current),
        live=state.cluster.live,
        leader=partition.leader,
        original=partition.current if wanted is None else wanted.original,
        min_isr=state.settings.min_isr(partition.topic),
        limit=state.backlog.usage.step,
    )
