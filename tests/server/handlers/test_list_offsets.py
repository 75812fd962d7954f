"""ListOffsets (2)."""

import pytest

from controller.model.access import Operation
from protocol.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from server.handlers.list_offsets import handle, refuse
from tests.server.fakes import FakeBroker, allowing, answer, context, decoded

FOO, BAR = (ListOffsetsTopic(name, [ListOffsetsPartition(0)]) for name in ("foo", "bar"))
REQUEST = ListOffsetsRequest(topics=[FOO, BAR])


async def test_the_addressed_broker_answers() -> None:
    broker = FakeBroker()
    response = await answer(handle, REQUEST, context(7, broker=broker))
    assert broker.told == [REQUEST]
    assert [(topic.name, topic.partitions[0].offset) for topic in response.topics] == [
        ("foo", 42),
        ("bar", 42),
    ]


async def test_the_broker_is_not_asked_about_topics_without_describe_permission() -> None:
    broker = FakeBroker()
    asked = context(7, broker=broker, authorizer=allowing((Operation.DESCRIBE, "bar")))
    response = await answer(handle, REQUEST, asked)
    assert broker.told == [ListOffsetsRequest(topics=[BAR])]
    rows = [(topic.name, topic.partitions[0].error_code) for topic in response.topics]
    assert rows == [("bar", 0), ("foo", 29)]


def test_a_refusal_is_repeated_on_every_row() -> None:
    rows = [topic.partitions[0].error_code for topic in refuse(REQUEST, -1, None).topics]
    assert rows == [-1, -1]


class Epochs(FakeBroker):
    """A broker whose partitions have leader epoch 5."""

    def list_offsets(self, request: ListOffsetsRequest) -> ListOffsetsResponse:
        rows = [ListOffsetsPartitionResponse(0, offset=42, leader_epoch=5)]
        return ListOffsetsResponse(
            topics=[ListOffsetsTopicResponse(each.name, rows) for each in request.topics]
        )


@pytest.mark.parametrize(("version", "epoch"), [(1, -1), (3, -1), (4, 5)])
async def test_leader_epochs_are_returned_from_version_4_on(version: int, epoch: int) -> None:
    response = await answer(handle, REQUEST, context(version, broker=Epochs()))
    rows = [row for topic in decoded(response, version).topics for row in topic.partitions]
    assert [(row.offset, row.leader_epoch) for row in rows] == [(42, epoch)] * 2
