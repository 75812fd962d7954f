"""Direct steps: reassignd is the controller and carries out a step itself (KIP-455, KIP-352).

A step leads from `Partition.current` to another list. The new replicas are added first. When they are in
sync, and enough of the new list is, one record drops the old replicas. The order of `Partition.current` may
differ from the original; `controller.reassignment.reassignments` keeps the original.
"""

from typing import NamedTuple

from controller.messages.effects import DropReplica, Publish
from controller.model.cluster import NO_LEADER, Partition, Replicas, TopicPartition
from controller.model.replicas import without
from controller.scheduling.steps import leader_after, may_drop, step_lists
from controller.state.state import Decision, State

ELECTS = True


def begin(
    d: Decision, partition: Partition, following: Replicas, target: Replicas, preferred: int = NO_LEADER
) -> bool:
    """Start the step to `following`, or turn the step in flight to it; True when it is complete already.

    Replicas that only the replaced step added are dropped at once. Brokers get `target` (KIP-352).
    `preferred` leads as soon as it is in sync (KIP-435). If no replica stays in sync (see `keeps_data`), one
    from before the step leads.
    """
    step, dropped = _turned(d.state, partition, following)
    if _complete(d.state, step, target):
        _finish(d, partition, step, dropped, target, preferred)
        return True
    new = without(step.adding, step.isr) if partition.adding else step.adding
    step = step._replace(
        leader=_leader_of(d.state, step, step.replicas, step.isr),
        leader_epoch=partition.leader_epoch + 1,
        partition_epoch=partition.partition_epoch + 1,
    )
    d.put(step)
    d.effects.append(Publish(step, new=new, target=target))
    if dropped:
        d.effects.append(DropReplica(step.topic, step.partition, dropped, step.leader_epoch))
    return False


def complete(d: Decision, partition: Partition, target: Replicas, preferred: int = NO_LEADER) -> bool:
    """Finish the step in flight if the ISR and the live brokers allow it; True when it is finished.

    When all new replicas are in sync but none may be dropped, the step ends without dropping any. It no
    longer counts against the limits, and the copied replicas stay. A step that adds replicas which the target
    does not have was cancelled while every replica was offline: it is undone as soon as no data is lost.
    """
    wanted = d.state.orders.reassignments.get(partition.key)
    if wanted is not None and wanted.rolling_back and any(r not in target for r in partition.adding):
        back = wanted.current_of(partition)
        safe = keeps_data(partition, back) or d.state.settings.unclean_allowed(partition.topic)
        return safe and begin(d, partition, back, target, preferred)
    stays = partition.leader in partition.isr and partition.leader in d.state.cluster.live
    end = partition
    if not _complete(d.state, partition, target):
        if not stays or any(r not in partition.isr for r in partition.adding):
            return False
        end = partition._replace(removing=())
    _finish(d, partition, end, (), target, preferred)
    return True


def can_turn(state: State, partition: Partition, kept: Replicas) -> bool:  # noqa: ARG001
    """Return True: the controller can end its own step anywhere."""
    return True


def obstacle(state: State, partition: Partition, following: Replicas) -> str:  # noqa: ARG001
    """Return no obstacle: the controller can start every step that was planned."""
    return ""


def ended(d: Decision, key: TopicPartition) -> None:
    """Do nothing: a direct step has no record of its own."""


class End(NamedTuple):
    """The end of a step."""

    final: Partition
    gone: Replicas
    """The brokers that delete their replica."""
    lead: bool
    """See `Publish.lead`."""


def undone(state: State, partition: Partition, back: Replicas) -> End:
    """Return the end of the step in flight when it is turned to `back`, with the members of `current`."""
    step, dropped = _turned(state, partition, back)
    return _end(state, partition, step, dropped, NO_LEADER)


def keeps_data(partition: Partition, following: Replicas) -> bool:
    """Whether a replica in sync is left when `following` replaces the step in flight (KIP-236)."""
    staying = {*partition.current, *following}
    return any(r in staying for r in partition.isr)


def _turned(state: State, partition: Partition, following: Replicas) -> tuple[Partition, Replicas]:
    """Return the partition during the step to `following`, and the replicas that are dropped at once."""
    current = partition.current
    replicas, adding, removing = step_lists(current, following)
    dropped: Replicas = ()
    isr = partition.isr
    if partition.adding:
        dropped = without(partition.replicas, replicas)
        isr = without(isr, dropped)
    isr = isr or _survivor(current, state)
    return partition._replace(replicas=replicas, adding=adding, removing=removing, isr=isr), dropped


def _survivor(current: Replicas, state: State) -> Replicas:
    """Return the new ISR of a partition that loses its ISR: the first live old replica, else the first."""
    return (next((r for r in current if r in state.cluster.live), current[0]),)


def _complete(state: State, step: Partition, target: Replicas) -> bool:
    """Whether added replicas are in sync, and those to drop `may_drop`, with a leader for the others."""
    if any(r not in step.isr for r in step.adding):
        return False
    following = step.next
    if step.removing and not any(r in state.cluster.live and r in step.isr for r in following):
        return False
    wanted = state.orders.reassignments.get(step.key)
    original = step.current if wanted is None else wanted.original
    return may_drop(step.current, following, target, original, step.isr, state.settings.min_isr(step.topic))


def _finish(
    d: Decision, before: Partition, step: Partition, dropped: Replicas, target: Replicas, preferred: int
) -> None:
    """Make the next list the partition's list, in one record; `before` is the partition that brokers know."""
    final, gone, lead = _end(d.state, before, step, dropped, preferred)
    d.put(final)
    d.effects.append(Publish(final, target=() if final.replicas == target else target, lead=lead))
    if gone:
        d.effects.append(DropReplica(final.topic, final.partition, gone, final.leader_epoch))


def _end(state: State, before: Partition, step: Partition, dropped: Replicas, preferred: int) -> End:
    following = step.next
    isr = without(step.isr, step.removing)
    leader = _leader_of(state, step, following, isr, preferred)
    gone = dropped + step.removing
    reordered_only = not gone and not before.moving and leader == before.leader
    final = step._replace(
        replicas=following,
        adding=(),
        removing=(),
        isr=isr,
        leader=leader,
        leader_epoch=before.leader_epoch + (not reordered_only),
        partition_epoch=before.partition_epoch + (not reordered_only),
    )
    return End(final, gone, lead=not reordered_only)


def _leader_of(
    state: State, step: Partition, replicas: Replicas, isr: Replicas, preferred: int = NO_LEADER
) -> int:
    """Return who leads a partition that has this list now: only members of its ISR can."""
    live = state.cluster.live
    return leader_after(replicas, replicas, isr=isr, live=live, leader=step.leader, preferred=preferred)
