"""ListPartitionReassignments (46)."""

from typing import Any

from controller.model.cluster import Reassignment
from protocol.codec.wire import codec
from protocol.messages.list_partition_reassignments_request import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from protocol.messages.list_partition_reassignments_response import ListPartitionReassignmentsResponse
from server.dispatch.cache import Encoded
from server.dispatch.context import LARGE_ROWS, Context
from server.handlers.list_partition_reassignments import handle, refuse
from tests.builders import InMemoryController, key, partition
from tests.protocol.oracle import peer_class
from tests.server.fakes import answer, context, encodable

MOVING = partition("foo-1", [3, 1, 2], adding=(3,), removing=(1,))


def controller() -> InMemoryController:
    return InMemoryController().with_partitions(
        partition("foo-0", [1, 2]), MOVING, partition("bar-0", [4, 5, 6], adding=(4,), removing=(6,))
    )


def everything() -> ListPartitionReassignmentsRequest:
    return ListPartitionReassignmentsRequest(topics=None)


def only(**topics: tuple[int, ...] | None) -> ListPartitionReassignmentsRequest:
    return ListPartitionReassignmentsRequest(
        topics=[ListPartitionReassignmentsTopics(name, indexes) for name, indexes in topics.items()]
    )


async def ask(request: Any, asked: Context) -> ListPartitionReassignmentsResponse:
    response = await answer(handle, request, asked)
    if isinstance(response, Encoded):
        return codec(ListPartitionReassignmentsResponse, 0).decode(response.body)
    assert isinstance(response, ListPartitionReassignmentsResponse)
    return encodable(response, 46)


def rows(response: ListPartitionReassignmentsResponse) -> dict[str, list[tuple[Any, ...]]]:
    return {topic.name: [tuple(row) for row in topic.partitions] for topic in response.topics}


async def test_null_topics_list_everything() -> None:
    response = await ask(everything(), context(0, controller().state))
    assert rows(response) == {"foo": [(1, (3, 2, 1), (3,), (1,))], "bar": [(0, (4, 5, 6), (4,), (6,))]}
    assert (response.error_code, response.error_message) == (0, None)


async def test_the_step_under_way_is_in_the_tagged_field() -> None:
    response = await ask(only(foo=None), context(0, controller().state))
    assert response.current_batch is not None
    assert [tuple(row) for row in response.current_batch[0].partitions] == [(1, (1, 2), (3, 2))]


async def test_a_partition_that_waits_for_its_turn_is_listed_without_a_step() -> None:
    waiting = InMemoryController().with_partitions(partition("foo-0", [1, 2]))
    waiting.put(Reassignment("foo", 0, (1, 2), (3, 2)))
    response = await ask(everything(), context(0, waiting.state))
    assert rows(response) == {"foo": [(0, (3, 2, 1), (3,), (1,))]}
    assert response.current_batch is None


async def test_no_topics_list_nothing() -> None:
    assert rows(await ask(only(), context(0, controller().state))) == {}


async def test_named_partitions_are_listed_and_unknown_ones_left_out() -> None:
    response = await ask(only(foo=(0, 1, 9), nope=(0,)), context(0, controller().state))
    assert list(rows(response)) == ["foo"]
    assert [row[0] for row in rows(response)["foo"]] == [1]


async def test_a_topic_that_is_named_twice_is_listed_with_the_partitions_of_both() -> None:
    moving = [MOVING._replace(partition=number) for number in range(3)]
    given = InMemoryController().with_partitions(*moving)
    twice = [ListPartitionReassignmentsTopics("foo", indexes) for indexes in ((1,), (), (2, 1))]
    response = await ask(ListPartitionReassignmentsRequest(topics=twice), context(0, given.state))
    assert [row[0] for row in rows(response)["foo"]] == [1, 2, 1]
    twice[1] = ListPartitionReassignmentsTopics("foo", None)
    response = await ask(ListPartitionReassignmentsRequest(topics=twice), context(0, given.state))
    assert [row[0] for row in rows(response)["foo"]] == [0, 1, 2]


async def test_null_partitions_list_all_of_the_topic() -> None:
    assert list(rows(await ask(only(bar=None), context(0, controller().state)))) == ["bar"]


