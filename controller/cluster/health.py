"""The health guard: it holds or slows steps while the cluster is unhealthy (`reassignment.health.guard`)."""

from collections.abc import Iterator
from itertools import chain, islice

from controller.cluster.cluster_values import cluster_value
from controller.model.cluster import NO_LEADER, Partition, TopicPartition
from controller.model.configs import HEALTH_GUARD
from controller.state.state import Decision, State

_STEPS = {"hold": 0, "slow": 1, "off": None}
SCANNED = 20_000
"""Partitions in one slice of a search through all of them; it takes some milliseconds."""
NAMED = 3
"""Partitions named in the reason: those that have been in trouble for longest."""


def evaluate_health(d: Decision) -> None:
    """Decide whether steps may start, from the known health of the cluster."""
    state = d.state
    unreachable = state.gateway.unreachable
    mode = cluster_value(state, HEALTH_GUARD)
    troubles = [unreachable] if unreachable else list(_troubles(state))
    state.gateway.set_health("; ".join(troubles))
    # Without the upstream nothing can start, whatever the mode.
    state.backlog.hold((0 if unreachable else _STEPS[mode]) if troubles else None)


def unlisted_brokers(state: State) -> set[int]:
    """Return brokers that hold replicas of partitions that are not in sync, but are not registered.

    Kafka before 4.0 does not list failed or fenced brokers.
    """
    lagging = chain(state.cluster.under_replicated, state.cluster.offline)
    return {
        r for topic, number in lagging for r in state.cluster.partitions[topic][number].replicas
    } - state.cluster.brokers.keys()


def find_idle_brokers(state: State) -> Iterator[None]:
    """Find the offline brokers that hold no replica and get none, slice by slice.

    KRaft keeps a broker registered after it was stopped for good, until it is unregistered.
    """
    idle = state.cluster.brokers.keys() - state.cluster.live
    targets = (each.target for each in state.orders.reassignments.values())
    queued = (each.target for each in state.orders.pending.values())
    for target in chain(targets, queued) if idle else ():
        idle.difference_update(target)
    for seen, partition in enumerate(state.cluster.all_partitions() if idle else ()):
        idle.difference_update(partition.replicas)
        if not idle:
            break
        if seen % SCANNED == SCANNED - 1:
            yield
    state.cluster.set_idle(idle)


def offline_brokers(state: State) -> list[int]:
    """Return the brokers that are not alive, those included that only replica lists name."""
    return sorted((state.cluster.brokers.keys() - state.cluster.live) | state.cluster.unlisted_brokers)


def missing_brokers(state: State) -> list[int]:
    """Return the offline brokers that something depends on: they hold replicas, or are to get some."""
    return [broker for broker in offline_brokers(state) if broker not in state.cluster.idle_brokers]


def _troubles(state: State) -> Iterator[str]:
    if missing := missing_brokers(state):
        yield "missing: " + ", ".join(f"broker {broker}" for broker in missing)
    if state.gateway.under_min_isr:
        named = ", ".join(_weakness(state, key) for key in sorted(islice(state.gateway.under_min_isr, NAMED)))
        more = (
            f" and {len(state.gateway.under_min_isr) - NAMED} more"
            if len(state.gateway.under_min_isr) > NAMED
            else ""
        )
        yield f"under min ISR: {named}{more}"


def _weakness(state: State, key: TopicPartition) -> str:
    """What is wrong with it."""
    partition = state.cluster.partitions[key.topic][key.partition]
    if partition.leader == NO_LEADER:
        return f"{key} (no leader)"
    return f"{key} ({len(partition.isr)} in sync, min.insync.replicas {effective_min_isr(state, partition)})"


def effective_min_isr(state: State, partition: Partition) -> int:
    """Return `min.insync.replicas`, at most the number of replicas (Kafka: Partition.effectiveMinIsr)."""
    return min(state.settings.min_isr(partition.topic), len(partition.replicas))
