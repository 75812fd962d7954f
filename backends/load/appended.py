"""The size of the records of compacted topics, from batches that were appended lately (Fetch).

What is left of a compacted log tells nothing of what was written. But the segment that is being written is
never compacted. So batches are read from a random place among the records of the last interval, or else the
last batch: those that still have all their records tell how many bytes a record takes.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from backends.client.errors import BrokerError
from backends.client.exchange import ask
from backends.load.asking import Brokers
from backends.load.columns import Answer, Samples
from backends.load.problems import Problems, refusal
from common.error_codes import ErrorCode, error_name
from common.lists import grouped
from common.off_loop import OffLoop
from protocol.codec.errors import DecodeError
from protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.fetch_response import FetchResponse
from protocol.record_batch import whole_batches

VERSIONS = range(4, 13)
"""Later ones have ids in place of names."""
MOST = 128
"""Partitions of a broker that are read in a round."""
CHUNK = 32
"""Partitions in a request."""
ALONE = 16
"""Partitions of a broker whose last batch is read in a round, each by a request of its own."""
FEW, PART_BYTES, PART_BYTES_OF_FEW = 200, 65_536, 262_144
"""Bytes of a partition; more where the sizes of few records are known. A larger batch is sent only to a
request for nothing else (KIP-74)."""

Whole = dict[int, tuple[int, int]]
"""By row, the bytes and the number of the records in whole batches: `NOTHING` after an error."""
NOTHING = 0, 0
NO_BATCH = "no whole batch of some compacted topics was found: their bytes in are unknown"


class Place(NamedTuple):
    """Where to read."""

    row: int
    topic: str
    partition: int
    offset: int
    last: int
    """The last offset of the partition."""
    size: int
    """Bytes to read."""


class Appended:
    """Reads batches of the compacted topics that brokers lead."""

    def __init__(self, brokers: Brokers, off_loop: OffLoop, timeout: float) -> None:
        self._brokers, self._off_loop, self._timeout = brokers, off_loop, timeout
        self._random = np.random.default_rng()

    async def measure(self, answer: Answer, samples: Samples, problems: Problems) -> None:
        """Add to `samples` what batches tell of the size of records, and to `problems` what they do not."""
        places = await self._off_loop.run(places_of, answer, samples, self._random)
        found = Whole()
        try:
            for start in range(0, len(places), CHUNK):
                found |= await self._read(answer.broker, places[start : start + CHUNK], problems)
            # Their batches are larger than what was asked for, or have lost records by now.
            others = [each for each in places if each.row not in found][:ALONE]
            for each in others:
                found |= await self._read(answer.broker, [each._replace(offset=each.last)], problems)
            if any(each.row not in found and not samples.appended[each.row] for each in others):
                problems.add(NO_BATCH, answer.broker)
        except (BrokerError, DecodeError) as error:
            problems.add(f"bytes in of compacted topics are unknown or less exact: {error}", answer.broker)
        # An error tells nothing: what is known would fade away while it lasts.
        if told := {row: sizes for row, sizes in found.items() if sizes != NOTHING}:
            bytes_of, records = np.array(list(told.values()), np.float64).T
            await self._off_loop.run(samples.learn, np.array(list(told), np.int64), bytes_of, records)

    async def _read(self, broker: int, places: Sequence[Place], problems: Problems) -> Whole:
        exchange, request = self._brokers.exchange, request_of(places)
        answer = await ask(exchange, self._off_loop, broker, request, VERSIONS, self._timeout)
        codes = {row.error_code for each in answer.responses for row in each.partitions} | {answer.error_code}
        # Other errors are those of a leader that has changed, or of records that were deleted.
        if (code := ErrorCode.TOPIC_AUTHORIZATION_FAILED) in codes:
            problems.add(refusal("Fetch of compacted topics", code, "Read on them", "their bytes in"), broker)
        elif answer.error_code:
            problems.add(f"bytes in of compacted topics: Fetch: {error_name(answer.error_code)}", broker)
        return await self._off_loop.run(whole_of, answer, places)


def places_of(answer: Answer, samples: Samples, random: np.random.Generator) -> list[Place]:
    """Return where to read: first what is not known yet, then what has most bytes in this interval."""
    at = np.flatnonzero(samples.compacted[answer.rows] & (answer.earliest >= 0))
    rows, latest = answer.rows[at], answer.latest[at]
    records = samples.appended[rows]
    is_known = records > 0
    mean = np.where(is_known, samples.grown[rows] / np.maximum(records, 1e-9), 1.0)
    # Where nothing is known the last batch is read, however old it is.
    before = np.where(samples.latest[rows] >= 0, samples.latest[rows], latest)
    first = np.maximum(np.where(is_known, before, latest - 1), answer.earliest[at])
    count = latest - first
    order = np.lexsort((-count * mean, is_known))
    chosen = np.sort(order[count[order] > 0][:MOST])
    size = np.where(records < FEW, PART_BYTES_OF_FEW, PART_BYTES)
    fitting = size / np.maximum(mean, 1.0)
    offsets = first + (random.random(len(rows)) * np.maximum(count - fitting, 0)).astype(np.int64)
    return [
        Place(row, *samples.layout.name(row), int(offsets[each]), int(latest[each]) - 1, int(size[each]))
        for each, row in zip(chosen.tolist(), rows[chosen].tolist(), strict=True)
    ]


def request_of(places: Sequence[Place]) -> FetchRequest:
    """Return the request for these places. The broker waits for nothing."""
    rows = grouped(
        (each.topic, FetchPartition(each.partition, fetch_offset=each.offset, partition_max_bytes=each.size))
        for each in places
    )
    topics = [FetchTopic(topic, partitions=partitions) for topic, partitions in rows.items()]
    return FetchRequest(max_bytes=sum(each.size for each in places), topics=topics)


def whole_of(answer: FetchResponse, places: Sequence[Place]) -> Whole:
    """Return what whole batches tell of each row, without rows that have none."""
    asked = {(each.topic, each.partition): each for each in places}
    found = Whole()
    for topic in answer.responses:
        for row in topic.partitions:
            place = asked.get((topic.topic, row.partition_index))
            size, records = whole_batches(row.records or b"")
            if place is not None and (records or row.error_code):
                found[place.row] = size, records
    return found
