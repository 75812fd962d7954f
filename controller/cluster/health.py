"""The health guard: it holds or slows steps while the cluster is unhealthy (`reassignment.health.guard`)."""

from collections.abc import Iterator
from itertools import chain, islice

from controller.configs.keys import BROKER_KEYS
from controller.configs.names import HEALTH_GUARD
from controller.configs.values import CLUSTER_DEFAULT
from controller.model.cluster import NO_LEADER, ResourceType, TopicPartition
from controller.state.decision import Decision
from controller.state.state import State
from controller.views.reassignments import effective_min_isr

_STEPS = {"hold": 0, "slow": 1, "off": None}
NAMED = 3
"""Partitions named in the reason: those that have been in trouble for longest."""


def evaluate_health(d: Decision) -> None:
    """Decide whether steps may start, from the known health of the cluster."""
    state = d.state
    unreachable = state.unreachable
    mode = (
        state.config(ResourceType.BROKER, CLUSTER_DEFAULT, HEALTH_GUARD) or BROKER_KEYS[HEALTH_GUARD].default
    )
    troubles = [unreachable] if unreachable else list(_troubles(state))
    state.health_problem = "; ".join(troubles)
    # Without the upstream nothing can start, whatever the mode.
    state.backlog.hold((0 if unreachable else _STEPS[mode]) if troubles else None)


def unlisted_brokers(state: State) -> set[int]:
    """Return brokers that hold replicas of partitions that are not in sync, but are not registered.

    Kafka before 4.0 does not list failed or fenced brokers.
    """
    lagging = chain(state.under_replicated, state.offline)
    return {
        r for topic, number in lagging for r in state.partitions[topic][number].replicas
    } - state.brokers.keys()


def offline_brokers(state: State) -> list[int]:
    """Return the brokers that are not alive, those included that only replica lists name."""
    return sorted((state.brokers.keys() - state.live) | state.unlisted_brokers)


def _troubles(state: State) -> Iterator[str]:
    if missing := offline_brokers(state):
        yield "missing: " + ", ".join(f"broker {broker}" for broker in missing)
    if state.under_min_isr:
        named = ", ".join(_weakness(state, key) for key in sorted(islice(state.under_min_isr, NAMED)))
        more = f" and {len(state.under_min_isr) - NAMED} more" if len(state.under_min_isr) > NAMED else ""
        yield f"under min ISR: {named}{more}"


def _weakness(state: State, key: TopicPartition) -> str:
    """What is wrong with it."""
    partition = state.partitions[key.topic][key.partition]
    if partition.leader == NO_LEADER:
        return f"{key} (no leader)"
    return f"{key} ({len(partition.isr)} in sync, min.insync.replicas {effective_min_isr(state, partition)})"
