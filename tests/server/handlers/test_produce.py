"""Produce (0)."""

import pytest

from common.error_codes import ErrorCode
from protocol.codec.errors import DecodeError
from protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from server.handlers.produce import NO_DATA_PATH, handle, refuse
from tests.server.fakes import AclTable, answer, context, encodable

TOPICS = [
    TopicProduceData("foo", partition_data=[PartitionProduceData(0, b"records"), PartitionProduceData(2)])
]
REQUEST = ProduceRequest(acks=-1, topic_data=TOPICS)


async def test_every_partition_is_refused_with_the_reason() -> None:
    response = encodable(await answer(handle, REQUEST, context(9)), 0)
    (topic,) = response.responses
    rows = [(row.index_, row.error_code, row.error_message) for row in topic.partition_responses]
    assert topic.name == "foo"
    assert rows == [
        (0, ErrorCode.INVALID_REQUEST, NO_DATA_PATH),
        (2, ErrorCode.INVALID_REQUEST, NO_DATA_PATH),
    ]


async def test_with_acks_0_the_connection_is_closed() -> None:
    with pytest.raises(DecodeError, match="acks=0"):
        await answer(handle, REQUEST._replace(acks=0), context(9))


async def test_a_topic_without_write_is_denied() -> None:
    response = await answer(handle, REQUEST, context(9, authorizer=AclTable([])))
    rows = [row.error_code for row in response.responses[0].partition_responses]
    assert rows == [ErrorCode.TOPIC_AUTHORIZATION_FAILED] * 2


def test_a_refusal_is_repeated_on_every_row() -> None:
    (topic,) = refuse(REQUEST, -1, None).responses
    assert [row.error_code for row in topic.partition_responses] == [-1, -1]
