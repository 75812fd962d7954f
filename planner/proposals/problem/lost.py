"""Replicas that are lost: those on brokers that are offline, and those in directories that have failed."""

from collections import Counter
from collections.abc import Mapping

import numpy as np

from common.wording import counted
from planner.model.snapshot import Broker
from planner.proposals.problem.arrays import Flags
from planner.proposals.problem.goal import Goal
from planner.proposals.problem.table import Columns, offline_in

MOST_NAMED = 20
"""Most brokers that are named."""


def lost_replicas(cluster: Mapping[int, Broker], columns: Columns, goal: Goal) -> Flags:
    """Return which replicas, in the order of `Columns.ids`, a repair replaces.

    Those of a broker that is to keep what it has are waited for.
    """
    return offline_in(cluster, columns) & ~np.isin(columns.ids, [*goal.receive_nothing])


def rows_of(columns: Columns, replicas: Flags) -> Flags:
    """Return which partitions have one of these replicas."""
    rows = np.zeros(len(columns.lengths), np.bool_)
    rows[np.repeat(np.arange(len(rows)), columns.lengths)[replicas]] = True
    return rows


def lost_notes(cluster: Mapping[int, Broker], columns: Columns, replicas: Flags, chosen: Flags) -> list[str]:
    """Return a line for each broker that has lost replicas of the chosen partitions."""
    counts = Counter(columns.ids[replicas & np.repeat(chosen, columns.lengths)].tolist())
    live = {broker.id for broker in cluster.values() if broker.live}
    notes = [
        (
            f"a log directory of broker {broker} has failed"
            if broker in live
            else f"broker {broker} is offline"
        )
        + f": {counted(count, 'replica')}"
        for broker, count in sorted(counts.items())
    ]
    more = len(notes) - MOST_NAMED
    return notes[:MOST_NAMED] + ([f"and {counted(more, 'more broker')}"] if more > 0 else [])