async def test_without_reassignments_there_are_no_rows_and_no_steps() -> None:
    response = await ask(everything(), context(0, InMemoryController().state))
    assert response == ListPartitionReassignmentsResponse(error_message=None)


async def test_without_reassignments_all_requests_share_one_answer() -> None:
    asked = context(0, InMemoryController().with_partitions(partition("foo-0", [1, 2])).state)
    answers = [handle(request, asked) for request in (only(foo=(0,)), only(bar=None), everything())]
    assert answers[0] is answers[1] is answers[2]
    assert rows(await ask(only(foo=(0,)), asked)) == {}


async def test_a_request_for_one_topic_never_gets_rows_of_another() -> None:
    state = InMemoryController().with_partitions(partition("foo-0", [1, 2]), partition("bar-0", [1, 2])).state
    asked = context(0, state)
    state.gateway.add_external(key("bar-0"))
    assert list(rows(await ask(everything(), asked))) == ["bar"]
    state.gateway.external.clear()  # without raising the revision
    assert rows(await ask(only(foo=(0,)), asked)) == {}


async def test_external_moves_are_listed_and_removed_immediately() -> None:
    moved = controller()
    asked = context(0, moved.state)
    listed = [list(rows(await ask(everything(), asked)))]
    for change in (moved.state.gateway.add_external, moved.state.gateway.discard_external):
        change(key("foo-0"))
        listed.append([index for row in rows(await ask(everything(), asked)).values() for index, *_ in row])
    assert listed == [["foo", "bar"], [1, 0, 0], [1, 0]]


async def test_the_answer_is_kept_until_something_changes() -> None:
    given = controller()
    asked = context(0, given.state)
    first = await answer(handle, everything(), asked)
    assert await answer(handle, everything(), asked) is first
    given.state.put(MOVING._replace(isr=(1, 2, 3)))
    assert await answer(handle, everything(), asked) is not first


async def test_a_long_list_is_built_once_for_concurrent_requests() -> None:
    many = InMemoryController().with_partitions(
        *[partition(f"foo-{index}", [3, 1], adding=(3,), removing=(1,)) for index in range(LARGE_ROWS + 1)]
    )
    asked = context(0, many.state)
    first, second = handle(everything(), asked), handle(everything(), asked)
    assert not isinstance(first, tuple)
    assert not isinstance(second, tuple)
    assert await first is await second
    assert len(rows(await ask(everything(), asked))["foo"]) == LARGE_ROWS + 1


async def test_many_named_partitions_are_listed_in_the_same_way() -> None:
    request = only(foo=tuple(range(LARGE_ROWS + 1)))
    assert rows(await ask(request, context(0, controller().state))) == {"foo": [(1, (3, 2, 1), (3,), (1,))]}


def test_a_refusal_echoes_the_rows_with_empty_lists() -> None:
    response = encodable(refuse(only(foo=(0, 1), bar=None), 31, "denied"), 46)
    assert response.error_code == 31
    assert rows(response) == {"foo": [(0, (), (), ()), (1, (), (), ())], "bar": []}


async def test_kafka_python_skips_the_tagged_field_and_our_codec_reads_it() -> None:
    response = await ask(everything(), context(0, controller().state))
    body = codec(ListPartitionReassignmentsResponse, 0).encode(response)
    theirs = peer_class("ListPartitionReassignmentsResponse").decode(body, version=0)
    assert [topic.name for topic in theirs.topics] == ["foo", "bar"]
    batch = codec(ListPartitionReassignmentsResponse, 0).decode(body).current_batch
    assert batch is not None
    assert [tuple(row) for topic in batch for row in topic.partitions] == [
        (1, (1, 2), (3, 2)),
        (0, (5, 6), (4, 5)),
    ]


async def test_without_a_step_in_flight_the_tagged_field_is_not_sent() -> None:
    waiting = InMemoryController(live=(1, 2, 3)).with_partitions(partition("foo-0", [1, 2, 3]))
    waiting.alter({"foo-0": [1, 2, 6]})
    response = await ask(everything(), context(0, waiting.state))
    assert (list(rows(response)), response.current_batch) == (["foo"], None)
