"""Replicas that are lost: those on brokers that are offline."""

from collections import Counter
from collections.abc import Mapping

import numpy as np

from common.wording import counted
from planner.model.snapshot import Broker
from planner.proposals.problem.arrays import Flags
from planner.proposals.problem.goal import Goal
from planner.proposals.problem.table import Columns

MOST_NAMED = 20
"""Most brokers that are named."""


def lost_replicas(cluster: Mapping[int, Broker], columns: Columns, goal: Goal) -> Flags:
    """Return which replicas, in the order of `columns.ids`, a repair replaces.

    Those of a broker that is to keep what it has are waited for.
    """
    live = [broker.id for broker in cluster.values() if broker.live]
    flags: Flags = ~np.isin(columns.ids, [*live, *goal.receive_nothing])
    return flags


def rows_of(columns: Columns, replicas: Flags) -> Flags:
    """Return which partitions have one of these replicas."""
    rows = np.zeros(len(columns.lengths), np.bool_)
    rows[np.repeat(np.arange(len(rows)), columns.lengths)[replicas]] = True
    return rows


def lost_notes(columns: Columns, replicas: Flags, chosen: Flags) -> list[str]:
    """Return a line for each broker that has lost replicas of the chosen partitions."""
    mine = columns.ids[replicas & np.repeat(chosen, columns.lengths)]
    counts = Counter(mine.tolist())
    notes = [
        f"broker {broker} is offline: {counted(count, 'replica')}" for broker, count in sorted(counts.items())
    ]
    more = len(notes) - MOST_NAMED
    return notes[:MOST_NAMED] + ([f"and {counted(more, 'more broker')}"] if more > 0 else [])
