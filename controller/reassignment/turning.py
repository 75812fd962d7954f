"""Which replica lists a step in flight can be turned to without losing replicas that are in sync."""

from collections.abc import Sequence

from controller.execution import direct_steps
from controller.model.cluster import Partition, Replicas
from controller.scheduling import steps
from controller.state.state import State


def kept(partition: Partition, current: Replicas, target: Replicas) -> Replicas:
    """Return `current`, the list before the step in flight, plus the added replicas that are in sync."""
    return extended(current, [r for r in partition.adding if r in partition.isr], target)


def extended(current: Replicas, more: Sequence[int], target: Replicas) -> Replicas:
    """Return `current` with more replicas, those of the target first."""
    if not more:
        return current
    members = {*current, *more}
    rest = [r for r in (*current, *more) if r not in target]
    return tuple([r for r in target if r in members] + rest)


def keeps_up(state: State, partition: Partition, following: Replicas) -> bool:
    """Return whether turning the step in flight to `following` keeps min ISR, or drops no replica in sync."""
    members = {*partition.current, *following}
    in_sync = sum(r in members for r in partition.isr)
    enough = steps.keeps_up(in_sync, len(members), state.min_isr(partition.topic))
    return enough or in_sync == len(partition.isr)


def is_refused(state: State, partition: Partition, following: Replicas) -> bool:
    """Return whether turning the step to `following` needs an unclean election and the topic forbids it."""
    return not direct_steps.keeps_data(partition, following) and not state.unclean_allowed(partition.topic)
