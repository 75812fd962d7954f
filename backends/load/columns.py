"""What was measured of each partition, as columns, and the rates that follow.

An interval lies between two answers of the same leader. The bytes that producers wrote in it are exactly what
the log has grown by, if nothing was deleted from it. Otherwise they are the records that were appended, times
the mean size of a record; of a compacted log, that of records that were read. An interval of which neither is
certain counts as unknown.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from backends.load.layout import Layout
from backends.load.profile import Floats, Profile, Rates, copy_rows
from backends.load.wire import Ints

Flags = npt.NDArray[np.bool_]

WINDOWS = 3
"""Windows whose median is the rate."""
KEPT = 0.9
"""Weight of what earlier intervals have told of the size of records, against the last one."""
LATE_FRACTION = 0.1
"""An answer that took longer than this fraction of its interval does not tell when its sizes were read."""


class Answer(NamedTuple):
    """What a leader has told of its partitions. Values below 0 stand for what it did not tell."""

    broker: int
    rows: Ints
    sizes: Ints
    latest: Ints
    earliest: Ints
    asked: float
    """When the sizes were asked for, in seconds."""
    answered: float


class Samples:
    """The last sample of each row, and what was written since."""

    def __init__(self, layout: Layout) -> None:
        self.layout, count = layout, layout.size
        self.size = np.full(count, -1, np.int64)
        self.latest = np.full(count, -1, np.int64)
        self.earliest = np.full(count, -1, np.int64)
        self.earlier = np.full(count, -1, np.int64)
        """`earliest` of the sample before."""
        self.at = np.full(count, np.nan)
        self.source = np.full(count, -1, np.int32)
        """The broker whose replica was measured."""
        self.grown = np.zeros(count, np.float32)
        """Bytes of the last exact intervals, or of what was read of a compacted log. With `appended` they
        tell the mean size of a record. One record may count in an interval and its bytes in the next, so the
        mean of one interval would be wrong."""
        self.appended = np.zeros(count, np.float32)
        """Records of the same intervals."""
        self.compacted = np.zeros(count, np.bool_)
        """Whether Kafka may have removed records in the middle of the log."""
        self.wrote = np.zeros(count)
        """Bytes in the present window."""
        self.seconds = np.zeros(count, np.float32)
        """Of the present window, of which bytes are known."""
        self.estimated = np.zeros(count, np.bool_)
        """Whether a part of `wrote` is estimated."""
        self.rates = np.full((WINDOWS, count), np.nan, np.float32)
        """Of the last windows, the newest first."""
        self.was_estimated = np.zeros(count, np.bool_)
        """Of the last window."""
        self.read_rates = np.full((WINDOWS, count), np.nan, np.float32)
        """Bytes that consumers read, of the last measurements."""
        self.profile = Profile(count)

    def moved_to(self, layout: Layout) -> "Samples":
        """Return the samples in the rows of another layout."""
        moved, rows = Samples(layout), layout.taken_from(self.layout)
        known = np.flatnonzero(rows >= 0)
        copy_rows(self, moved, known, rows[known])
        moved.profile = self.profile.moved(rows)
        return moved

    def forget(self) -> None:
        """Begin new intervals everywhere: the time since the last samples is not known."""
        self.at[:] = np.nan

    def add(self, answer: Answer) -> None:
        """Add what a leader has told, and what follows of the interval since its last answer."""
        rows = answer.rows
        now = (answer.asked + answer.answered) / 2
        told = (answer.sizes >= 0) & (answer.earliest >= 0) & (answer.latest >= answer.earliest)
        seconds = np.where(np.isnan(self.at[rows]), 0.0, now - self.at[rows])
        # Offsets that went back are those of a topic made anew, or of a leader that has lost records.
        forward = (answer.latest >= self.latest[rows]) & (answer.earliest >= self.earliest[rows])
        valid = told & (seconds > 0) & forward
        late = answer.answered - answer.asked > LATE_FRACTION * seconds
        wrote, exact = self._wrote(answer, valid, late)
        usable = valid & ~np.isnan(wrote) & ~late
        at = rows[usable]
        self.wrote[at] += wrote[usable]
        self.seconds[at] += seconds[usable]
        self.estimated[at] |= ~exact[usable]
        self.profile.add(at, wrote[usable], seconds[usable])
        self._keep(answer, told, now)

    def _wrote(self, answer: Answer, valid: Flags, late: Flags) -> tuple[Floats, Flags]:
        """Return the bytes that were written in the intervals, and whether they are exact."""
        rows = answer.rows
        same = valid & (self.source[rows] == answer.broker)
        records = np.maximum(answer.latest - self.latest[rows], 0)
        grown = answer.sizes - self.size[rows]
        # Sizes and offsets are not read at the same moment, so the interval before counts too. From a log
        # that begins at 0 nothing was ever deleted.
        undeleted = (answer.earliest == self.earliest[rows]) & (
            (answer.earliest == self.earlier[rows]) | (answer.earliest == 0)
        )
        # Kafka removes records in the middle of a log only by compaction.
        shrunk = same & (answer.earliest == self.earliest[rows]) & (grown < 0)
        self._begin_compacted(rows[shrunk])
        compacted = self.compacted[rows]
        exact = same & undeleted & (grown >= 0) & ~compacted
        mean = _mean_record(
            self.grown[rows], self.appended[rows], answer.sizes, answer.latest - answer.earliest, compacted
        )
        learnt = exact & ((records > 0) | (grown > 0)) & ~late
        self.learn(rows[learnt], grown[learnt], records[learnt])
        # Nothing was written, whatever was removed.
        idle = valid & compacted & (records == 0)
        wrote = np.where(exact, grown, np.where(valid, records * mean, np.nan))
        return np.where(idle, 0, wrote), exact | idle

    def learn(self, rows: Ints, grown: Ints | Floats, appended: Ints | Floats) -> None:
        """Add the bytes of so many records to what is known of their mean size."""
        self.grown[rows] = KEPT * self.grown[rows] + grown
        self.appended[rows] = KEPT * self.appended[rows] + appended

    def tell_compacted(self, codes: npt.NDArray[np.int8]) -> None:
        """Take whether topics are compacted, by number: 1 or 0; -1 leaves it as it is."""
        told = codes[self.layout.topic_of]
        self._begin_compacted(np.flatnonzero(told == 1))
        self.compacted[told == 0] = False

    def _begin_compacted(self, rows: Ints) -> None:
        """Note that these logs are compacted. By what they have grown so far tells nothing."""
        new = rows[~self.compacted[rows]]
        self.compacted[new], self.grown[new], self.appended[new] = True, 0, 0

    def mean_record(self) -> Floats:
        """Return the mean size of the records of each row."""
        stored = self.latest - self.earliest
        return _mean_record(self.grown, self.appended, self.size, stored, self.compacted)

    def _keep(self, answer: Answer, told: Flags, now: float) -> None:
        rows = answer.rows
        # What was not told leaves a gap: the interval after it begins with the next sample.
        self.at[rows] = np.where(told, now, np.nan)
        rows = rows[told]
        self.earlier[rows] = self.earliest[rows]
        self.size[rows], self.latest[rows] = answer.sizes[told], answer.latest[told]
        self.earliest[rows], self.source[rows] = answer.earliest[told], answer.broker

    def close_window(self, seconds: float) -> None:
        """End the present window of so many seconds, and begin the next one."""
        known = self.seconds >= seconds / 2
        self.rates[1:] = self.rates[:-1]
        self.rates[0] = np.where(known, self.wrote / np.maximum(self.seconds, 1e-6), np.nan)
        self.was_estimated[:] = self.estimated
        self.wrote[:], self.seconds[:], self.estimated[:] = 0, 0, False

    def add_read(self, rates: Floats, seconds: float) -> None:
        """Add the bytes per second that consumers read in so many seconds; NaN where they are not known."""
        self.read_rates[1:] = self.read_rates[:-1]
        self.read_rates[0] = rates
        self.profile.add_read(rates * seconds, seconds)

    def newest_in(self) -> Rates:
        """Return the rates of the last window, or of the present one before it has ended."""
        so_far = self.wrote / np.maximum(self.seconds, 1e-6)
        first = np.where(self.seconds > 0, so_far, np.nan).astype(np.float32)
        return np.where(np.isnan(self.rates[0]), first, self.rates[0])

    def bytes_in(self) -> tuple[Rates, Flags]:
        """Return the present rates, NaN where none is known, and whether they are estimated.

        Before the first window has ended they are those of it so far.
        """
        first = np.isnan(self.rates[1]) & np.isnan(self.rates[0]) & (self.seconds > 0)
        so_far = (self.wrote / np.maximum(self.seconds, 1e-6)).astype(np.float32)
        median = _median(self.rates)
        return np.where(first, so_far, median), np.where(first, self.estimated, self.was_estimated)

    def bytes_out(self) -> Rates:
        """Return what consumers read, NaN where it is not known."""
        return _median(self.read_rates)


def _mean_record(grown: Rates, appended: Rates, sizes: Ints, stored: Ints, compacted: Flags) -> Floats:
    """Return the mean size that was learnt, or else that of the whole log; NaN where that was compacted."""
    of_log = np.where(compacted, np.nan, sizes / np.maximum(stored, 1))
    return np.where(appended > 0, grown / np.maximum(appended, 1e-9), of_log)


def _median(windows: Rates) -> Rates:
    """Return the median of what is known of the windows; NaN where the newest is not known."""
    new, old, oldest = windows
    three = np.maximum(np.minimum(new, old), np.minimum(np.maximum(new, old), oldest))
    two = (new + np.where(np.isnan(old), oldest, old)) / 2
    median: Rates = np.where(~np.isnan(three), three, np.where(np.isnan(two), new, two))
    return median
