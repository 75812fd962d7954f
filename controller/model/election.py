"""Who leads a partition (Kafka: Election, PartitionLeaderElectionAlgorithms). Pure; preference is list order."""

from collections.abc import Container

from controller.model.cluster import NO_LEADER, Partition, Replicas


def first_eligible(replicas: Replicas, isr: Container[int], live: Container[int]) -> int:
    """The first replica that is alive and in sync, or NO_LEADER."""
    return next((r for r in replicas if r in live and r in isr), NO_LEADER)


def keep_or_elect(partition: Partition, replicas: Replicas, isr: Replicas, live: Container[int]) -> int:
    """The leader for a new list and ISR: today's if it stays, else the first eligible, else NO_LEADER."""
    leader = partition.leader
    if leader in replicas and leader in isr and leader in live:
        return leader
    return first_eligible(replicas, isr, live)


def after_loss(partition: Partition, live: Container[int], *, unclean: bool) -> Partition:
    """The partition once brokers that are not in `live` are taken off leadership and ISR.

    When no member of the ISR is left they all stay in it, for only they may lead again. With `unclean`, a replica out of sync
    leads rather than none.
    """
    isr = tuple(r for r in partition.isr if r in live)
    leader = keep_or_elect(partition, partition.replicas, isr, live)
    if leader == NO_LEADER and unclean:
        leader = next((r for r in partition.replicas if r in live), NO_LEADER)
        isr = (leader,) if leader != NO_LEADER else ()
    return with_leader(partition, leader, isr or partition.isr)


def with_leader(partition: Partition, leader: int, isr: Replicas) -> Partition:
    """The partition under this leader and ISR, with new epochs; itself when nothing changes."""
    if leader == partition.leader and isr == partition.isr:
        return partition
    return partition._replace(
        leader=leader,
        isr=isr,
        leader_epoch=partition.leader_epoch + 1,
        partition_epoch=partition.partition_epoch + 1,
    )
