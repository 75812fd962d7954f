"""The state topic in a Kafka cluster: Produce, Fetch and the transaction coordinator.

The log is addressed by the topic's id where the broker can do that: a topic that was deleted and made again
has the same name, and would accept records after an empty history. Transactions use versions before KIP-890's
second part, in which each transaction raises the epoch.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from time import time_ns
from typing import TypeVar

from backends.client.errors import BrokerError
from backends.state_topic.log import FencedError, Fetched, TopicReplacedError
from backends.upstream.client import UpstreamClient
from common.error_codes import ErrorCode, error_name
from protocol.codec.schema import ZERO_UUID, Request, Response
from protocol.messages.add_partitions_to_txn_request import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from protocol.messages.end_txn_request import EndTxnRequest
from protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.find_coordinator_request import FindCoordinatorRequest
from protocol.messages.init_producer_id_request import InitProducerIdRequest
from protocol.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from protocol.messages.metadata_response import MetadataResponseTopic
from protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.record_batch import BatchRecord, Producer, encode_batch, read_batches

log = logging.getLogger(__name__)

FETCH_WAIT_MS, FETCH_BYTES = 250, 200_000
REQUEST_SECONDS = 3.0
"""Timeout of a request, which is then repeated."""

MOST_ASKED = 5
"""Brokers asked whether the topic exists, when one does not know it."""

EARLIEST = -2
"""Timestamp of ListOffsets for the first offset."""

TRANSACTION_TIMEOUT_MS = 60_000
TRANSACTION_KEY = 1
"""Key type of FindCoordinator."""

LAST_EXPLICIT_PRODUCE, LAST_EXPLICIT_ADD, LAST_EXPLICIT_END = 11, 3, 4
"""The last versions of Produce, AddPartitionsToTxn and EndTxn before KIP-890's second part."""

FENCING = frozenset(
    {
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    }
)
REPLACED = frozenset({ErrorCode.INCONSISTENT_TOPIC_ID, ErrorCode.OFFSET_OUT_OF_RANGE})

TOPIC_RIGHTS = {
    "Metadata": "DESCRIBE",
    "Fetch": "READ",
    "ListOffsets": "DESCRIBE",
    "Produce": "WRITE",
    "AddPartitionsToTxn": "WRITE",
}
"""The right on the topic that a request needs."""
USUAL = frozenset({ErrorCode.CONCURRENT_TRANSACTIONS})
"""Errors of every healthy cluster: the markers of the last transaction are being written."""

Result = TypeVar("Result")


