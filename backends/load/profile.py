"""Bytes in and out of each partition by hour of the day, in UTC, as a mean over about seven days.

It has 24 numbers of four bytes for each direction and partition.
"""

from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from backends.load.wire import Ints

HOURS = 24
NEW_SHARE = 1 / 7
"""Weight of a new day against all days before."""
LEAST_SECONDS = 600.0
"""An hour of which less is known does not count."""

Rates = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]


def hour_of(milliseconds: int) -> int:
    """Return the hours since 1970."""
    return milliseconds // 3_600_000


def hour_of_day(milliseconds: int) -> int:
    """Return the hour of the day in UTC."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).hour


def copy_rows(source: object, target: object, rows: Ints, taken: Ints) -> None:
    """Set `rows` of each column of `target` to the rows `taken` of that of `source`."""
    for name, column in vars(source).items():
        if isinstance(column, np.ndarray):
            getattr(target, name)[..., rows] = column[..., taken]


class Busy(NamedTuple):
    """The busy hour, its rates by row, and the totals of each hour; NaN for what is not known."""

    hour: int | None
    bytes_in: Rates
    bytes_out: Rates
    totals_in: Floats
    totals_out: Floats


class Mean(NamedTuple):
    """The means over the hours of the day of which something is known, by row; NaN where nothing is."""

    bytes_in: Rates
    bytes_out: Rates


class Profile:
    """The profile of some rows."""

    def __init__(self, rows: int) -> None:
        self._mean: Mean | None = None
        """Of the hours that have ended; None where it is to be computed."""
        self.bytes_in = np.full((HOURS, rows), np.nan, np.float32)
        self.bytes_out: Rates | None = None
        """None as long as no group has read anything."""
        self._wrote = np.zeros(rows)
        self._seconds = np.zeros(rows, np.float32)
        self.read = np.zeros(rows)
        self._read_seconds = np.zeros(rows, np.float32)

    def moved(self, rows: Ints) -> "Profile":
        """Return the profile of other rows: those of these rows, and nothing where that is -1."""
        moved, known = Profile(len(rows)), np.flatnonzero(rows >= 0)
        if self.bytes_out is not None:
            moved.bytes_out = np.full((HOURS, len(rows)), np.nan, np.float32)
        copy_rows(self, moved, known, rows[known])
        return moved

    def fill(self, rows: Ints, bytes_in: Rates, bytes_out: Rates | None = None) -> None:
        """Set the hours of these rows, as they were kept."""
        self._mean = None
        self.bytes_in[:, rows] = bytes_in
        if bytes_out is not None:
            if self.bytes_out is None:
                self.bytes_out = np.full_like(self.bytes_in, np.nan)
            self.bytes_out[:, rows] = bytes_out

    def add(self, rows: Ints, wrote: Floats, seconds: Floats) -> None:
        """Add what was written in this hour."""
        self._wrote[rows] += wrote
        self._seconds[rows] += seconds

    def add_read(self, read: Floats, seconds: float) -> None:
        """Add what consumers read in this hour of each row; NaN where it is not known."""
        known = ~np.isnan(read)
        self.read[known] += read[known]
        self._read_seconds[known] += seconds

    def end_hour(self, hour: int) -> None:
        """End this hour of the day. It counts where enough is known of it."""
        self._mean = None
        self._fold(self.bytes_in[hour], self._wrote, self._seconds)
        if (self.read > 0).any() and self.bytes_out is None:
            self.bytes_out = np.full_like(self.bytes_in, np.nan)
        if self.bytes_out is not None:
            self._fold(self.bytes_out[hour], self.read, self._read_seconds)
        for column in (self._wrote, self._seconds, self.read, self._read_seconds):
            column[:] = 0

    @staticmethod
    def _fold(mean: Rates, total: Floats, seconds: Rates) -> None:
        rows = np.flatnonzero(seconds >= LEAST_SECONDS)
        new = total[rows] / seconds[rows]
        old = np.where(np.isnan(mean[rows]), new, mean[rows])
        mean[rows] = old + (new - old) * NEW_SHARE

    def mean(self) -> Mean:
        """Return the means. What is known of the present hour counts where no hour is known."""
        if self._mean is None:
            rows = len(self._wrote)
            self._mean = Mean(_mean(self.bytes_in, rows), _mean(self.bytes_out, rows))
        present = _rate(self._wrote, self._seconds), _rate(self.read, self._read_seconds)
        both = zip(self._mean, present, strict=True)
        return Mean(*(np.where(np.isnan(mean), now, mean) for mean, now in both))

    def busy(self, hour: int) -> Busy:
        """Return the busy hour. The present hour of the day counts while no day is known of it."""
        present_in = _rate(self._wrote, self._seconds)
        present_out = _rate(self.read, self._read_seconds)
        totals_in, totals_out = np.full(HOURS, np.nan), np.full(HOURS, np.nan)
        for each in range(HOURS):
            totals_in[each] = _total(self.bytes_in[each])
            if self.bytes_out is not None:
                totals_out[each] = _total(self.bytes_out[each])
        if is_first := np.isnan(totals_in[hour]):
            totals_in[hour], totals_out[hour] = _total(present_in), _total(present_out)
        if np.isnan(totals_in).all():
            return Busy(None, present_in, present_out, totals_in, totals_out)
        top = int(np.nanargmax(totals_in))
        if top == hour and is_first:
            return Busy(top, present_in, present_out, totals_in, totals_out)
        out = np.full_like(present_out, np.nan) if self.bytes_out is None else self.bytes_out[top].copy()
        return Busy(top, self.bytes_in[top].copy(), out, totals_in, totals_out)


def _rate(total: Floats, seconds: Rates) -> Rates:
    return np.where(seconds > 0, total / np.maximum(seconds, 1e-6), np.nan).astype(np.float32)


def _mean(hours: Rates | None, rows: int) -> Rates:
    """Return the mean of what is known of each row; NaN where nothing is."""
    total, known = np.zeros(rows, np.float32), np.zeros(rows, np.int8)
    for hour in () if hours is None else hours:
        total += np.nan_to_num(hour)
        known += ~np.isnan(hour)
    return np.where(known > 0, total / np.maximum(known, 1), np.float32(np.nan))


def _total(rates: Rates) -> float:
    """Return the sum of what is known; NaN if nothing is."""
    known = ~np.isnan(rates)
    return float(rates[known].sum(dtype=np.float64)) if known.any() else np.nan
