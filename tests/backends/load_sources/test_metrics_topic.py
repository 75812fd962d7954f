"""Bytes out and CPU from Cruise Control's metrics topic, whose records are written by their layout."""

import gzip
from collections.abc import Mapping, Sequence
from math import nan
from struct import pack, pack_into, unpack_from

import pytest
from google_crc32c import value as crc32c
from hypothesis import given
from hypothesis import strategies as st

from backends.client.errors import RequestTimedOutError
from backends.client.exchange import Encode
from backends.load.problems import Problems
from backends.load_sources import metrics_topic, reports
from backends.load_sources.metrics_topic import WINDOW_MS, MetricsTopic
from backends.load_sources.reports import CPU_OF_BROKER, TOPIC_IN, TOPIC_OUT, figures
from backends.load_sources.source import NOTHING, Expected, Figures
from common.off_loop import InlineExecutor
from protocol.apis import ApiKey
from protocol.codec.errors import DecodeError
from protocol.codec.wire import codec
from protocol.frames import ResponseFrame
from protocol.messages.fetch_request import FetchRequest
from protocol.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from protocol.messages.list_offsets_request import ListOffsetsRequest
from protocol.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from protocol.record_batch import NO_PRODUCER, BatchRecord, Producer, encode_batch, read_batches

NOW = 1_700_000_000_000
NAME = "__CruiseControlMetrics"


def of_topic(metric: int, broker: int, topic: str, value: float, at_ms: int = NOW) -> bytes:
    name = topic.encode()
    return pack(">bbbqii", 1, 0, metric, at_ms, broker, len(name)) + name + pack(">d", value)


def of_broker(metric: int, broker: int, value: float, at_ms: int = NOW) -> bytes:
    return pack(">bbbqid", 0, 0, metric, at_ms, broker, value)


def reported(broker: int, bytes_out: float, bytes_in: float, cpu: float = 0.25) -> list[bytes]:
    """Return what the reporter of a broker writes at once; most of it is not wanted."""
    size = pack(">bbbqii", 2, 0, 4, NOW, broker, 3) + b"hot" + pack(">id", 0, 1e9)
    wanted = (
        of_topic(TOPIC_OUT, broker, "hot_one", bytes_out),
        of_topic(TOPIC_IN, broker, "hot_one", bytes_in),
    )
    return [of_broker(0, broker, 1e9), *wanted, of_broker(CPU_OF_BROKER, broker, cpu), size]


def batch(values: Sequence[bytes | None], first: int = 0, codec_number: int = 1) -> bytes:
    """Return a batch as the reporter's producer writes it, compressed with gzip."""
    records = [BatchRecord(None, value) for value in values]
    plain = encode_batch(records, Producer(NO_PRODUCER, -1), -1, NOW)
    payload = gzip.compress(plain[61:]) if codec_number else plain[61:]
    made = bytearray(plain[:61] + payload)
    pack_into(">qi", made, 0, first, len(made) - 12)
    pack_into(">h", made, 21, codec_number)
    pack_into(">I", made, 17, crc32c(bytes(made[21:])))
    return bytes(made)


class Brokers:
    """Serve the partitions of the topic, each of which has some batches by their first offset."""

    def __init__(self, *partitions: Mapping[int, bytes]) -> None:
        self.partitions, self.error, self.is_late, self.is_throttled = partitions, 0, False, False
        self.stops_at: int | None = None
        self.asked: list[tuple[int, ApiKey]] = []

    async def exchange(
        self, broker: int, key: ApiKey, versions: range, encode: Encode, seconds: float
    ) -> ResponseFrame:
        self.asked.append((broker, key))
        if self.is_late:
            raise RequestTimedOutError("it did not answer within 30 s")
        version = versions[-1]
        body = memoryview(await encode(version))
        answer = self._first(body, version) if key == ApiKey.LIST_OFFSETS else self._batch(body, version)
        encoded = codec(type(answer), version).encode(answer)
        return ResponseFrame(key, version, 0, memoryview(encoded))

    def _first(self, body: memoryview, version: int) -> ListOffsetsResponse:
        [topic] = codec(ListOffsetsRequest, version).decode(body).topics
        [row] = topic.partitions
        assert row.timestamp == NOW - WINDOW_MS
        offset = min(self.partitions[row.partition_index], default=-1)
        rows = [ListOffsetsPartitionResponse(row.partition_index, self.error, offset=offset)]
        return ListOffsetsResponse(0, [ListOffsetsTopicResponse(topic.name, rows)])

    def _batch(self, body: memoryview, version: int) -> FetchResponse:
        [topic] = codec(FetchRequest, version).decode(body).topics
        [row] = topic.partitions
        log = self.partitions[row.partition]
        end = max((first + _size(each) for first, each in log.items()), default=0)
        data = b"" if self.stops_at == row.fetch_offset else log.get(row.fetch_offset, b"")
        found = PartitionData(row.partition, 0, high_watermark=end, records=data)
        rows = [] if self.is_throttled else [FetchableTopicResponse(topic.topic, partitions=[found])]
        return FetchResponse(responses=rows)


