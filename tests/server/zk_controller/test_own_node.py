"""Empty answers to per-broker requests sent to reassignd's own node id."""

from protocol.apis import ApiKey
from protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from protocol.messages.describe_log_dirs_response import DescribeLogDirsResponse, DescribeLogDirsResult
from protocol.messages.list_groups_request import ListGroupsRequest
from protocol.messages.list_groups_response import ListedGroup, ListGroupsResponse
from protocol.messages.list_transactions_request import ListTransactionsRequest
from protocol.messages.list_transactions_response import ListTransactionsResponse, TransactionState
from server.relay.exchange import PASSED, Exchange
from server.zk_controller.own_node import PER_BROKER_INTERCEPTORS
from tests.frames import decode_request
from tests.server.relay.doubles import Talk, client, incoming, incoming_part, key_of


def talk(request: object, version: int) -> Talk:
    return Talk(PER_BROKER_INTERCEPTORS[key_of(type(request))], request, version)


async def test_there_are_no_groups() -> None:
    theirs = ListGroupsResponse(groups=[ListedGroup("g", "consumer")])
    assert (await talk(ListGroupsRequest(), 4).answer(theirs)).groups == ()


async def test_there_are_no_transactions() -> None:
    theirs = ListTransactionsResponse(transaction_states=[TransactionState("t", 1, "Ongoing")])
    assert (await talk(ListTransactionsRequest(), 0).answer(theirs)).transaction_states == ()


async def test_errors_are_relayed() -> None:
    assert (await talk(ListGroupsRequest(), 4).answer(ListGroupsResponse(error_code=15))).error_code == 15


async def test_there_is_one_log_dir_without_topics() -> None:
    with_rights = talk(DescribeLogDirsRequest(None), 4)
    assert decode_request(with_rights.upstream).topics == ()
    theirs = [DescribeLogDirsResult(log_dir="/a", total_bytes=9), DescribeLogDirsResult(log_dir="/b")]
    answer = await with_rights.answer(DescribeLogDirsResponse(results=theirs))
    assert [(each.log_dir, each.topics, each.total_bytes) for each in answer.results] == [
        ("reassignd", (), -1)
    ]


async def test_without_permission_no_log_dirs_are_returned() -> None:
    for theirs in (DescribeLogDirsResponse(error_code=31), DescribeLogDirsResponse()):
        assert await talk(DescribeLogDirsRequest(None), 4).answer(theirs) == theirs


def test_a_log_dirs_request_is_read_completely() -> None:
    whole = incoming(DescribeLogDirsRequest(None), 4)
    rule = PER_BROKER_INTERCEPTORS[whole.api_key]
    assert rule(incoming_part(bytes(whole.frame[:10]), whole.size), client()) == whole.size
    assert isinstance(rule(whole, client()), Exchange)


def test_an_unknown_version_is_relayed_to_a_broker() -> None:
    for key in (ApiKey.LIST_GROUPS, ApiKey.DESCRIBE_LOG_DIRS, ApiKey.LIST_TRANSACTIONS):
        unknown = key.to_bytes(2) + (99).to_bytes(2) + bytes(20)
        assert PER_BROKER_INTERCEPTORS[key](incoming_part(unknown), client()) is PASSED
