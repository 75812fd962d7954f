"""The size of the records of compacted topics, from the batches that a broker sends."""

from collections.abc import Mapping, Sequence

import numpy as np

from backends.client.exchange import Encode
from backends.load.appended import CHUNK, MOST, Appended
from backends.load.columns import Answer, Samples
from backends.load.layout import Layout, Topic
from backends.load.problems import Problems
from common.error_codes import ErrorCode
from common.off_loop import InlineExecutor
from protocol.apis import ApiKey
from protocol.codec.wire import codec
from protocol.frames import ResponseFrame
from protocol.messages.fetch_request import FetchRequest
from protocol.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from tests.protocol.batches import batch


class Broker:
    """Sends of each partition what `logs` has, by offset, and keeps the requests."""

    def __init__(self, logs: Mapping[int, Mapping[int, bytes]], error: int = 0) -> None:
        self.logs, self.error, self.asked = logs, error, list[FetchRequest]()

    async def exchange(
        self, broker: int, key: ApiKey, versions: range, encode: Encode, seconds: float
    ) -> ResponseFrame:
        version = versions[-1]
        request = codec(FetchRequest, version).decode(memoryview(await encode(version)))
        self.asked.append(request)
        rows = [
            PartitionData(
                each.partition, self.error, records=self.logs[each.partition].get(each.fetch_offset, b"")
            )
            for each in request.topics[0].partitions
        ]
        answer = FetchResponse(responses=[FetchableTopicResponse(request.topics[0].topic, partitions=rows)])
        return ResponseFrame(key, version, 0, memoryview(codec(FetchResponse, version).encode(answer)))

    async def close(self) -> None: ...


class Read:
    """A compacted topic, whose partitions have 0 to 9 as their offsets."""

    def __init__(self, broker: Broker, partitions: int = 1) -> None:
        self.broker, self.problems = broker, Problems()
        self.samples = Samples(Layout([Topic("a", b"a", partitions)]))
        self.samples.tell_compacted(np.array([1], np.int8))
        self.rows = np.arange(partitions)

    async def now(self, latest: int = 10) -> "Read":
        appended = Appended(self.broker, InlineExecutor(), 1.0)
        offsets = np.full(len(self.rows), latest), np.zeros(len(self.rows), np.int64)
        answer = Answer(1, self.rows, np.full(len(self.rows), 100), *offsets, 0.0, 1.0)
        await appended.measure(answer, self.samples, self.problems)
        return self

    def means(self) -> Sequence[float]:
        self.samples.latest[:], self.samples.earliest[:], self.samples.size[:] = 10, 0, 100
        means: Sequence[float] = self.samples.mean_record().tolist()
        return means


async def test_of_what_is_not_known_the_last_batch_is_read() -> None:
    last = batch(8, 300, 300)
    read = await Read(Broker({0: {9: last}})).now()
    assert read.means() == [len(last) / 2]


async def test_a_place_without_whole_batches_is_followed_by_the_last_batch() -> None:
    last = batch(9, 300)
    broker = Broker({0: {each: batch(each, 300, kept=0) for each in range(9)} | {9: last}})
    read = Read(broker)
    read.samples.learn(read.rows, np.array([1_000_000]), np.array([1]))
    read.samples.latest[:] = 8
    await read.now()
    assert [each.topics[0].partitions[0].fetch_offset for each in broker.asked][-1] == 9
    assert 300 < read.means()[0] < 1_000_000


async def test_only_what_was_appended_since_the_last_time_is_read() -> None:
    read = Read(Broker({0: {}}))
    read.samples.learn(read.rows, np.array([100]), np.array([1]))
    read.samples.latest[:] = 10
    assert (await read.now()).broker.asked == []
    await read.now(latest=11)
    assert read.broker.asked[0].topics[0].partitions[0].fetch_offset == 10


async def test_less_is_read_where_the_sizes_of_many_records_are_known() -> None:
    sizes = []
    for records in (10, 1_000):
        read = Read(Broker({0: {}}))
        read.samples.learn(read.rows, np.array([100 * records]), np.array([records]))
        read.samples.latest[:] = 9
        await read.now()
        sizes.append(read.broker.asked[0].topics[0].partitions[0].partition_max_bytes)
    assert sizes == [262_144, 65_536]


async def test_topics_that_are_not_compacted_are_not_read() -> None:
    read = Read(Broker({0: {}}))
    read.samples.tell_compacted(np.array([0], np.int8))
    assert (await read.now()).broker.asked == []


async def test_a_broker_is_asked_for_a_bounded_number_of_partitions() -> None:
    broker = Broker({each: {9: batch(9, 300)} for each in range(2 * MOST)})
    read = await Read(broker, 2 * MOST).now()
    assert [len(each.topics[0].partitions) for each in broker.asked] == [CHUNK] * (MOST // CHUNK)
    await read.now()
    assert all(each > 300 for each in read.means())


async def test_a_topic_without_whole_batches_is_a_problem() -> None:
    read = await Read(Broker({0: {9: batch(9, 300, kept=0)}})).now()
    assert list(read.problems.lines()) == [
        "broker 1: no whole batch of some compacted topics was found: their bytes in are unknown"
    ]


async def test_a_refusal_names_the_right() -> None:
    read = await Read(Broker({0: {9: b""}}, ErrorCode.TOPIC_AUTHORIZATION_FAILED)).now()
    [line] = read.problems.lines()
    assert line == (
        "broker 1: Fetch of compacted topics is refused (TOPIC_AUTHORIZATION_FAILED): their bytes in are"
        " unknown. Allow Read on them"
    )
    assert np.isnan(read.means()).all()


async def test_what_is_known_is_kept_while_a_broker_refuses() -> None:
    read = Read(Broker({0: {}}, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
    read.samples.learn(read.rows, np.array([1_000]), np.array([10]))
    for latest in range(10, 500):
        read.samples.latest[:] = latest - 1
        await read.now(latest)
    assert len(read.broker.asked) == 490
    assert read.means() == [100]
