"""The hours of the day as records of the controller, so that restarts and take-overs keep them.

Each record has about a thousand partitions. When an hour has ended, new records are written, then those that
were written longest ago: at most ROWS_AN_HOUR partitions, so a cluster of a million is written once in half a
day. A rate is kept as one byte, on a scale of logarithms, to within five percent; sums over many partitions
are much closer.
"""

import base64
import logging
import math
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from backends.load.columns import Samples
from backends.load.layout import Layout, Topic
from backends.load.profile import HOURS, Profile
from common.off_loop import OffLoop
from controller.messages.events import HoursMeasured
from controller.model.load_hours import LoadHours
from controller.ports import SubmitEvent

log = logging.getLogger(__name__)

ROWS = 1_000
"""Partitions of a record, about: a record must fit into one znode, and into one record of a topic."""
RUN = 100
"""Partitions of a topic that always are in the same record."""
ROWS_AN_HOUR = 90_000
"""Partitions that are written when an hour has ended: 4.3 MB before they are compressed."""
MOST_AGE_MS = 7 * 24 * 3_600_000
"""Older records are not used, nor those that a clock so far ahead has dated."""

NONE, UNKNOWN = 0, 255
"""Codes of a rate of 0, and of one that is not known."""
STEPS = 253
LARGEST = 1e10
"""Bytes per second of the last code; the first one after `NONE` is 1."""
STEP = math.log(LARGEST) / STEPS

Codes = npt.NDArray[np.uint8]
Rates = npt.NDArray[np.float32]


class Run(NamedTuple):
    """Partitions of a topic, one after the other."""

    topic: Topic
    row: int
    """Of the first one."""
    first: int
    partitions: int


class KeptHours:
    """Reads and writes the records. `kept` are those of the controller, by number."""

    def __init__(self, kept: Mapping[int, LoadHours], submit: SubmitEvent, off_loop: OffLoop) -> None:
        self._kept, self._submit, self._off_loop = kept, submit, off_loop

    async def restore(self, now_ms: int) -> Samples:
        """Return samples with the hours of the records."""
        records = sorted(self._kept.values(), key=lambda each: each.written_ms)
        young = [each for each in records if abs(now_ms - each.written_ms) <= MOST_AGE_MS]
        return await self._off_loop.run(restored, young)

    async def keep(self, samples: Samples, now_ms: int) -> None:
        """Write the next records, after an hour has ended."""
        runs = await self._off_loop.run(self._by_number, samples.layout)
        written = 0
        for number in sorted(range(len(runs)), key=partial(self._written_ms, now_ms)):
            rows = sum(run.partitions for run in runs[number])
            if written and written + rows > ROWS_AN_HOUR:
                return
            record = await self._off_loop.run(packed, number, now_ms, runs[number], samples.profile)
            await self._submit(HoursMeasured(record))
            written += rows

    def _written_ms(self, now_ms: int, number: int) -> int:
        """Return when a record was written: 0 if its date is still to come, -1 if there is none.

        What moves to new records must be in them before it leaves the old ones.
        """
        record = self._kept.get(number)
        if record is None:
            return -1
        return record.written_ms if record.written_ms <= now_ms else 0

    def _by_number(self, layout: Layout) -> list[list[Run]]:
        """Return the runs of each record.

        The numbers are a power of two, and never fewer than before: when they double, half of each record
        moves to a new one, and everything else stays where it is.
        """
        least = max(1, layout.size // ROWS, *(number + 1 for number in self._kept))
        count = 1 << (least - 1).bit_length()
        numbered: list[list[Run]] = [[] for _ in range(count)]
        for topic, row in zip(layout.topics, layout.first.tolist(), strict=True):
            for first in range(0, topic.partitions, RUN):
                number = zlib.crc32(first.to_bytes(4), zlib.crc32(topic.key)) % count
                run = Run(topic, row + first, first, min(RUN, topic.partitions - first))
                numbered[number].append(run)
        return numbered


def packed(number: int, now_ms: int, runs: Sequence[Run], profile: Profile) -> LoadHours:
    """Return the record of these runs."""
    rows = np.concatenate([np.zeros(0, np.int64), *(np.arange(r.row, r.row + r.partitions) for r in runs)])
    columns = [each[:, rows] for each in (profile.bytes_in, profile.bytes_out) if each is not None]
    codes = b"".join(coded(each).tobytes() for each in columns)
    lines = (f"{run.topic.name}\t{run.topic.key.hex()}\t{run.first}\t{run.partitions}" for run in runs)
    return LoadHours(number, now_ms, "\n".join(lines), base64.b64encode(zlib.compress(codes, 1)).decode())


def restored(records: Iterable[LoadHours]) -> Samples:
    """Return samples with the hours of these records, of which later ones replace earlier ones."""
    read = [each for record in records if (each := _read(record)) is not None]
    topics: dict[bytes, Topic] = {}
    for runs, _ in read:
        for run in runs:
            known = topics.get(run.topic.key, run.topic)
            count = max(known.partitions, run.first + run.partitions)
            topics[run.topic.key] = known._replace(partitions=count)
    samples = Samples(Layout(list(topics.values())))
    numbers, first = {key: at for at, key in enumerate(topics)}, samples.layout.first.tolist()
    for runs, columns in read:
        starts = [first[numbers[run.topic.key]] + run.first for run in runs]
        rows = [np.arange(start, start + run.partitions) for start, run in zip(starts, runs, strict=True)]
        samples.profile.fill(np.concatenate(rows), *columns)
    return samples


def _read(record: LoadHours) -> tuple[list[Run], list[Rates]] | None:
    """Return the runs of a record and their rates, in and out; None if it cannot be read, or is empty."""
    if not record.topics:
        return None
    try:
        runs = [_run(line) for line in record.topics.splitlines()]
        rows = sum(run.partitions for run in runs)
        unpack = zlib.decompressobj()
        codes = unpack.decompress(base64.b64decode(record.hours, validate=True), 2 * HOURS * rows + 1)
        if len(codes) not in (HOURS * rows, 2 * HOURS * rows):
            raise ValueError(f"{len(codes)} rates of {rows} partitions")
        return runs, list(decoded(np.frombuffer(codes, np.uint8).reshape(-1, HOURS, rows)))
    except (ValueError, zlib.error) as error:
        log.warning("record %d of the load by hour cannot be read: %s", record.number, error)
        return None


def _run(line: str) -> Run:
    name, key, first, count = line.split("\t")
    if int(first) < 0 or int(count) < 1:
        raise ValueError(f"{count} partitions from {first}")
    return Run(Topic(name, bytes.fromhex(key), 0), 0, int(first), int(count))


def coded(rates: Rates) -> Codes:
    """Return the code of each rate."""
    steps = np.rint(np.log(np.clip(rates, 1.0, LARGEST)) / STEP) + 1
    known = np.where(rates < 0.5, NONE, steps)
    return np.where(np.isnan(rates), UNKNOWN, np.nan_to_num(known)).astype(np.uint8)


def decoded(codes: Codes) -> Rates:
    """Return the rate of each code: not a number if it is not known."""
    rates: Rates = np.exp((codes.astype(np.float32) - 1) * np.float32(STEP))
    rates[codes == NONE], rates[codes == UNKNOWN] = 0, np.nan
    return rates
