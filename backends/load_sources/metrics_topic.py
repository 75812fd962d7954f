"""The door to Cruise Control's metrics topic: bytes out by broker and topic, and the CPU of brokers."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from backends.client.errors import BrokerError
from backends.load_sources.reports import CPU_OF_BROKER, TOPIC_IN, TOPIC_OUT, Means
from backends.load_sources.told import (
    CPU,
    NOTHING,
    OUT,
    Doubts,
    Expected,
    Report,
    Told,
    Totals,
    fraction,
    match,
)
from common.error_codes import ErrorCode, error_name
from common.lists import grouped
from common.off_loop import OffLoop
from protocol.apis import ApiKey
from protocol.codec.errors import DecodeError
from protocol.codec.wire import codec
from protocol.frames import ResponseFrame
from protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.fetch_response import FetchResponse, PartitionData
from protocol.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol.messages.list_offsets_response import ListOffsetsResponse
from protocol.record_batch import read_batches

WINDOW_MS = 300_000
"""Of which figures are means."""
SECONDS = 60.0
"""For all requests of one measurement."""
TIMEOUT = 30.0
FETCH_BYTES = 1024 * 1024
MOST_BYTES, MOST_REPORTS = 64 * 1024 * 1024, 5_000_000
"""That are read in one measurement. Reports are small: a broker with 1,000 topics writes 0.1 MB a minute."""
OFFSETS_VERSIONS, FETCH_VERSIONS = range(4, 10), range(4, 13)
"""Later versions of Fetch have ids in place of names."""

Encode = Callable[[int], Awaitable[bytes]]
Exchange = Callable[[int, ApiKey, range, Encode, float], Awaitable[ResponseFrame]]
"""Returns a broker's answer to a request in one of these versions. Raises BrokerError."""
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

    async def measure(self, expected: Expected, wall_ms: Callable[[], int], report: Report) -> Told | None:
        """See `Source.measure`."""
        topic = self._configured()
        if not topic:
            return None
        try:
            async with asyncio.timeout(SECONDS):
                read = await self._read(topic, wall_ms() - WINDOW_MS)
        except TimeoutError:
            error = f"it was not read within {SECONDS:g} s"
        except (OSError, BrokerError, DecodeError) as reason:
            error = str(reason)
        else:
            return await self._off_loop.run(_told, topic, read, expected, report)
        report(f"{OUT} and {CPU} are unknown: the topic {topic}: {error}", None)
        return NOTHING

    async def _read(self, topic: str, since_ms: int) -> Means:
        leaders = self._leaders(topic)
        if not leaders:
            raise OSError("there is no such topic")
        means, left = Means(since_ms), MOST_BYTES
        for partition, leader in enumerate(leaders):
            if leader < 0:
                raise OSError(f"its partition {partition} has no leader")
            offset = await self._first(topic, partition, leader, since_ms)
            while offset >= 0:
                row = await self._fetch(topic, partition, leader, offset)
                data = row.records or b""
                left -= len(data)
                after = await self._off_loop.run(_add, means, data, offset)
                if left < 0 or means.read > MOST_REPORTS:
                    raise OSError(
                        f"{WINDOW_MS // 60_000} minutes of it have more than {MOST_BYTES:,} bytes or"
                        f" {MOST_REPORTS:,} reports"
                    )
                offset = after if offset < after < row.high_watermark else -1
        return means

    async def _first(self, topic: str, partition: int, leader: int, since_ms: int) -> int:
        """Return the offset of the first record since a time, -1 if there is none."""
        asked = ListOffsetsTopic(topic, (ListOffsetsPartition(partition, timestamp=since_ms),))
        request = ListOffsetsRequest(-1, topics=(asked,))
        answer = await self._ask(leader, ApiKey.LIST_OFFSETS, OFFSETS_VERSIONS, request, ListOffsetsResponse)
        [row] = answer.topics[0].partitions
        _check("ListOffsets", row.error_code, "Describe")
        return row.offset

    async def _fetch(self, topic: str, partition: int, leader: int, offset: int) -> PartitionData:
        row = FetchPartition(partition, fetch_offset=offset, partition_max_bytes=FETCH_BYTES)
        request = FetchRequest(max_bytes=FETCH_BYTES, topics=(FetchTopic(topic, partitions=(row,)),))
        answer = await self._ask(leader, ApiKey.FETCH, FETCH_VERSIONS, request, FetchResponse)
        _check("Fetch", answer.error_code, "Read")
        [found] = answer.responses[0].partitions
        _check("Fetch", found.error_code, "Read")
        return found

    async def _ask(self, broker: int, key: ApiKey, versions: range, request: object, answer: type[T]) -> T:
        async def body(version: int) -> bytes:
            return bytes(codec(type(request), version).encode(request))

        frame = await self._exchange(broker, key, versions, body, TIMEOUT)
        return await self._off_loop.run(codec(answer, frame.api_version).decode, frame.body)


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


def _told(topic: str, means: Means, expected: Expected, report: Report) -> Told:
    """Return the means of live brokers, as far as they are believed."""
    source = f"the topic {topic}"
    doubts, names = Doubts(source, report), _names(expected.topics)
    # A broker that reports nothing of topics has had no requests for them.
    nothing: Totals = {broker: {} for broker in means.brokers & expected.hosts.keys()}
    bytes_in, bytes_out = (
        nothing | _totals(means, metric, expected, names) for metric in (TOPIC_IN, TOPIC_OUT)
    )
    for broker in [each for each in bytes_out if not doubts.believes(each, bytes_in[each], expected)]:
        del bytes_out[broker]
    cpu = {
        broker: fraction(found.mean)
        for broker, _, found in means.of(CPU_OF_BROKER)
        if broker in expected.hosts and doubts.is_fraction(broker, (found.least, found.most))
    }
    matched = [*match(OUT, list(bytes_out), source), *match(CPU, list(cpu), source)]
    told = Told(bytes_out, cpu, matched)
    missing = f"has no reports of it in the last {WINDOW_MS // 60_000} minutes"
    doubts.report_unknown(told, expected, {OUT: missing, CPU: missing})
    return told


def _names(topics: Sequence[str]) -> Mapping[str, str]:
    """Return the topic of each name in reports, without names of several topics."""
    names = grouped((each.replace(".", "_"), each) for each in topics)
    return {name: meant[0] for name, meant in names.items() if len(meant) == 1}


def _totals(means: Means, metric: int, expected: Expected, names: Mapping[str, str]) -> Totals:
    totals: Totals = {}
    for broker, topic, found in means.of(metric):
        name = names.get(topic.replace(".", "_"))
        if name is not None and broker in expected.hosts and found.least >= 0:
            totals.setdefault(broker, {})[name] = found.mean
    return totals
