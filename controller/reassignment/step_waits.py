"""What a step waits for, as far as leaders, live brokers and the ISR show it: the reason names the brokers.

A step ends when the replicas that it adds are in sync, and, if it drops some, when those that stay may carry
the partition alone (`controller.scheduling.steps.may_drop`; Kafka before 4.2 wants all of them in sync).
"""

from collections.abc import Collection, Iterable

from common.wording import some
from controller.model.cluster import NO_LEADER, Partition, Replicas
from controller.state.state import State

MOST_BROKERS = 5
"""Brokers that one reason names."""


def step_waits(state: State, partition: Partition) -> str:
    """Return what keeps the step in flight from its end; empty while its replicas copy data."""
    if reason := leader_waits(state, partition):
        return reason
    if down := _absent(state.live, partition.adding):
        return f"target {_brokers(down)} {'are' if len(down) > 1 else 'is'} down"
    if any(r not in partition.isr for r in partition.adding):
        return ""
    return replicas_wait(state, partition, partition.next)


def leader_waits(state: State, partition: Partition) -> str:
    """Return which brokers the partition needs for a leader: new replicas have no one to copy from."""
    down = _absent(state.live, partition.isr)
    if partition.leader == NO_LEADER:
        return "the partition has no leader" + (f": {_brokers(down)} down" if down else "")
    if partition.leader not in state.live:
        return f"offline: broker {partition.leader}, which leads the partition"
    return ""


def replicas_wait(state: State, partition: Partition, staying: Replicas) -> str:
    """Return which replicas that stay are not in sync; empty if all are."""
    late = _absent(partition.isr, staying)
    if down := _absent(state.live, late):
        return f"offline: {_brokers(down)}, which keep{'s' * (len(down) == 1)} a replica"
    return f"not in sync: {_brokers(late)}, which keep{'s' * (len(late) == 1)} a replica" if late else ""


def _absent(members: Collection[int], brokers: Iterable[int]) -> list[int]:
    return [broker for broker in brokers if broker not in members]


def _brokers(numbers: list[int]) -> str:
    return f"broker{'s' * (len(numbers) > 1)} {some([str(number) for number in numbers], MOST_BROKERS)}"
