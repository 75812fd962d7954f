"""What a proposal says about sizes: those that are not known, and those of tiered topics."""

from collections.abc import Sequence

import numpy as np

from common.wording import counted, some
from planner.proposals.problem.table import Columns
from planner.proposals.result import Proposal


def unknown_sizes(columns: Columns, *, strict: bool) -> str:
    """Return which sizes of replicas are not known, and what they count as; empty if all are known.

    A cluster without any such size, as in snapshots of earlier versions, has only leaders' sizes. That is no
    news unless the user is strict about it.
    """
    unknown = columns.sizes < 0
    if not unknown.any() or (unknown.all() and not strict):
        return ""
    brokers = np.unique(columns.ids[unknown]).tolist()
    return of_unknown_size(int(unknown.sum()), brokers, strict=strict)


def of_unknown_size(replicas: int, brokers: Sequence[int], *, strict: bool) -> str:
    """Return the line about replicas on these brokers whose sizes are not known."""
    which = f"the sizes of {counted(replicas, 'replica')} are not known (on brokers {some(brokers)})"
    return which if strict else f"{which}: they count as their leaders', or 0 B where that is not known"


def tiered_note(columns: Columns, proposal: Proposal) -> str:
    """Return how many of the partitions that are copied are tiered; empty if none is."""
    tiered = {columns.topics[topic] for topic in np.unique(columns.topic[columns.tiered]).tolist()}
    copied = sum(
        row.topic in tiered and not set(row.replicas).issuperset(replicas)
        for row, replicas in (proposal.changes.items() if tiered else ())
    )
    which = counted(copied, "partition")
    return f"{which} to copy in tiered topics: only the local part counts and is copied" if copied else ""
