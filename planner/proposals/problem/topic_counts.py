"""How many replicas of each topic are on each broker, and how many of them are above an even share."""

from collections.abc import Iterator

import numpy as np

from planner.proposals.problem.arrays import Ints
from planner.proposals.problem.layout import CELLS


def topic_excess(topic: Ints, lists: Ints, brokers: int, usable: int) -> int:
    """Return the sum over topics and brokers of the replicas above the topic's even share of a broker, rounded up.

    `topic` numbers the topic of each list, in ascending order. `usable` brokers share the replicas of a topic.
    """
    excess = 0
    for _, counts in counts_by_topic(topic, lists, brokers):
        excess += int(np.maximum(0, counts - even_share(counts.sum(axis=1), usable)[:, None]).sum())
    return excess


def even_share(replicas: Ints, usable: int) -> Ints:
    """Return the replicas of a topic that each broker has if they are even, rounded up."""
    share: Ints = -(-replicas // max(1, usable))
    return share


def counts_by_topic(topic: Ints, lists: Ints, brokers: int) -> Iterator[tuple[int, Ints]]:
    """Yield the number of a first topic, and the replicas of it and the next topics (rows) on each broker (columns)."""
    step = max(1, CELLS // max(1, brokers))
    topics = int(topic.max(initial=-1)) + 1
    for first in range(0, topics, step):
        size = min(step, topics - first)
        begin, end = np.searchsorted(topic, [first, first + size])
        counts = np.zeros(size * brokers, np.int64)
        base = (topic[begin:end] - first).astype(np.int64) * brokers
        for slot in lists[begin:end].T:
            there = slot >= 0
            counts += np.bincount(base[there] + slot[there], minlength=len(counts))
        yield first, counts.reshape(size, brokers)
