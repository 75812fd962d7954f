"""Which answers of brokers end the use of the log.

`tests/upstream/test_state_topic.py` runs it on a cluster.
"""

import logging
from collections.abc import Callable
from contextlib import suppress

import pytest

from backends.client.errors import UnreachableError
from backends.state_topic.kafka_log import KafkaStateLog
from backends.state_topic.log import FencedError, TopicReplacedError
from common.error_codes import ErrorCode
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
from protocol.messages.produce_response import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from protocol.record_batch import Producer
from tests.backends.state_topic.builders import row
from tests.backends.upstream.scripted import Scripted

PRODUCER = Producer(7, 1)
ID, OTHER_ID = bytes(15) + b"\1", bytes(15) + b"\2"


class Cluster(Scripted):
    """Brokers whose answers have the given error codes; broker 2 leads, broker 3 coordinates."""

    def __init__(self, produce: int = 0, fetch: int = 0, init: int = 0) -> None:
        super().__init__()
        self.topic_id = ID
        self.metadata = 0
        self.leader = 2
        self.answers = {
            MetadataRequest: lambda *_: self.topic(),
            ProduceRequest: lambda *_: ProduceResponse(
                (TopicProduceResponse("s", ID, (PartitionProduceResponse(0, produce),)),)
            ),
            FetchRequest: lambda *_: FetchResponse(
                responses=(FetchableTopicResponse("s", ID, (PartitionData(0, fetch, 5),)),)
            ),
            FindCoordinatorRequest: lambda *_: FindCoordinatorResponse(coordinators=(Coordinator("s", 3),)),
            InitProducerIdRequest: lambda *_: InitProducerIdResponse(0, init, *PRODUCER),
        }

    def topic(self, *, known: bool = True) -> MetadataResponse:
        row = MetadataResponsePartition(0, 0, self.leader)
        code = self.metadata if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return MetadataResponse(topics=(MetadataResponseTopic(code, "s", self.topic_id, False, (row,)),))

    async def ask(self, request, broker=None, *, version=None, timeout_seconds=None):  # type: ignore[no-untyped-def]
        return await super().ask(request, broker)

    def log(self) -> KafkaStateLog:
        return KafkaStateLog("s", self, self)  # type: ignore[arg-type]


async def append(log: KafkaStateLog) -> None:
    await log.append([row("a")], PRODUCER, 0)


@pytest.mark.parametrize("code", [ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER])
async def test_a_batch_that_is_in_the_log_already_is_written(code: int) -> None:
    cluster = Cluster(produce=code)
    await append(cluster.log())
    assert [broker for request, broker in cluster.asked if isinstance(request, ProduceRequest)] == [2]


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (ErrorCode.INVALID_PRODUCER_EPOCH, FencedError),
        (ErrorCode.PRODUCER_FENCED, FencedError),
        (ErrorCode.INVALID_TXN_STATE, OSError),
        (ErrorCode.INCONSISTENT_TOPIC_ID, TopicReplacedError),
        (ErrorCode.UNKNOWN_TOPIC_ID, OSError),
        (ErrorCode.NOT_ENOUGH_REPLICAS, OSError),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, OSError),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, OSError),
    ],
)
async def test_errors_of_a_batch_end_the_term_or_are_repeated(code: int, error: type[Exception]) -> None:
    with pytest.raises(error, match=f"Produce on the state topic s: {ErrorCode(code).name}"):
        await append(Cluster(produce=code).log())


async def test_addresses_are_read_again_after_a_broker_did_not_answer() -> None:
    cluster, failures = Cluster(), [UnreachableError("connection refused")]
    produced = cluster.answers[ProduceRequest]
    cluster.answers[ProduceRequest] = lambda *asked: failures.pop() if failures else produced(*asked)
    log = cluster.log()
    with pytest.raises(OSError, match="connection refused"):
        await append(log)
    for _ in range(2):
        await append(log)
    assert cluster.refreshed == 1


async def test_a_lost_transaction_ends_the_term() -> None:
    log = Cluster(produce=ErrorCode.INVALID_TXN_STATE).log()
    with pytest.raises(FencedError, match="the coordinator does not know the transaction any more"):
        await log.append([row("a")], PRODUCER, 0, transactional=True)


async def test_a_new_epoch_is_asked_of_the_coordinator() -> None:
    cluster = Cluster()
    assert await cluster.log().new_epoch() == PRODUCER
    assert cluster.asked[-1][1] == 3


async def test_an_epoch_that_is_not_to_be_had_yet_is_asked_for_again() -> None:
    with pytest.raises(OSError, match="CONCURRENT_TRANSACTIONS"):
        await Cluster(init=ErrorCode.CONCURRENT_TRANSACTIONS).log().new_epoch()


async def test_a_fetch_returns_the_end_of_the_log() -> None:
    assert (await Cluster().log().fetch(0)).end_offset == 5


