"""Answers that are buffered and rewritten."""

from struct import pack

import pytest

from protocol.codec.errors import DecodeError
from protocol.messages.list_groups_request import ListGroupsRequest
from protocol.messages.list_groups_response import ListedGroup, ListGroupsResponse
from server.relay.exchange import LARGEST_ANSWER, Exchange, buffered, rewrite_answer
from server.relay.splitter import FrameAction
from tests.server.relay.doubles import Talk, incoming


def test_an_answer_is_buffered_until_it_is_complete() -> None:
    finish = buffered(lambda payload: b"ours")
    assert finish(memoryview(b"abc"), 10) == 10
    assert finish(memoryview(b"0123456789"), 10) == FrameAction(14, b"ours")


def test_an_answer_above_the_size_limit_closes_the_connection() -> None:
    with pytest.raises(DecodeError, match="can be held"):
        buffered(lambda payload: payload)(memoryview(b"abcd"), LARGEST_ANSWER + 1)


async def test_an_unchanged_answer_keeps_its_bytes() -> None:
    request = incoming(ListGroupsRequest(), 5)
    exchange = Exchange(finish=rewrite_answer(request, ListGroupsResponse, lambda response: response))
    unknown_tag = pack(">i", 7) + b"\0" + bytes(6) + b"\1" + b"\1\x63\1x"
    assert exchange.finish is not None
    assert exchange.finish(memoryview(unknown_tag), len(unknown_tag)) == FrameAction(
        4 + len(unknown_tag), pack(">i", len(unknown_tag)) + unknown_tag
    )


async def test_an_answer_is_changed_in_the_version_of_its_request() -> None:
    def change(response: ListGroupsResponse) -> ListGroupsResponse:
        return response._replace(groups=[ListedGroup("g", "consumer")])

    asking = Talk(
        lambda incoming, _: Exchange(finish=rewrite_answer(incoming, ListGroupsResponse, change)),
        ListGroupsRequest(),
        3,
    )
    assert (await asking.answer(ListGroupsResponse())).groups == (ListedGroup("g", "consumer"),)
