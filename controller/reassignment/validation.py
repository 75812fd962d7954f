"""Validation of replica lists (Kafka: ReplicationControlManager.validateManualPartitionAssignment)."""

from common.error_codes import ErrorCode
from controller.model.cluster import Partition, Replicas
from controller.model.errors import DONE, Outcome
from controller.model.replicas import MAX_REPLICAS
from controller.state.state import State

_PREFIX = "The manual partition assignment includes "


def check_replicas(state: State, replicas: Replicas) -> Outcome:
    """Check that the list is not empty and names only registered brokers, none of them twice.

    They need not be alive.

    The message names the smallest wrong id, except of a list that is longer than `MAX_REPLICAS`.
    """
    if replicas in state.cluster.valid_lists:
        return DONE
    if len(replicas) > MAX_REPLICAS:
        return _invalid(f"{len(replicas)} replicas, but a partition can have at most {MAX_REPLICAS}.")
    members = set(replicas)
    if members and len(members) == len(replicas) and members <= state.cluster.brokers.keys():
        state.cluster.accept_list(replicas)
        return DONE
    if not replicas:
        return _invalid("an empty replica list.")
    previous = None
    for broker in sorted(replicas):
        if broker == state.cluster.controller_id:
            return _invalid(f"broker {broker}, which is reassignd, the controller: it holds no replicas.")
        if broker not in state.cluster.brokers:
            return _invalid(f"broker {broker}, but no such broker is registered.")
        if broker == previous:
            return _invalid(f"the broker {broker} more than once.")
        previous = broker
    return DONE


def check_factor(state: State, partition: Partition, target: Replicas) -> Outcome:
    """Check that the target keeps the replication factor (KIP-860).

    The factor is that of the original if the partition is being reassigned.
    """
    reassignment = state.orders.reassignments.get(partition.key)
    factor = len(partition.replicas if reassignment is None else reassignment.original)
    if len(target) == factor:
        return DONE
    return Outcome(
        ErrorCode.INVALID_REPLICATION_FACTOR,
        f"The replication factor is changed from {factor} to {len(target)}",
    )


def _invalid(what: str) -> Outcome:
    return Outcome(ErrorCode.INVALID_REPLICA_ASSIGNMENT, _PREFIX + what)