class KafkaStateLog:
    """Implements `StateLog` for partition 0 of `topic`, whose name is the transactional id as well.

    `reads` is a client of its own, because a fetch that waits for records delays the requests behind it.
    """

    def __init__(self, topic: str, writes: UpstreamClient, reads: UpstreamClient) -> None:
        self._topic, self._writes, self._reads = topic, writes, reads
        self._id = ZERO_UUID
        self._leader = self._coordinator = -1
        """-1: to be found by the next request."""
        self._outdated: set[UpstreamClient] = set()
        """Clients whose list of brokers may have former addresses, because a broker did not answer."""
        self._failing: dict[str, str] = {}
        """The last error of each kind of request that was not answered since."""

    async def fetch(self, offset: int, *, wait: bool = True) -> Fetched:
        """See `StateLog.fetch`. Raises TopicReplacedError if the topic is another one, or was cut off."""

        async def attempt() -> Fetched:
            leader = await self._find_leader(self._reads)
            partition = FetchPartition(0, fetch_offset=offset, partition_max_bytes=FETCH_BYTES)
            topics = (FetchTopic(self._topic, self._id, (partition,)),)
            wait_ms = FETCH_WAIT_MS if wait else 0
            request = FetchRequest(max_wait_ms=wait_ms, min_bytes=1, max_bytes=FETCH_BYTES, topics=topics)
            response = await self._reads.ask(request, leader, timeout_seconds=REQUEST_SECONDS)
            self._check(response.error_code, "Fetch")
            data = response.responses[0].partitions[0]
            self._check(data.error_code, "Fetch")
            return Fetched(list(read_batches(data.records or b"")), data.high_watermark)

        return await self._answered("Fetch", attempt)

    async def start_offset(self) -> int:
        """Return the first offset that the log still has. Raises OSError and TopicReplacedError."""

        async def attempt() -> int:
            leader = await self._find_leader(self._reads)
            topics = (ListOffsetsTopic(self._topic, (ListOffsetsPartition(0, timestamp=EARLIEST),)),)
            response = await self._reads.ask(
                ListOffsetsRequest(-1, topics=topics), leader, timeout_seconds=REQUEST_SECONDS
            )
            row = response.topics[0].partitions[0]
            self._check(row.error_code, "ListOffsets")
            return row.offset

        return await self._answered("ListOffsets", attempt)

    async def new_epoch(self) -> Producer:
        """See `StateLog.new_epoch`."""

        async def attempt() -> Producer:
            response = await self._ask_coordinator(InitProducerIdRequest(self._topic, TRANSACTION_TIMEOUT_MS))
            self._check(response.error_code, "InitProducerId")
            return Producer(response.producer_id, response.producer_epoch)

        return await self._answered("InitProducerId", attempt)

    async def append(
        self,
        records: Sequence[BatchRecord],
        producer: Producer,
        sequence: int,
        *,
        transactional: bool = False,
    ) -> None:
        """See `StateLog.append`."""
        data = encode_batch(records, producer, sequence, time_ns() // 1_000_000, transactional)

        async def attempt() -> None:
            leader = await self._find_leader(self._writes)
            topics = (TopicProduceData(self._topic, self._id, (PartitionProduceData(0, data),)),)
            identifier = self._topic if transactional else None
            request = ProduceRequest(identifier, -1, round(REQUEST_SECONDS * 1000), topics)
            version = LAST_EXPLICIT_PRODUCE if transactional else None
            response = await self._writes.ask(
                request, leader, version=version, timeout_seconds=REQUEST_SECONDS
            )
            code = response.responses[0].partition_responses[0].error_code
            if code == ErrorCode.INVALID_TXN_STATE and not transactional:
                # The markers of the last transaction are being written: until then Kafka takes no other
                # batches.
                raise _UsualError(f"Produce on the state topic {self._topic}: {error_name(code)}")
            if code != ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
                self._check(code, "Produce")

        await self._answered("Produce", attempt)

    async def begin_transaction(self, producer: Producer) -> None:
        """See `StateLog.begin_transaction`."""

        async def attempt() -> None:
            topics = (AddPartitionsToTxnTopic(self._topic, (0,)),)
            request = AddPartitionsToTxnRequest((), self._topic, *producer, topics)
            response = await self._ask_coordinator(request, LAST_EXPLICIT_ADD)
            row = response.results_by_topic_v3_and_below[0].results_by_partition[0]
            self._check(row.partition_error_code, "AddPartitionsToTxn")

        await self._answered("AddPartitionsToTxn", attempt)

    async def end_transaction(self, producer: Producer) -> None:
        """See `StateLog.end_transaction`."""

        async def attempt() -> None:
            request = EndTxnRequest(self._topic, *producer, committed=True)
            response = await self._ask_coordinator(request, LAST_EXPLICIT_END)
            self._check(response.error_code, "EndTxn")

        await self._answered("EndTxn", attempt)

    async def _find_leader(self, client: UpstreamClient) -> int:
        """Return the leader's id, which `client` can reach."""
        if self._leader < 0:
            row = await self._ask_metadata(client)
            if row.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and self._id != ZERO_UUID:
                row = await self._ask_others(client)
            self._check(row.error_code, "Metadata")
            if self._id not in (ZERO_UUID, row.topic_id):
                raise TopicReplacedError(f"the state topic {self._topic} was deleted and made again")
            leader = row.partitions[0].leader_id
            if leader < 0:
                raise OSError(f"the partition of the state topic {self._topic} has no leader")
            self._id, self._leader = row.topic_id, leader
        return await self._known(client, self._leader)

    async def _ask_metadata(self, client: UpstreamClient, broker: int | None = None) -> MetadataResponseTopic:
        # By name: a topic that was made again must be noticed, not just missed.
        topics = (MetadataRequestTopic(name=self._topic),)
        request = MetadataRequest(topics, allow_auto_topic_creation=False)
        (row,) = (await client.ask(request, broker, timeout_seconds=REQUEST_SECONDS)).topics
        return row

    async def _ask_others(self, client: UpstreamClient) -> MetadataResponseTopic:
        """Return the metadata of a broker that knows the topic.

        A broker that has just started may not know a topic that exists. Raises TopicReplacedError if all
        know of none, and BrokerError if one did not answer.
        """
        await client.refresh()
        live = sorted(broker.id for broker in client.brokers.values() if not broker.fenced)
        asking = (self._ask_metadata(client, broker) for broker in live[:MOST_ASKED])
        answers = await asyncio.gather(*asking, return_exceptions=True)
        rows = [answer for answer in answers if not isinstance(answer, BaseException)]
        for row in rows:
            if row.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                return row
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
        raise TopicReplacedError(f"the state topic {self._topic} was deleted")

    async def _ask_coordinator(self, request: Request[Response], version: int | None = None) -> Response:
        """Return the response of the transaction coordinator."""
        if self._coordinator < 0:
            search = FindCoordinatorRequest(key_type=TRANSACTION_KEY, coordinator_keys=(self._topic,))
            (found,) = (await self._writes.ask(search, timeout_seconds=REQUEST_SECONDS)).coordinators
            self._check(found.error_code, "FindCoordinator")
            self._coordinator = found.node_id
        coordinator = await self._known(self._writes, self._coordinator)
        return await self._writes.ask(request, coordinator, version=version, timeout_seconds=REQUEST_SECONDS)

    async def _known(self, client: UpstreamClient, broker: int) -> int:
        if broker not in client.brokers or client in self._outdated:
            self._outdated.discard(client)  # If this fails, it is outdated again.
            await client.refresh()
        return broker

    def _check(self, code: int, api: str) -> None:
        """Raise for an error: FencedError and TopicReplacedError end the log's use, OSError is repeated."""
        if code == ErrorCode.NONE:
            return
        topic = self._topic
        reason = f"{api} on the state topic {topic}: {error_name(code)}"
        if code in FENCING:
            raise FencedError(f"{reason}; another instance has claimed the transactional id {topic}")
        if code == ErrorCode.INVALID_TXN_STATE:
            # To repeat it is useless: the coordinator has ended the transaction, or lost it.
            raise FencedError(f"{reason}; the coordinator does not know the transaction any more")
        if code in REPLACED:
            raise TopicReplacedError(f"{reason}; the topic has lost records")
        if code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            reason += f"; grant {TOPIC_RIGHTS[api]} on the topic to the user of reassignd"
        if code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
            reason += f"; grant WRITE and DESCRIBE on the transactional id {topic} to the user of reassignd"
        if code in USUAL:
            raise _UsualError(reason)
        raise OSError(reason)

    async def _answered(self, api: str, attempt: Callable[[], Awaitable[Result]]) -> Result:
        """Run the attempt; find leader and coordinator again after a failure. BrokerError becomes OSError.

        A failure is logged once: callers repeat the request until it is answered.
        """
        try:
            result = await attempt()
        except (BrokerError, OSError, IndexError, ValueError) as error:
            if isinstance(error, IndexError | ValueError):
                error = OSError(
                    f"the answer to {api} on the state topic {self._topic} makes no sense: {error}"
                )
            self._leader = self._coordinator = -1
            if isinstance(error, BrokerError):
                self._outdated |= {self._reads, self._writes}
            if not isinstance(error, _UsualError) and self._failing.get(api) != str(error):
                self._failing[api] = str(error)
                log.warning("%s; trying again", error)
            raise OSError(str(error)) from error
        if self._failing.pop(api, None) is not None:
            log.info("%s on the state topic %s is answered again", api, self._topic)
        return result


class _UsualError(OSError):
    """An error that is not worth a line in the log."""
