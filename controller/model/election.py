"""The leader of a partition (Kafka: Election, PartitionLeaderElectionAlgorithms).

Pure functions; list order is preference.
"""

from collections.abc import Container

from controller.model.cluster import NO_LEADER, Partition, Replicas


def first_eligible(replicas: Replicas, isr: Container[int], live: Container[int]) -> int:
    """Return the first replica that is alive and in sync, or NO_LEADER."""
    return next((r for r in replicas if r in live and r in isr), NO_LEADER)


def keep_or_elect(partition: Partition, replicas: Replicas, isr: Replicas, live: Container[int]) -> int:
    """Return the leader for a new list and ISR: the present one, else the first eligible, else NO_LEADER."""
    leader = partition.leader
    if leader in replicas and leader in isr and leader in live:
        return leader
    return first_eligible(replicas, isr, live)


def after_loss(partition: Partition, live: Container[int], *, unclean: bool) -> Partition:
    """Return the partition without the brokers that are not in `live` in its ISR and leadership.

    If no member of the ISR is alive, the ISR stays as it is, because only its members may lead again. With
    `unclean`, a replica that is out of sync leads instead of none.
    """
    isr = tuple(r for r in partition.isr if r in live)
    leader = keep_or_elect(partition, partition.replicas, isr, live)
    if leader == NO_LEADER and unclean:
        leader = next((r for r in partition.replicas if r in live), NO_LEADER)
        isr = (leader,) if leader != NO_LEADER else ()
    return with_leader(partition, leader, isr or partition.isr)


def with_leader(partition: Partition, leader: int, isr: Replicas) -> Partition:
    """Return the partition with this leader and ISR and new epochs; the same object if nothing changes."""
    if leader == partition.leader and isr == partition.isr:
        return partition
    return partition._replace(
        leader=leader,
        isr=isr,
        leader_epoch=partition.leader_epoch + 1,
        partition_epoch=partition.partition_epoch + 1,
    )
