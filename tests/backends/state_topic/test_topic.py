"""The state topic is created with safe settings, and an unsafe one is refused or warned of."""

import asyncio
import logging

import pytest

from backends.client.errors import UnreachableError
from backends.state_topic import topic as topic_module
from backends.state_topic.topic import SETTINGS, StateTopic, StateTopicError, check_configs, open_topic
from common.clock import ManualClock
from common.error_codes import ErrorCode
from protocol.messages.create_topics_request import CreateTopicsRequest
from protocol.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from protocol.messages.describe_configs_request import DescribeConfigsRequest
from protocol.messages.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from protocol.messages.metadata_request import MetadataRequest
from protocol.messages.metadata_response import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from tests.backends.upstream.scripted import Scripted

SAFE = SETTINGS | {"min.insync.replicas": "2", "max.message.bytes": "1048588"}
ID = bytes(range(16))
REFUSED = ErrorCode.TOPIC_AUTHORIZATION_FAILED


class Cluster(Scripted):
    """Brokers with or without the topic."""

    def __init__(
        self, *, exists: bool = True, partitions: int = 1, metadata: int = 0, create: int = 0
    ) -> None:
        super().__init__()
        self.exists, self.partitions, self.metadata = exists, partitions, metadata
        self.configs_error = 0
        self.answers = {
            MetadataRequest: lambda *_: MetadataResponse(topics=(self.topic(),)),
            DescribeConfigsRequest: lambda *_: DescribeConfigsResponse(results=(self.configs(),)),
            CreateTopicsRequest: lambda *_: self.created(create),
        }

    def topic(self) -> MetadataResponseTopic:
        if not self.exists:
            return MetadataResponseTopic(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        rows = [MetadataResponsePartition(0, n, 1, 0, (1, 2, 3)) for n in range(self.partitions)]
        return MetadataResponseTopic(self.metadata, "state", ID, partitions=rows)

    def configs(self) -> DescribeConfigsResult:
        rows = [DescribeConfigsResourceResult(name, value) for name, value in SAFE.items()]
        return DescribeConfigsResult(self.configs_error, configs=rows)

    def created(self, code: int) -> CreateTopicsResponse:
        self.exists = code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)
        return CreateTopicsResponse(
            topics=(CreatableTopicResult("state", error_code=code, error_message="why"),)
        )


async def test_an_existing_topic_is_used_as_it_is() -> None:
    cluster = Cluster()
    assert await open_topic(cluster, "state", 3) == StateTopic(ID, 3, 1)
    assert cluster.requests(CreateTopicsRequest) == []


