"""How one step of a partition is carried out where we are the controller (KIP-455, KIP-352).

A step leads from `Partition.current` to another list. Replicas that are new are added first; when they are in sync,
and enough of the new list is, those that go are dropped, in one record. The original order of a list that is left
half-way is not known here: `controller.reassignment.reassignments` knows it.
"""

from functools import lru_cache

from controller.messages.effects import DropReplica, Publish
from controller.model.cluster import NO_LEADER, Partition, Replicas, TopicPartition
from controller.model.election import keep_or_elect
from controller.model.names import without
from controller.scheduling.steps import leader_after, may_drop
from controller.state.decision import Decision
from controller.state.state import State

ELECTS = True


def begin(
    d: Decision, partition: Partition, following: Replicas, target: Replicas, preferred: int = NO_LEADER
) -> bool:
    """Start the step to `following`, or turn the step in flight to it; True when it is complete already.

    Replicas that only the replaced step added are dropped at once. `target` is what brokers are told (KIP-352).
    `preferred` leads as soon as it is in sync (KIP-435).
    Where that leaves nobody in sync (see `keeps_data`), a replica that was there before the step leads again.
    """
    current = partition.current
    adding, removing = without(following, current), without(current, following)
    replicas = _joined(following, removing)
    dropped = without(partition.replicas, replicas)
    isr = without(partition.isr, dropped) or _survivor(current, d.state)
    step = partition._replace(replicas=replicas, adding=adding, removing=removing, isr=isr)
    if _complete(d.state, step, target):
        _finish(d, partition, step, dropped, target, preferred)
        return True
    step = step._replace(
        leader=keep_or_elect(step, step.replicas, isr, d.state.live),
        leader_epoch=partition.leader_epoch + 1,
        partition_epoch=partition.partition_epoch + 1,
    )
    d.put(step)
    d.emit(Publish(step, new=without(adding, isr), target=target))
    _drop(d, step, dropped)
    return False


def advance(d: Decision, partition: Partition, target: Replicas, preferred: int = NO_LEADER) -> bool:
    """Finish the step in flight if the ISR and the live brokers allow it; True when it is finished.

    When all has arrived but nothing may be dropped, the step ends without that: it takes no place any more, and what it
    has copied stays.
    """
    stays = partition.leader in partition.isr and partition.leader in d.state.live
    end = partition
    if not _complete(d.state, partition, target):
        if not stays or not _arrived(partition):
            return False
        end = partition._replace(removing=())
    _finish(d, partition, end, (), target, preferred)
    return True


def can_turn(state: State, partition: Partition, kept: Replicas) -> bool:  # noqa: ARG001
    """Where we are the controller, a step ends where we say."""
    return True


def obstacle(state: State, partition: Partition, following: Replicas) -> str:  # noqa: ARG001
    """Whatever can be planned can be done where we are the controller."""
    return ""


def ended(d: Decision, key: TopicPartition) -> None:
    """Nothing is kept of a step that has ended (implements `controller.ports.Movement` with its neighbours)."""


def keeps_data(partition: Partition, following: Replicas) -> bool:
    """Whether a replica in sync is left when the step in flight is turned to `following` (KIP-236's skip)."""
    staying = {*partition.current, *following}
    return any(r in staying for r in partition.isr)


@lru_cache(maxsize=65_536)
def _joined(following: Replicas, removing: Replicas) -> Replicas:
    """The list while a step is in flight; one object for all partitions that have it."""
    return following + removing


def _survivor(current: Replicas, state: State) -> Replicas:
    """The ISR of a partition that loses all of it: the first old replica that can lead, else the first."""
    return (next((r for r in current if r in state.live), current[0]),)


def _arrived(step: Partition) -> bool:
    return all(r in step.isr for r in step.adding)


def _complete(state: State, step: Partition, target: Replicas) -> bool:
    """What was added is in sync, and enough of the next list to drop the rest (docs/how-it-works.md, Step)."""
    if not _arrived(step) or not step.removing:
        return _arrived(step)
    following = step.next
    in_sync = tuple(r for r in following if r in step.isr)
    loses = any(r in step.isr for r in step.removing)
    if not may_drop(len(in_sync), len(following), len(target), state.min_isr(step.topic), loses=loses):
        return False
    return keep_or_elect(step, following, in_sync, state.live) != NO_LEADER


def _finish(
    d: Decision, before: Partition, step: Partition, dropped: Replicas, target: Replicas, preferred: int
) -> None:
    """One record makes the next list the list; `before` is what brokers know now."""
    following = step.next
    isr = without(step.isr, step.removing)
    leader = leader_after(
        following, following, isr=isr, live=d.state.live, leader=step.leader, preferred=preferred
    )
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
    d.put(final)
    d.emit(Publish(final, target=() if final.replicas == target else target, lead=not reordered_only))
    _drop(d, final, gone)


def _drop(d: Decision, partition: Partition, brokers: Replicas) -> None:
    if brokers:
        d.emit(DropReplica(partition.topic, partition.partition, brokers, partition.leader_epoch))