def _size(data: bytes) -> int:
    """Return the offsets of a batch."""
    return int(unpack_from(">i", data, 23)[0]) + 1 if data else 0


class Asked:
    """One measurement in a cluster of two brokers, which lead a partition of the topic each."""

    def __init__(self, *partitions: Mapping[int, bytes]) -> None:
        self.brokers, self.problems, self.name = Brokers(*partitions), Problems(), NAME
        self.leaders, self.topics = list(range(1, len(partitions) + 1)), ["hot.one", "cold"]
        self.bytes_in = {1: 50_000.0}

    async def told(self) -> Figures | None:
        source = MetricsTopic(
            lambda: self.name, lambda _: self.leaders, self.brokers.exchange, InlineExecutor()
        )
        assert source.setting == (self.name or None)
        expected = Expected({1: "a", 2: "b"}, self.bytes_in, self.topics)
        return await source.measure(expected, lambda: NOW, self.problems.add)

    async def line(self) -> str:
        assert await self.told() == NOTHING
        [line] = self.problems.lines()
        return line.removeprefix(f"bytes out and CPU are unknown: the topic {NAME}: ")


async def test_without_a_topic_nothing_is_asked() -> None:
    asked = Asked({0: b""})
    asked.name = ""
    assert (await asked.told(), asked.brokers.asked) == (None, [])


async def test_bytes_out_and_cpu_are_means_of_the_reports() -> None:
    first = {0: batch(reported(1, 100_000, 50_000, 0.25)), 5: batch(reported(1, 300_000, 40_000, 0.75), 5)}
    asked = Asked(first, {7: batch(reported(2, 7_000, 9), 7, codec_number=0)})
    told = await asked.told()
    assert told == Figures(
        {1: {"hot.one": 200_000.0}, 2: {"hot.one": 7_000.0}},
        {1: 0.5, 2: 0.25},
        [f"bytes out of broker 1, 2: the topic {NAME}", f"CPU of broker 1, 2: the topic {NAME}"],
    )
    assert list(asked.problems.lines()) == []
    assert {broker for broker, _ in asked.brokers.asked} == {1, 2}


async def test_a_broker_without_requests_for_topics_sends_nothing() -> None:
    asked = Asked({0: batch([*reported(1, 1, 50_000), of_broker(CPU_OF_BROKER, 2, 0.1)])})
    told = await asked.told()
    assert told is not None
    assert told.bytes_out == {1: {"hot.one": 1.0}, 2: {}}


async def test_old_reports_and_those_of_other_brokers_do_not_count() -> None:
    old = of_topic(TOPIC_OUT, 1, "hot_one", 9e9, NOW - WINDOW_MS - 1)
    asked = Asked({0: batch([old, *reported(1, 5, 50_000), *reported(7, 5, 5), None])})
    told = await asked.told()
    assert told is not None
    assert told.bytes_out == {1: {"hot.one": 5.0}}
    assert list(asked.problems.lines()) == [
        f"broker 2: bytes out unknown: the topic {NAME} has no reports of it in the last 5 minutes",
        f"broker 2: CPU unknown: the topic {NAME} has no reports of it in the last 5 minutes",
    ]


