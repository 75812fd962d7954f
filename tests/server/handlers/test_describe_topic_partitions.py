"""DescribeTopicPartitions (75)."""

import pytest

from controller.model.access import Operation
from protocol.codec.errors import ApiError
from protocol.messages.describe_topic_partitions_request import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from protocol.messages.describe_topic_partitions_response import DescribeTopicPartitionsResponse
from server.dispatch.context import (
    LARGE_ROWS,
)
from server.handlers.describe_topic_partitions import handle, refuse
from tests.builders import InMemoryController, partition
from tests.server.fakes import NOBODY, allowing, answer, context, encodable


def controller() -> InMemoryController:
    return InMemoryController((1, 2, 3)).with_partitions(
        *[partition(f"foo-{index}", [1, 2]) for index in range(3)],
        *[partition(f"bar-{index}", [2, 3]) for index in range(2)],
    )


def request(*names: str, limit: int = 2000, cursor: Cursor | None = None) -> DescribeTopicPartitionsRequest:
    return DescribeTopicPartitionsRequest([TopicRequest(name) for name in names], limit, cursor)


async def ask(
    asked: DescribeTopicPartitionsRequest, given: InMemoryController | None = None
) -> DescribeTopicPartitionsResponse:
    response = await answer(handle, asked, context(0, (given or controller()).state))
    assert isinstance(response, DescribeTopicPartitionsResponse)
    return encodable(response, 75)


def shown(response: DescribeTopicPartitionsResponse) -> list[tuple[str | None, list[int]]]:
    return [(topic.name, [row.partition_index for row in topic.partitions]) for topic in response.topics]


async def test_topics_are_in_order_of_name() -> None:
    response = await ask(request("foo", "bar"))
    assert shown(response) == [("bar", [0, 1]), ("foo", [0, 1, 2])]
    assert response.next_cursor is None


async def test_no_topics_mean_all() -> None:
    assert shown(await ask(request())) == [("bar", [0, 1]), ("foo", [0, 1, 2])]


async def test_a_partition_is_described() -> None:
    given = InMemoryController((1, 2, 3), live=(2, 3)).with_partitions(
        partition("foo-0", [1, 2], isr=(2,), leader=2, leader_epoch=4)
    )
    (topic,) = (await ask(request("foo"), given)).topics
    assert tuple(topic.partitions[0]) == (0, 0, 2, 4, (1, 2), (2,), (), (), (1,))
    assert topic.topic_authorized_operations > 0


async def test_the_pages_together_contain_all_partitions() -> None:
    pages, cursor = [], None
    while True:
        response = await ask(request(limit=2, cursor=cursor))
        pages += shown(response)
        if response.next_cursor is None:
            break
        cursor = Cursor(*response.next_cursor)
    assert pages == [("bar", [0, 1]), ("foo", [0, 1]), ("foo", [2])]


async def test_the_limit_is_at_least_one() -> None:
    response = await ask(request(limit=0))
    assert shown(response) == [("bar", [0])]
    assert response.next_cursor == ("bar", 1)


async def test_a_cursor_at_a_deleted_topic_continues_at_the_start_of_the_next_topic() -> None:
    assert shown(await ask(request(cursor=Cursor("car", 1)))) == [("foo", [0, 1, 2])]


async def test_a_negative_cursor_is_refused() -> None:
    with pytest.raises(ApiError):
        await ask(request(cursor=Cursor("bar", -1)))


async def test_an_unknown_topic_has_an_error() -> None:
    response = await ask(request("nope", "foo"))
    assert [(topic.name, topic.error_code) for topic in response.topics] == [("foo", 0), ("nope", 3)]


async def test_a_topic_without_describe_permission_is_refused_by_name_and_omitted_from_the_list_of_all() -> (
    None
):
    response = await answer(handle, request("foo"), context(0, controller().state, authorizer=NOBODY))
    assert [(topic.name, topic.error_code) for topic in response.topics] == [("foo", 29)]
    bar_only = context(0, controller().state, authorizer=allowing((Operation.DESCRIBE, "bar")))
    assert shown(await answer(handle, request(), bar_only)) == [("bar", [0, 1])]


def test_a_refusal_is_repeated_for_every_topic() -> None:
    assert [topic.error_code for topic in refuse(request("foo", "bar"), 42, None).topics] == [42, 42]


async def test_a_topic_without_partitions_counts_as_one_row() -> None:
    response = await ask(request("a", "b", "c", "foo", limit=3))
    assert [topic.name for topic in response.topics] == ["a", "b", "c"]
    assert tuple(response.next_cursor or ()) == ("foo", 0)


async def test_many_names_are_answered_in_slices() -> None:
    names = [f"no-{number:05}" for number in range(LARGE_ROWS + 1)]
    response = await ask(request(*names))
    assert [topic.name for topic in response.topics] == names[:2000]
    assert tuple(response.next_cursor or ()) == (names[2000], 0)