async def test_an_answer_without_the_partition_is_no_answer() -> None:
    cluster = Cluster()
    cluster.answers[FetchRequest] = lambda *_: FetchResponse()
    with pytest.raises(OSError, match="the answer to Fetch on the state topic s makes no sense"):
        await cluster.log().fetch(0)


async def test_a_log_that_was_cut_off_is_another_one() -> None:
    with pytest.raises(TopicReplacedError, match="OFFSET_OUT_OF_RANGE"):
        await Cluster(fetch=ErrorCode.OFFSET_OUT_OF_RANGE).log().fetch(9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda cluster: setattr(cluster, "topic_id", OTHER_ID), "was deleted and made again"),
        (lambda cluster: setattr(cluster, "metadata", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), "was deleted"),
    ],
)
async def test_another_topic_of_the_same_name_is_noticed(
    change: Callable[[Cluster], None], message: str
) -> None:
    cluster = Cluster(fetch=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    log = cluster.log()
    with pytest.raises(OSError, match="NOT_LEADER"):
        await log.fetch(0)
    change(cluster)
    with pytest.raises(TopicReplacedError, match=message):
        await log.fetch(0)


async def test_leader_and_coordinator_are_found_anew_after_a_failure() -> None:
    cluster = Cluster()
    log = cluster.log()
    await append(log)
    cluster.answers[ProduceRequest] = lambda *_: UnreachableError("broker 2 is gone")
    with pytest.raises(OSError, match="broker 2 is gone"):
        await append(log)
    before = len(cluster.requests(MetadataRequest))
    with pytest.raises(OSError, match="gone"):
        await append(log)
    assert len(cluster.requests(MetadataRequest)) == before + 1


async def test_a_topic_without_a_leader_is_named() -> None:
    cluster = Cluster()
    cluster.leader = -1
    with pytest.raises(OSError, match="the state topic s has no leader"):
        await cluster.log().fetch(0)


@pytest.mark.parametrize(
    ("cluster", "right"),
    [
        (Cluster(fetch=ErrorCode.TOPIC_AUTHORIZATION_FAILED), "grant READ on the topic"),
        (Cluster(produce=ErrorCode.TOPIC_AUTHORIZATION_FAILED), "grant WRITE on the topic"),
        (
            Cluster(init=ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
            "WRITE and DESCRIBE on the transactional id s",
        ),
    ],
)
async def test_a_missing_right_is_named_once(
    cluster: Cluster, right: str, caplog: pytest.LogCaptureFixture
) -> None:
    log = cluster.log()
    for _ in range(2):
        for operation in (lambda: log.fetch(0), lambda: append(log), log.new_epoch):
            with suppress(OSError):
                await operation()
    (line,) = caplog.messages
    assert right in line


async def test_the_end_of_a_failure_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    cluster = Cluster(produce=ErrorCode.NOT_ENOUGH_REPLICAS)
    log = cluster.log()
    with pytest.raises(OSError, match="NOT_ENOUGH_REPLICAS"):
        await append(log)
    cluster.answers |= Cluster().answers
    with caplog.at_level(logging.INFO):
        await append(log)
    assert caplog.messages[-1] == "Produce on the state topic s is answered again"


async def test_an_error_of_every_healthy_cluster_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(OSError, match="CONCURRENT"):
        await Cluster(init=ErrorCode.CONCURRENT_TRANSACTIONS).log().new_epoch()
    assert not caplog.messages


async def test_the_first_offset_is_that_of_the_leader() -> None:
    cluster = Cluster()
    row = ListOffsetsTopicResponse("s", (ListOffsetsPartitionResponse(0, 0, -1, 7),))
    cluster.answers[ListOffsetsRequest] = lambda *_: ListOffsetsResponse(topics=(row,))
    assert await cluster.log().start_offset() == 7
    assert cluster.asked[-1][1] == 2


@pytest.fixture
async def searching() -> tuple[Cluster, KafkaStateLog]:
    """A cluster, and a log that asks who leads the partition next."""
    cluster = Cluster(fetch=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    log = cluster.log()
    with pytest.raises(OSError, match="NOT_LEADER"):
        await log.fetch(0)
    cluster.answers[FetchRequest] = Cluster().answers[FetchRequest]
    return cluster, log


async def test_a_broker_that_does_not_know_the_topic_yet_is_not_believed(
    searching: tuple[Cluster, KafkaStateLog],
) -> None:
    cluster, log = searching
    cluster.answers[MetadataRequest] = lambda _, broker: cluster.topic(known=broker == 3)
    assert (await log.fetch(0)).end_offset == 5


async def test_a_topic_is_not_deleted_as_long_as_a_broker_does_not_answer(
    searching: tuple[Cluster, KafkaStateLog],
) -> None:
    cluster, log = searching
    lost = UnreachableError("connection refused")
    cluster.answers[MetadataRequest] = lambda _, broker: lost if broker == 3 else cluster.topic(known=False)
    with pytest.raises(OSError, match="connection refused"):
        await log.fetch(0)
