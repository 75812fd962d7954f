"""The health guard: nothing new starts while the cluster has worse to do (`reassignment.health.guard`)."""

from collections.abc import Iterator
from heapq import nsmallest

from controller.config_values import CLUSTER_DEFAULT
from controller.decision import Decision
from controller.model import NO_LEADER, ResourceType, TopicPartition
from controller.state import State

GUARD = "reassignment.health.guard"
_STEPS = {"hold": 0, "slow": 1, "off": None}
NAMED = 3
"""Partitions named in the reason."""


def judge(d: Decision) -> None:
    """Let steps start, or not, by what is known of the cluster's health."""
    state = d.state
    unreachable = state.unreachable
    mode = state.config(ResourceType.BROKER, CLUSTER_DEFAULT, GUARD) or "hold"
    troubles = [unreachable] if unreachable else list(_troubles(state))
    state.trouble = "; ".join(troubles)
    # Without the upstream nothing can start, whatever the mode.
    state.backlog.hold((0 if unreachable else _STEPS[mode]) if troubles else None)


def _troubles(state: State) -> Iterator[str]:
    missing = sorted(state.brokers.keys() - state.live)
    if missing:
        yield "missing: " + ", ".join(f"broker {broker}" for broker in missing)
    weak = [key for key in state.under_replicated | state.offline if _weakness(state, key)]
    if weak:
        named = ", ".join(_weakness(state, key) for key in nsmallest(NAMED, weak))
        more = f" and {len(weak) - NAMED} more" if len(weak) > NAMED else ""
        yield f"under min ISR: {named}{more}"


def _weakness(state: State, key: TopicPartition) -> str:
    """What is wrong with a partition that is none of ours to repair; empty when nothing is."""
    partition = state.partitions[key.topic][key.partition]
    floor = min(state.min_isr(key.topic), len(partition.replicas))
    if key in state.reassignments:
        return ""
    if partition.leader == NO_LEADER:
        return f"{key} (no leader)"
    if len(partition.isr) >= floor:
        return ""
    return f"{key} ({len(partition.isr)} in sync, min.insync.replicas {floor})"
