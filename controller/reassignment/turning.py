"""What a step in flight can be turned to without loss: replicas that it added may be in sync by now."""

from controller.execution import direct_steps
from controller.model.cluster import Partition, Replicas
from controller.scheduling import steps
from controller.state.state import State


def kept(partition: Partition, current: Replicas, target: Replicas) -> Replicas:
    """`current`, which is the list before the step in flight, and of what the step adds all that is in sync."""
    arrived = [r for r in partition.adding if r in partition.isr]
    if not arrived:
        return current
    members = {*current, *arrived}
    rest = [r for r in (*current, *arrived) if r not in target]
    return tuple([r for r in target if r in members] + rest)


def keeps_up(state: State, partition: Partition, following: Replicas) -> bool:
    """Whether the step in flight can be turned to `following` without dropping replicas in sync below min ISR."""
    members = {*partition.current, *following}
    in_sync = sum(r in members for r in partition.isr)
    enough = steps.keeps_up(in_sync, len(members), state.min_isr(partition.topic))
    return enough or in_sync == len(partition.isr)


def is_refused(state: State, partition: Partition, following: Replicas) -> bool:
    """Whether turning the step in flight to `following` would need an unclean election, which the topic forbids."""
    return not direct_steps.keeps_data(partition, following) and not state.unclean_allowed(partition.topic)
