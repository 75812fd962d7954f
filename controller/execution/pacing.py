"""The decision on a reading of pace: windows and throttles of brokers.

It has no records, so it costs no disk flush.

The config that switches pace on is a record. What pace has learned is not: after a restart or a take-over it
learns the idle level in a comparison and begins with small efforts. The throttle is a lease like any other,
whose records say what to remove after a crash.
"""

from collections.abc import Set

from controller.execution.throttle import rate_of_others
from controller.model.cluster import TopicPartition
from controller.model.limits import UNLIMITED
from controller.pace.readings import FIRST_WINDOW, Load, Moves, PaceMeasured
from controller.scheduling.limits import Capacity, LimitKind, Windows
from controller.state.state import Decision, State

MOST_SHRUNK = 10_000
"""Partitions out of sync that are examined in a decision. With more of them the health guard holds the move
anyway."""


def pace_measured(d: Decision, event: PaceMeasured) -> None:
    """Follow the reading. The steps that the new windows allow start at the end of the decision."""
    state = d.state
    if state.pace.settings is None:
        return
    state.pace.pacer.tick(event, state.pace.settings, loads(state), shrunk_brokers(state))
    rows = state.pace.pacer.brokers.values()
    windows = {row.broker: UNLIMITED if row.window is None else row.window for row in rows}
    state.backlog.pace(Windows(windows, FIRST_WINDOW, state.pace.pacer.cluster_window))
    state.pace.sample(d.now_ms)
    state.throttle.set_paced({row.broker: row.rate for row in rows if row.rate is not None})


def loads(state: State) -> dict[int, Load]:
    """Return what moves at each live broker."""
    usage = state.backlog.usage

    def moves(kind: LimitKind, broker: int) -> Moves:
        capacity = Capacity(kind, broker)
        return Moves(usage.taken(capacity), usage.ended.get(capacity, 0))

    return {
        broker: Load(
            moves(LimitKind.INCOMING, broker),
            moves(LimitKind.OUTGOING, broker),
            rate_of_others(state, broker) is not None,
        )
        for broker in state.cluster.live
    }


def shrunk_brokers(state: State) -> Set[int]:
    """Return live brokers out of the ISR of a partition that does not move, or that lead such a one.

    Replicas on brokers that are not alive say nothing about the load.
    """
    found: set[int] = set()
    if len(state.cluster.under_replicated) > MOST_SHRUNK:
        return found
    for key in state.cluster.under_replicated:
        if key not in state.in_flight:
            found |= _lagging(state, key)
    return found


def _lagging(state: State, key: TopicPartition) -> set[int]:
    partition = state.cluster.partition(*key)
    if partition is None:
        return set()
    missing = {r for r in partition.replicas if r not in partition.isr and r in state.cluster.live}
    return missing | {partition.leader} if missing else missing