async def test_a_name_that_is_that_of_two_topics_tells_of_none() -> None:
    asked = Asked({0: batch([*reported(1, 5, 0), of_topic(TOPIC_OUT, 2, "cold", 3)])})
    asked.topics, asked.bytes_in = ["hot.one", "hot_one", "cold"], {}
    told = await asked.told()
    assert told is not None
    # Broker 1 may serve what broker 2 leads.
    assert {broker: str(topics) for broker, topics in told.bytes_out.items()} == {
        1: "{'hot.one': nan, 'hot_one': nan}",
        2: "{'cold': 3.0, 'hot.one': nan, 'hot_one': nan}",
    }


async def test_a_figure_that_cannot_be_is_unknown() -> None:
    values = [of_topic(TOPIC_OUT, 1, "hot_one", each) for each in (1, nan)]
    cpu = of_broker(CPU_OF_BROKER, 1, nan)
    asked = Asked({0: batch([*values, of_topic(TOPIC_OUT, 1, "cold", -1), cpu])})
    asked.bytes_in = {}
    told = await asked.told()
    assert told is not None
    assert {topic: str(rate) for topic, rate in told.bytes_out[1].items()} == {
        "hot.one": "nan",
        "cold": "nan",
    }
    assert f"broker 1: CPU unknown: the topic {NAME} says nan of 1" in asked.problems.lines()


async def test_a_broker_whose_reports_are_wrong_is_not_believed() -> None:
    asked = Asked({0: batch([*reported(1, 5, 500_000, cpu=7)])})
    told = await asked.told()
    assert told is not None
    assert (told.bytes_out, told.cpu) == ({}, {})
    source = f"the topic {NAME}"
    first, *_ = [each for each in asked.problems.lines() if "1: bytes out" in each]
    assert first == (
        f"broker 1: bytes out unknown: {source} has 500 kB/s in, where logs have grown by 50 kB/s"
    )
    assert f"broker 1: CPU unknown: {source} says 7 of 1" in asked.problems.lines()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (batch([b"no report"]), "a record that is no report of Cruise Control"),
        (batch([b"\1\1\3" + bytes(30)]), "a report of version 1; only 0 is known"),
        (batch([of_topic(TOPIC_OUT, 1, "hot", 1)[:-1]]), "a record that is no report of Cruise Control"),
        (batch([of_topic(TOPIC_OUT, 1, "hot", 1)], codec_number=3), "compressed with lz4; only gzip"),
        (batch([b""] * 5)[:-1] + b"x", "wrong checksum"),
    ],
)
async def test_what_is_no_report_is_one_line(data: bytes, reason: str) -> None:
    assert reason in await Asked({0: data}).line()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"error": 29}, "ListOffsets is refused (TOPIC_AUTHORIZATION_FAILED). Allow Describe on it"),
        ({"error": 6}, "ListOffsets: NOT_LEADER_OR_FOLLOWER"),
        ({"is_late": True}, "it did not answer within 30 s"),
        (
            {"is_throttled": True},
            "Fetch: no row in the answer, as for a user above its quota",
        ),
        ({"stops_at": 5}, "Fetch: no batch of partition 0 from offset 5 on"),
    ],
)
async def test_a_broker_that_does_not_tell_is_one_line(change: dict[str, int], reason: str) -> None:
    asked = Asked({0: batch(reported(1, 1, 1)), 5: batch(reported(1, 1, 1), 5)})
    vars(asked.brokers).update(change)
    assert await asked.line() == reason


@pytest.mark.parametrize(("leaders", "reason"), [([], "no such topic"), ([-1], "partition 0 has no leader")])
async def test_a_topic_that_cannot_be_read_is_one_line(leaders: list[int], reason: str) -> None:
    asked = Asked({0: b""})
    asked.leaders = leaders
    assert reason in await asked.line()


async def test_no_more_is_read_than_a_bounded_number_of_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics_topic, "MOST_BYTES", 100)
    line = await Asked({0: batch(reported(1, 1, 1))}).line()
    assert line == "more than 100 bytes are to be read"


async def test_no_more_is_read_than_a_bounded_number_of_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "MOST_REPORTS", 4)
    line = await Asked({0: batch(reported(1, 1, 1))}).line()
    assert line == "more than 4 reports are to be read"


@given(st.binary(max_size=80))
def test_no_record_is_misread(value: bytes) -> None:
    [found] = read_batches(batch([value]))
    try:
        read = list(figures(found))
    except DecodeError:
        return
    assert all(each.metric in (TOPIC_IN, TOPIC_OUT, CPU_OF_BROKER) for each in read)
