"""Which brokers hold replicas, whether they are registered or not."""

from itertools import chain

from controller.state.state import State


def holders(state: State) -> set[int] | None:
    """Return the brokers that hold replicas or are to get some; None while the cluster is not known."""
    if not state.brokers:
        return None
    ordered = (each.target for each in state.reassignments.values())
    queued = (each.target for each in state.pending.values())
    present = (partition.replicas for partition in state.all_partitions())
    return set().union(*set(chain(ordered, queued, present)))