@pytest.mark.parametrize("code", [ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS])
async def test_a_missing_topic_is_created_compacted_with_a_minimum_isr(
    code: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    cluster = Cluster(exists=False, create=code)
    await open_topic(cluster, "state", 3)
    (request,) = cluster.requests(CreateTopicsRequest)
    (topic,) = request.topics
    configs = {config.name: config.value for config in topic.configs}
    assert (topic.num_partitions, topic.replication_factor) == (1, 3)
    assert (configs["cleanup.policy"], configs["min.insync.replicas"]) == ("compact", "2")
    assert ("created the state topic state with 3 replicas" in caplog.messages) is (code == ErrorCode.NONE)


async def test_a_topic_is_never_created_by_metadata() -> None:
    cluster = Cluster()
    await open_topic(cluster, "state", 3)
    assert not any(request.allow_auto_topic_creation for request in cluster.requests(MetadataRequest))


async def test_too_few_brokers_name_the_setting() -> None:
    with pytest.raises(StateTopicError, match=r"3 replicas .* set state\.topic\.replication\.factor"):
        await open_topic(Cluster(exists=False, create=ErrorCode.INVALID_REPLICATION_FACTOR), "state", 3)


async def test_several_partitions_are_refused() -> None:
    with pytest.raises(StateTopicError, match="2 partitions; it must have one"):
        await open_topic(Cluster(partitions=2), "state", 3)


@pytest.mark.parametrize(
    ("cluster", "right"),
    [(Cluster(metadata=REFUSED), "DESCRIBE"), (Cluster(exists=False, create=REFUSED), "CREATE")],
)
async def test_a_missing_right_is_named(cluster: Cluster, right: str) -> None:
    with pytest.raises(StateTopicError, match=f"grant {right} on the topic"):
        await open_topic(cluster, "state", 3)


async def test_the_right_to_read_configs_is_named() -> None:
    cluster = Cluster()
    cluster.configs_error = REFUSED
    with pytest.raises(StateTopicError, match="grant DESCRIBE_CONFIGS"):
        await open_topic(cluster, "state", 3)


@pytest.mark.parametrize(
    "unsafe",
    [
        {"cleanup.policy": "delete"},
        {"cleanup.policy": "compact,delete"},
        {"compression.type": "gzip"},
        {"max.message.bytes": "1000"},
    ],
)
def test_configs_that_lose_records_are_refused(unsafe: dict[str, str]) -> None:
    ((config, value),) = unsafe.items()
    with pytest.raises(StateTopicError, match=f"{config}={value}"):
        check_configs("state", 3, SAFE | unsafe)


@pytest.mark.parametrize(
    ("replication", "unsafe", "warning"),
    [
        (1, {}, "one replica"),
        (3, {"min.insync.replicas": "1"}, "2 keeps its records"),
        (3, {"compression.type": "producer"}, "could not be read"),
        (3, {"unclean.leader.election.enable": "true"}, "can lose records"),
    ],
)
def test_configs_that_risk_records_are_warned_of(
    replication: int, unsafe: dict[str, str], warning: str
) -> None:
    assert check_configs("state", 3, SAFE) == []
    (line,) = check_configs("state", replication, SAFE | unsafe)
    assert warning in line


async def test_warnings_are_logged(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SAFE, "min.insync.replicas", "1")
    with caplog.at_level(logging.WARNING):
        await open_topic(Cluster(), "state", 3)
    assert "min.insync.replicas=1" in caplog.text


async def test_a_new_topic_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_module, "PAUSE_SECONDS", 0.0)
    cluster = Cluster(exists=False)
    answers = iter([False, False, True])

    def topic() -> MetadataResponseTopic:
        cluster.exists = next(answers, True)
        return Cluster.topic(cluster)

    cluster.answers[MetadataRequest] = lambda *_: MetadataResponse(topics=(topic(),))
    assert (await open_topic(cluster, "state", 3)).partitions == 1


async def test_a_new_topic_that_no_broker_knows_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_module, "PAUSE_SECONDS", 0.0)
    cluster = Cluster(exists=False)
    unknown = MetadataResponseTopic(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    cluster.answers[MetadataRequest] = lambda *_: MetadataResponse(topics=(unknown,))
    with pytest.raises(StateTopicError, match="was created, but no broker knows it yet: try again"):
        await open_topic(cluster, "state", 3)


async def test_configs_that_become_unsafe_are_named_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, cluster = ManualClock(), Cluster()
    watching = asyncio.create_task(topic_module.watch_configs(cluster, "state", clock))
    await clock.advance(topic_module.WATCH_SECONDS)
    assert not caplog.messages
    monkeypatch.setitem(SAFE, "cleanup.policy", "compact,delete")
    await clock.advance(3 * topic_module.WATCH_SECONDS)
    assert len(caplog.messages) == 1
    assert "cleanup.policy=compact,delete, which deletes records: set it to compact" in caplog.text
    watching.cancel()


async def test_a_watch_goes_on_while_no_broker_answers(caplog: pytest.LogCaptureFixture) -> None:
    clock, cluster = ManualClock(), Cluster()
    cluster.answers[MetadataRequest] = lambda *_: UnreachableError("no broker")
    watching = asyncio.create_task(topic_module.watch_configs(cluster, "state", clock))
    await clock.advance(3 * topic_module.WATCH_SECONDS)
    assert not watching.done()
    watching.cancel()
