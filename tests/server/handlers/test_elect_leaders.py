"""ElectLeaders (43)."""

import pytest

from common.error_codes import ErrorCode
from controller.messages.events import ElectionType, ElectLeaders
from controller.model.cluster import TopicPartition
from controller.model.errors import DONE, Outcome
from protocol.errors import ApiError
from protocol.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from server.handlers.elect_leaders import handle, refuse
from tests.server.fakes import FakeDriver, answer, context, encodable

FOO = [TopicPartition("foo", 0), TopicPartition("foo", 1)]
REQUEST = ElectLeadersRequest(0, [TopicPartitions("foo", (0, 1))])
NOT_NEEDED = Outcome(ErrorCode.ELECTION_NOT_NEEDED, "not needed")


async def test_named_partitions_are_elected_and_answered() -> None:
    driver = FakeDriver([(FOO[0], DONE), (FOO[1], NOT_NEEDED)])
    response = encodable(await answer(handle, REQUEST, context(2, driver=driver)), 43)
    assert driver.events == [ElectLeaders(ElectionType.PREFERRED, FOO)]
    (topic,) = response.replica_election_results
    assert [tuple(row) for row in topic.partition_result] == [(0, 0, None), (1, 84, "not needed")]


async def test_null_means_all() -> None:
    driver = FakeDriver([(FOO[1], DONE)])
    request = ElectLeadersRequest(1, None)
    response = await answer(handle, request, context(2, driver=driver))
    assert driver.events == [ElectLeaders(ElectionType.UNCLEAN, None)]
    assert [row.partition_id for row in response.replica_election_results[0].partition_result] == [1]


async def test_an_unknown_type_of_election_is_refused() -> None:
    with pytest.raises(ApiError):
        await answer(handle, ElectLeadersRequest(9), context(2))


def test_a_refusal_is_repeated_on_every_row() -> None:
    response = refuse(REQUEST, 31, "denied")
    assert response.error_code == 31
    (topic,) = response.replica_election_results
    assert [tuple(row) for row in topic.partition_result] == [(0, 31, "denied"), (1, 31, "denied")]
