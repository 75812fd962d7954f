"""The door to Cruise Control's metrics topic: bytes out by broker and topic, and the CPU of brokers."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from math import isfinite, nan
from typing import Protocol, TypeVar

from backends.client.errors import BrokerError
from backends.client.exchange import Exchange, ask
from backends.load_sources.reports import CPU_OF_BROKER, TOPIC_IN, TOPIC_OUT, Means
from backends.load_sources.source import (
    CPU,
    NOTHING,
    OUT,
    Doubts,
    Expected,
    Figures,
    Report,
    Totals,
    fraction,
    match,
)
from common.error_codes import ErrorCode, error_name
from common.lists import grouped
from common.off_loop import OffLoop
from protocol.codec.errors import DecodeError
from protocol.codec.schema import Request, Response
from protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.fetch_response import PartitionData
from protocol.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol.record_batch import read_batches

WINDOW_MS = 300_000
"""Of which figures are means."""
SECONDS = 60.0
"""For all requests of one measurement."""
TIMEOUT = 30.0
FETCH_BYTES = 1024 * 1024
MOST_BYTES = 64 * 1024 * 1024
"""That are read in one measurement. Reports are small: a broker with 1,000 topics writes 0.1 MB a minute."""
OFFSETS_VERSIONS, FETCH_VERSIONS = range(4, 10), range(4, 13)
"""Later versions of Fetch have ids in place of names."""

Names = Mapping[str, Sequence[str]]
"""The topics by their name in reports, which several can have."""
T = TypeVar("T")


class Leaders(Protocol):
    """Tells the leader of each partition of a topic, -1 for none."""

    def __call__(self, topic: str) -> Sequence[int]:
        """Return nothing for a topic that does not exist."""
        ...


class MetricsTopic:
    """Implements `Source`. `configured` returns the name of the topic, empty where none is set."""

    def __init__(
        self, configured: Callable[[], str], leaders: Leaders, exchange: Exchange, off_loop: OffLoop
    ) -> None:
        self._configured, self._leaders = configured, leaders
        self._exchange, self._off_loop = exchange, off_loop

    @property
    def setting(self) -> str | None:
        """See `Source.setting`."""
        return self._configured() or None

    async def measure(self, expected: Expected, wall_ms: Callable[[], int], report: Report) -> Figures | None:
        """See `Source.measure`."""
        topic = self._configured()
        if not topic:
            return None
        try:
            async with asyncio.timeout(SECONDS):
                names = await self._off_loop.run(_names, expected.topics)
                means = Means(wall_ms() - WINDOW_MS, expected.hosts, names)
                await self._read(topic, means)
        except TimeoutError:
            error = f"it was not read within {SECONDS:g} s"
        except (OSError, BrokerError, DecodeError) as reason:
            error = str(reason)
        else:
            return await self._off_loop.run(_figures, topic, means, expected, names, report)
        report(f"{OUT} and {CPU} are unknown: the topic {topic}: {error}", None)
        return NOTHING

    async def _read(self, topic: str, means: Means) -> None:
        """Add all reports of the topic. Raises OSError if some cannot be read: a part would mislead."""
        leaders = self._leaders(topic)
        if not leaders:
            raise OSError("there is no such topic")
        left = MOST_BYTES
        for partition, leader in enumerate(leaders):
            if leader < 0:
                raise OSError(f"its partition {partition} has no leader")
            offset = await self._first(topic, partition, leader, means.since_ms)
            while offset >= 0:
                row = await self._fetch(topic, partition, leader, offset)
                data = row.records or b""
                left -= len(data)
                if left < 0:
                    raise OSError(f"more than {MOST_BYTES:,} bytes are to be read")
                after = await self._off_loop.run(_add, means, data, offset)
                if after <= offset < row.high_watermark:
                    raise OSError(f"Fetch: no batch of partition {partition} from offset {offset} on")
                offset = after if after < row.high_watermark else -1

    async def _first(self, topic: str, partition: int, leader: int, since_ms: int) -> int:
        """Return the offset of the first record since a time, -1 if there is none."""
        asked = ListOffsetsTopic(topic, (ListOffsetsPartition(partition, timestamp=since_ms),))
        request = ListOffsetsRequest(-1, topics=(asked,))
        answer = await self._ask(leader, request, OFFSETS_VERSIONS)
        row = _only("ListOffsets", [row for each in answer.topics for row in each.partitions])
        _check("ListOffsets", row.error_code, "Describe")
        return row.offset

    async def _fetch(self, topic: str, partition: int, leader: int, offset: int) -> PartitionData:
        row = FetchPartition(partition, fetch_offset=offset, partition_max_bytes=FETCH_BYTES)
        request = FetchRequest(max_bytes=FETCH_BYTES, topics=(FetchTopic(topic, partitions=(row,)),))
        answer = await self._ask(leader, request, FETCH_VERSIONS)
        _check("Fetch", answer.error_code, "Read")
        found = _only("Fetch", [row for each in answer.responses for row in each.partitions])
        _check("Fetch", found.error_code, "Read")
        return found

    async def _ask(self, broker: int, request: Request[Response], versions: range) -> Response:
        return await ask(self._exchange, self._off_loop, broker, request, versions, TIMEOUT)


def _only(request: str, rows: Sequence[T]) -> T:
    """Return the row of the partition that was asked for."""
    if len(rows) != 1:
        raise OSError(f"{request}: no row in the answer, as for a user above its quota")
    return rows[0]


def _check(request: str, code: int, right: str) -> None:
    if code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        raise OSError(f"{request} is refused ({error_name(code)}). Allow {right} on it")
    if code:
        raise OSError(f"{request}: {error_name(code)}")


def _add(means: Means, data: bytes, offset: int) -> int:
    """Add the figures of some batches, and return the offset after them. Raises DecodeError."""
    for batch in read_batches(data):
        offset = batch.header.last_offset + 1
        if not batch.header.control:
            means.add(batch)
    return offset


def _figures(topic: str, means: Means, expected: Expected, names: Names, report: Report) -> Figures:
    """Return the means of live brokers, as far as they are believed."""
    source = f"the topic {topic}"
    doubts, bytes_in = Doubts(source, report), _totals(means, TOPIC_IN)
    # What several topics are called tells of none of them, wherever it is reported.
    unclear = dict.fromkeys((each for topics in names.values() if len(topics) > 1 for each in topics), nan)
    bytes_out = {
        broker: {names[name][0]: rate for name, rate in found.items() if name in names} | unclear
        for broker, found in _totals(means, TOPIC_OUT).items()
        if doubts.believes(broker, bytes_in[broker], expected)
    }
    cpu = {
        broker: fraction(found.mean)
        for broker, _, found in means.of(CPU_OF_BROKER)
        if doubts.is_fraction(broker, (found.mean, found.least, found.most))
    }
    matched = [*match(OUT, list(bytes_out), source), *match(CPU, list(cpu), source)]
    figures = Figures(bytes_out, cpu, matched)
    missing = f"has no reports of it in the last {WINDOW_MS // 60_000} minutes"
    doubts.report_unknown(figures, expected, {OUT: missing, CPU: missing})
    return figures


def _names(topics: Sequence[str]) -> Names:
    return grouped((each.replace(".", "_"), each) for each in topics)


def _totals(means: Means, metric: int) -> Totals:
    """Return a figure by broker and name in reports.

    A broker that reports nothing of topics has had no requests for them.
    """
    totals: Totals = {broker: {} for broker in means.brokers}
    for broker, name, found in means.of(metric):
        totals[broker][name] = found.mean if found.least >= 0 and isfinite(found.mean) else nan
    return totals
