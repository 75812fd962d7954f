"""What was measured, at one moment: sums by broker and topic, and rows in order. Nothing here changes."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from backends.load.columns import Flags
from backends.load.layout import Layout
from backends.load.profile import Busy, Floats, Mean, Rates
from backends.load.wire import Ints
from controller.model.load import LoadPage, LoadRow, LoadSort, LoadUnit, Quality
from controller.model.load import Rates as LoadRates


class View(NamedTuple):
    """The columns. Rates are NaN where they are not known."""

    layout: Layout
    leaders: npt.NDArray[np.int32]
    replicas: Mapping[int, npt.NDArray[np.int32]]
    """The rows of the replicas that each broker has reported."""
    answered_ms: Mapping[int, int]
    """When each broker has answered last."""
    bytes_in: Rates
    estimated: Flags
    bytes_out: Rates
    busy: Busy
    mean: Mean
    measured_ms: int
    cpu: Mapping[int, float]
    """The fraction of each broker's CPU that is in use, where it is known."""

    @property
    def coverage(self) -> float:
        """Fraction of the partitions whose bytes in are known."""
        return 1 - float(np.isnan(self.bytes_in).mean()) if self.layout.size else 0.0

    def total(self) -> LoadRates:
        """Return the rates of all partitions together."""
        return LoadRates(*(_sum(each) for each in self._columns))

    @property
    def _columns(self) -> tuple[Rates, ...]:
        """The columns of the fields of `LoadRates`."""
        return self.bytes_in, self.bytes_out, self.busy.bytes_in, self.busy.bytes_out, *self.mean

    def hours(self) -> list[LoadRates]:
        """Return what is known of each hour of the day."""
        totals = zip(self.busy.totals_in.tolist(), self.busy.totals_out.tolist(), strict=True)
        return [LoadRates(_known(written), _known(read)) for written, read in totals]

    def rates(self, row: int) -> LoadRates:
        """Return the rates of a row."""
        return LoadRates(*(_known(each[row].item()) for each in self._columns))

    def page(self, by: LoadUnit, sort: LoadSort, offset: int, limit: int) -> LoadPage:
        """Return some rows."""
        if by is LoadUnit.PARTITION:
            return self._partitions(sort, offset, limit)
        sums = self._brokers() if by is LoadUnit.BROKER else self._topics()
        row = self._broker if by is LoadUnit.BROKER else self._topic
        order = _order(sums.column(sort))[offset : offset + limit]
        return LoadPage([row(sums, int(at)) for at in order], len(sums.ids))

    def brokers(self) -> list[LoadRow]:
        """Return the rows of all brokers, in order of their ids."""
        sums = self._brokers()
        return [self._broker(sums, at) for at in range(len(sums.ids))]

    def _partitions(self, sort: LoadSort, offset: int, limit: int) -> LoadPage:
        columns = {
            LoadSort.IN: self.bytes_in,
            LoadSort.OUT: self.bytes_out,
            LoadSort.BUSY: self.busy.bytes_in,
        }
        rows = []
        for row in _order(columns[sort])[offset : offset + limit].tolist():
            topic, number = self.layout.name(row)
            known = not np.isnan(self.bytes_in[row])
            quality = _quality(int(known), int(self.estimated[row]))
            leader = int(self.leaders[row])
            rows.append(
                LoadRow(None if leader < 0 else leader, topic, number, self.rates(row), quality, float(known))
            )
        return LoadPage(rows, self.layout.size)

    def _topics(self) -> "_Sums":
        ids = np.arange(len(self.layout.topics))
        return self._sums(ids, self.layout.topic_of.astype(np.int64))

    def _brokers(self) -> "_Sums":
        led = self.leaders[self.leaders >= 0]
        ids = np.union1d(np.unique(led), np.array(sorted(self.answered_ms), np.int64)).astype(np.int64)
        # Partitions without a leader count for none: they are one more sum, which is left out.
        codes = np.where(self.leaders >= 0, np.searchsorted(ids, np.maximum(self.leaders, 0)), len(ids))
        return self._sums(ids, codes)

    def _sums(self, ids: Ints, codes: Ints) -> "_Sums":
        count = len(ids)
        known = ~np.isnan(self.bytes_in)
        return _Sums(
            ids,
            [_summed(codes, each, count) for each in self._columns],
            np.bincount(codes, minlength=count + 1)[:count],
            np.bincount(codes[known], minlength=count + 1)[:count],
            np.bincount(codes[known & self.estimated], minlength=count + 1)[:count],
            _summed(codes, self.bytes_in * self._followers(), count),
        )

    def _followers(self) -> npt.NDArray[np.int16]:
        """Return how many replicas of each partition the brokers have reported, without the leader's."""
        followers = np.full(self.layout.size, -1, np.int16)
        for rows in self.replicas.values():
            followers[rows] += 1
        return np.maximum(followers, 0)

    def _topic(self, sums: "_Sums", at: int) -> LoadRow:
        return LoadRow(None, self.layout.topics[int(sums.ids[at])].name, None, *self._figures(sums, at))

    def _broker(self, sums: "_Sums", at: int) -> LoadRow:
        broker = int(sums.ids[at])
        held = self.replicas.get(broker)
        fetched = None if held is None else self._fetched(broker, held)
        figures = self._figures(sums, at)
        sent = _known(sums.sent[at].item())
        answered, cpu = self.answered_ms.get(broker), self.cpu.get(broker)
        potential = None if held is None else _sum(self.bytes_out[held]) if len(held) else 0.0
        return LoadRow(broker, None, None, *figures, fetched, sent, answered, cpu, potential)

    def _fetched(self, broker: int, held: npt.NDArray[np.int32]) -> float | None:
        followed = held[self.leaders[held] != broker]
        return _sum(self.bytes_in[followed]) if len(followed) else 0.0

    @staticmethod
    def _figures(sums: "_Sums", at: int) -> tuple[LoadRates, Quality, float]:
        rates = LoadRates(*(_known(each[at].item()) for each in sums.columns))
        of, known = int(sums.of[at]), int(sums.known[at])
        coverage = known / of if of else 1.0
        return rates, _quality(known, int(sums.estimated[at])) if of else Quality.EXACT, coverage


class _Sums(NamedTuple):
    ids: Ints
    columns: list[Floats]
    of: Ints
    """Partitions of each."""
    known: Ints
    estimated: Ints
    sent: Floats
    """What followers fetch."""

    def column(self, sort: LoadSort) -> Floats:
        return self.columns[{LoadSort.IN: 0, LoadSort.OUT: 1, LoadSort.BUSY: 2}[sort]]


def _summed(codes: Ints, rates: Rates, count: int) -> Floats:
    """Return the sums by code of what is known; NaN where nothing is. Nothing of nothing is 0."""
    known = ~np.isnan(rates)
    totals = np.bincount(codes[known], rates[known], count + 1)[:count]
    some = np.bincount(codes[known], minlength=count + 1)[:count] > 0
    none = np.bincount(codes, minlength=count + 1)[:count] == 0
    return np.where(some | none, totals, np.nan)


def _order(column: Rates | Floats) -> Ints:
    """Return positions in descending order, unknown ones last."""
    return np.argsort(np.where(np.isnan(column), np.inf, -column), kind="stable")


def _sum(rates: Rates) -> float | None:
    known = rates[~np.isnan(rates)]
    return float(known.sum(dtype=np.float64)) if len(known) else None


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value


def _quality(known: int, estimated: int) -> Quality:
    if not known:
        return Quality.UNKNOWN
    return Quality.ESTIMATED if estimated else Quality.EXACT
