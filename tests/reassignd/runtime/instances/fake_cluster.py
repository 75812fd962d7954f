"""A broker with compacted topics of one partition, for instances in the process of the test."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from struct import pack
from typing import Any

from backends.state_topic.topic import SETTINGS
from common.error_codes import ErrorCode
from controller.model.configs import ResourceType
from protocol.messages.create_topics_request import CreateTopicsRequest
from protocol.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from protocol.messages.describe_configs_request import DescribeConfigsRequest
from protocol.messages.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from protocol.messages.describe_log_dirs_response import DescribeLogDirsResponse
from protocol.messages.fetch_request import FetchRequest
from protocol.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from protocol.messages.find_coordinator_request import FindCoordinatorRequest
from protocol.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from protocol.messages.init_producer_id_request import InitProducerIdRequest
from protocol.messages.init_producer_id_response import InitProducerIdResponse
from protocol.messages.list_offsets_request import ListOffsetsRequest
from protocol.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from protocol.messages.metadata_request import MetadataRequest
from protocol.messages.metadata_response import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from protocol.messages.produce_request import ProduceRequest
from protocol.messages.produce_response import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from protocol.record_batch import BatchRecord, Producer, encode_batch, read_batches
from tests.backends.client.fake import FakeBroker, broker

POLL_SECONDS = 0.02


@dataclass
class Topic:
    """The log of one partition."""

    name: str
    id: bytes
    batches: list[tuple[int, bytes]] = field(default_factory=list)
    end: int = 0
    epochs: dict[int, int] = field(default_factory=dict)

    def append(self, data: bytes) -> int:
        (batch,) = read_batches(data)
        producer, epoch = batch.header.producer
        if epoch < self.epochs.get(producer, -1):
            return ErrorCode.INVALID_PRODUCER_EPOCH
        self.epochs[producer] = epoch
        self.batches.append((self.end, pack(">q", self.end) + data[8:]))
        self.end += batch.header.last_offset - batch.header.offset + 1
        return ErrorCode.NONE


class FakeCluster:
    """Answers what an instance asks. The transaction coordinator has one producer id."""

    def __init__(self, fake: FakeBroker) -> None:
        self.broker, self.topics, self._epoch = fake, dict[str, Topic](), -1
        fake.describes(fake)
        fake.answers |= {
            MetadataRequest: self._metadata,
            CreateTopicsRequest: self._create,
            DescribeConfigsRequest: self._configs,
            DescribeLogDirsRequest: lambda _: DescribeLogDirsResponse(),
            FindCoordinatorRequest: lambda asked: FindCoordinatorResponse(
                coordinators=(Coordinator(asked.coordinator_keys[0], 1),)
            ),
            InitProducerIdRequest: self._new_epoch,
            ListOffsetsRequest: self._offsets,
            ProduceRequest: self._produce,
            FetchRequest: self._fetch,
        }

    def write(self, name: str, *records: BatchRecord) -> None:
        """Write as another program would, also into a topic that does not exist yet."""
        self._make(name).append(encode_batch(records, Producer(-1, -1), -1, 0))

    def delete(self, name: str) -> None:
        """Delete the topic."""
        del self.topics[name]

    def _make(self, name: str) -> Topic:
        return self.topics.setdefault(name, Topic(name, len(self.topics).to_bytes(15) + b"\1"))

    def _create(self, asked: CreateTopicsRequest) -> CreateTopicsResponse:
        return CreateTopicsResponse(
            topics=[CreatableTopicResult(self._make(topic.name).name) for topic in asked.topics]
        )

    def _metadata(self, asked: MetadataRequest) -> MetadataResponse:
        names = [topic.name or "" for topic in asked.topics or ()]
        rows = []
        for name in names if asked.topics is not None else self.topics:
            known = self.topics.get(name)
            if known is None:
                rows.append(MetadataResponseTopic(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name))
            else:
                partition = MetadataResponsePartition(0, 0, 1, 0, (1,), (1,))
                rows.append(MetadataResponseTopic(0, name, known.id, partitions=[partition]))
        return MetadataResponse(topics=rows)

    def _configs(self, asked: DescribeConfigsRequest) -> DescribeConfigsResponse:
        rows = [
            DescribeConfigsResult(
                0,
                None,
                resource.resource_type,
                resource.resource_name,
                [DescribeConfigsResourceResult(name, value) for name, value in SETTINGS.items()]
                if resource.resource_type == ResourceType.TOPIC
                else (),
            )
            for resource in asked.resources
        ]
        return DescribeConfigsResponse(results=rows)

    def _new_epoch(self, _: InitProducerIdRequest) -> InitProducerIdResponse:
        self._epoch += 1
        return InitProducerIdResponse(0, 0, 7, self._epoch)

    def _offsets(self, asked: ListOffsetsRequest) -> ListOffsetsResponse:
        (topic,) = asked.topics
        row = ListOffsetsPartitionResponse(0, 0, offset=0)
        return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(topic.name, [row])])

    def _produce(self, asked: ProduceRequest) -> ProduceResponse:
        (data,) = asked.topic_data
        known = self._find(data.name, data.topic_id)
        code = ErrorCode.UNKNOWN_TOPIC_ID
        if known is not None:
            code = ErrorCode(known.append(data.partition_data[0].records or b""))
        row = PartitionProduceResponse(0, code, 0)
        return ProduceResponse((TopicProduceResponse(data.name, data.topic_id, (row,)),))

    def _fetch(self, asked: FetchRequest) -> Any:
        later: asyncio.Future[FetchResponse] = asyncio.get_running_loop().create_future()

        def answer() -> None:
            if not later.done():
                later.set_result(self._fetched(asked))

        asyncio.get_running_loop().call_later(POLL_SECONDS, answer)
        return later

    def _fetched(self, asked: FetchRequest) -> FetchResponse:
        (wanted,) = asked.topics
        partition = wanted.partitions[0]
        known = self._find(wanted.topic, wanted.topic_id)
        if known is None:
            data = PartitionData(0, ErrorCode.UNKNOWN_TOPIC_ID)
        else:
            found = b"".join(batch for start, batch in known.batches if start >= partition.fetch_offset)
            data = PartitionData(0, 0, known.end, known.end, records=found)
        return FetchResponse(responses=[FetchableTopicResponse(wanted.topic, wanted.topic_id, [data])])

    def _find(self, name: str, identifier: bytes) -> Topic | None:
        return next(
            (topic for topic in self.topics.values() if topic.name == name or topic.id == identifier), None
        )


@asynccontextmanager
async def fake_cluster() -> AsyncIterator[FakeCluster]:
    """Run the broker during a `with` block."""
    async with broker() as fake:
        yield FakeCluster(fake)
