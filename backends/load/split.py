"""Bytes out of a topic on a broker, split over the partitions that the broker leads.

They are split by what groups read where that is known, else by what producers write: a topic's rate divided
by its partitions would be wrong where they differ.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from backends.load.layout import Layout
from backends.load.leaders import Leaders
from backends.load.profile import Floats, Rates
from backends.load.wire import Ints


def split(told: Mapping[int, Mapping[str, float]], leaders: Leaders, read: Floats, wrote: Rates) -> Floats:
    """Return bytes out by row, NaN where they are not known: of topics that are told as NaN, too."""
    layout = leaders.layout
    weights = _Weights(layout, np.nan_to_num(read), np.nan_to_num(wrote))
    out, elsewhere = np.full(layout.size, np.nan), np.zeros(len(layout.topics))
    for broker, topics in told.items():
        led = leaders.led(broker)
        # A topic has no figures before its first request.
        totals = np.where(weights.is_read, np.nan, 0)
        for name, rate in topics.items():
            if (number := layout.numbers.get(name.encode())) is not None:
                totals[number] = rate
        out[led] = weights.shares(led) * totals[layout.topic_of[led]]
        followed = np.ones(len(layout.topics), np.bool_)
        followed[layout.topic_of[led]] = False
        elsewhere[followed] += np.nan_to_num(totals[followed])
    if elsewhere.any():  # What consumers have read of followers (KIP-392).
        every = np.arange(layout.size)
        out += weights.shares(every) * elsewhere[layout.topic_of]
    return out


def known_sums(rates: Rates, leaders: Leaders, brokers: Sequence[int]) -> Mapping[int, float]:
    """Return the sums of brokers as leaders, of those of which all is known."""
    sums = {}
    for broker in brokers:
        led = rates[leaders.led(broker)]
        if len(led) and not np.isnan(led).any():
            sums[broker] = float(led.sum(dtype=np.float64))
    return sums


class _Weights:
    """What the partitions of a topic are weighed by."""

    def __init__(self, layout: Layout, read: Floats, wrote: Floats) -> None:
        self._topic_of, self._count = layout.topic_of, len(layout.topics)
        self.is_read = self._sums(np.arange(layout.size), read) > 0
        """Of each topic, whether groups have read it."""
        is_written = self._sums(np.arange(layout.size), wrote) > 0
        alike = np.where(is_written[self._topic_of], wrote, 1.0)
        self._by_row = np.where(self.is_read[self._topic_of], read, alike)

    def shares(self, rows: Ints) -> Floats:
        """Return the share of each row in those of the same topic."""
        weights = self._by_row[rows]
        sums = self._sums(rows, weights)[self._topic_of[rows]]
        counts = np.bincount(self._topic_of[rows], minlength=self._count)[self._topic_of[rows]]
        return np.where(sums > 0, weights / np.maximum(sums, 1e-9), 1 / np.maximum(counts, 1))

    def _sums(self, rows: Ints, values: Floats) -> Floats:
        sums: Floats = np.bincount(self._topic_of[rows], values, self._count).astype(np.float64)
        return sums
