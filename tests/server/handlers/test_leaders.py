"""AlterPartition (56), ElectLeaders (43)."""

from typing import Any

import pytest

from common.error_codes import ErrorCode
from controller.messages.events import (
    AlterPartition,
    AlterPartitionReply,
    ElectionType,
    ElectLeaders,
    IsrChange,
)
from controller.model.cluster import TopicPartition
from controller.model.errors import DONE, Outcome
from protocol.codec.errors import ApiError
from protocol.codec.wire import codec
from protocol.messages.alter_partition_request import (
    AlterPartitionRequest,
    BrokerState,
    PartitionData,
    TopicData,
)
from protocol.messages.alter_partition_response import AlterPartitionResponse
from protocol.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from server.handlers import alter_partition, elect_leaders
from tests.builders import InMemoryController, partition
from tests.server.fakes import FakeDriver, answer, context, encodable

FOO_ID = b"foo".ljust(16, b"\0")
NEXT = partition("foo-0", [1, 2], leader_epoch=5, partition_epoch=9)


def asked(version: int, topic_id: bytes = FOO_ID) -> AlterPartitionRequest:
    if version == 3:
        row = PartitionData(0, 5, (), [BrokerState(1), BrokerState(2)], 0, 8)
    else:
        row = PartitionData(0, 5, (1, 2), (), 0, 8)
    topic = TopicData("", topic_id, [row]) if version >= 2 else TopicData("foo", partitions=[row])
    return AlterPartitionRequest(1, 3, [topic])


async def ask(version: int, driver: FakeDriver, topic_id: bytes = FOO_ID) -> AlterPartitionResponse:
    state = InMemoryController().with_partitions(NEXT).state
    response: Any = await answer(
        alter_partition.handle, asked(version, topic_id), context(version, state, driver)
    )
    return codec(AlterPartitionResponse, version).decode(
        codec(AlterPartitionResponse, version).encode(response)
    )


@pytest.mark.parametrize("version", range(4))
async def test_an_isr_change_is_submitted_and_answered_with_the_current_partition(version: int) -> None:
    driver = FakeDriver(AlterPartitionReply(DONE, [DONE]))
    response = await ask(version, driver)
    assert driver.events == [AlterPartition(1, 3, [IsrChange("foo", 0, 5, (1, 2), 8)])]
    assert tuple(response.topics[0].partitions[0]) == (0, 0, 1, 5, (1, 2), 0, 9)


async def test_a_refused_row_has_its_error() -> None:
    driver = FakeDriver(AlterPartitionReply(DONE, [Outcome(ErrorCode.INVALID_UPDATE_VERSION)]))
    assert (await ask(2, driver)).topics[0].partitions[0].error_code == 95


@pytest.mark.parametrize(
    ("version", "error", "code"),
    [
        (1, ErrorCode.NEW_LEADER_ELECTED, 74),
        (2, ErrorCode.NEW_LEADER_ELECTED, 108),
        (1, ErrorCode.INELIGIBLE_REPLICA, 55),
        (2, ErrorCode.INELIGIBLE_REPLICA, 107),
    ],
)
async def test_old_versions_have_fewer_errors(version: int, error: ErrorCode, code: int) -> None:
    driver = FakeDriver(AlterPartitionReply(DONE, [Outcome(error)]))
    assert (await ask(version, driver)).topics[0].partitions[0].error_code == code


async def test_an_unknown_topic_id_is_refused_without_the_controller() -> None:
    driver = FakeDriver(AlterPartitionReply(DONE, []))
    response = await ask(2, driver, b"?" * 16)
    assert driver.events == [AlterPartition(1, 3, [])]
    assert response.topics[0].partitions[0].error_code == 100


async def test_a_stale_broker_is_refused_at_top_level() -> None:
    driver = FakeDriver(AlterPartitionReply(Outcome(ErrorCode.STALE_BROKER_EPOCH), ()))
    response = await ask(2, driver)
    assert (response.error_code, response.topics) == (77, ())


def test_a_refusal_has_the_error_alone() -> None:
    assert alter_partition.refuse(asked(2), 31, None) == AlterPartitionResponse(error_code=31)


FOO = [TopicPartition("foo", 0), TopicPartition("foo", 1)]
REQUEST = ElectLeadersRequest(0, [TopicPartitions("foo", (0, 1))])
NOT_NEEDED = Outcome(ErrorCode.ELECTION_NOT_NEEDED, "not needed")


async def test_named_partitions_are_elected_and_answered() -> None:
    driver = FakeDriver([(FOO[0], DONE), (FOO[1], NOT_NEEDED)])
    response = encodable(await answer(elect_leaders.handle, REQUEST, context(2, driver=driver)), 43)
    assert driver.events == [ElectLeaders(ElectionType.PREFERRED, FOO)]
    (topic,) = response.replica_election_results
    assert [tuple(row) for row in topic.partition_result] == [(0, 0, None), (1, 84, "not needed")]


async def test_null_means_all() -> None:
    driver = FakeDriver([(FOO[1], DONE)])
    request = ElectLeadersRequest(1, None)
    response = await answer(elect_leaders.handle, request, context(2, driver=driver))
    assert driver.events == [ElectLeaders(ElectionType.UNCLEAN, None)]
    assert [row.partition_id for row in response.replica_election_results[0].partition_result] == [1]


async def test_an_unknown_type_of_election_is_refused() -> None:
    with pytest.raises(ApiError):
        await answer(elect_leaders.handle, ElectLeadersRequest(9), context(2))


def test_a_refusal_is_repeated_on_every_row() -> None:
    response = elect_leaders.refuse(REQUEST, 31, "denied")
    assert response.error_code == 31
    (topic,) = response.replica_election_results
    assert [tuple(row) for row in topic.partition_result] == [(0, 31, "denied"), (1, 31, "denied")]
