"""The interceptor of each API key at the controller listener."""

from typing import Any

import pytest

from controller.model.cluster import Topic
from protocol.apis import ApiKey
from protocol.codec.errors import DecodeError
from protocol.messages.alter_partition_request import AlterPartitionRequest
from protocol.messages.api_versions_request import ApiVersionsRequest
from protocol.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from protocol.messages.controlled_shutdown_request import ControlledShutdownRequest
from protocol.messages.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from protocol.messages.describe_log_dirs_response import DescribeLogDirsResponse, DescribeLogDirsResult
from protocol.messages.elect_leaders_request import ElectLeadersRequest
from protocol.messages.list_groups_request import ListGroupsRequest
from protocol.messages.list_groups_response import ListedGroup, ListGroupsResponse
from protocol.messages.list_transactions_request import ListTransactionsRequest
from protocol.messages.list_transactions_response import ListTransactionsResponse, TransactionState
from server.relay.exchange import LARGEST_DECODED, PASSED, Exchange, Interceptor
from server.relay.produce import NO_ANSWER
from server.relay.sasl import authenticate
from server.zookeeper.endpoint import ANSWERED, served
from server.zookeeper.interceptors import PER_BROKER_INTERCEPTORS, controller_interceptors
from tests.frames import decode_request
from tests.server.relay.doubles import Talk, client, incoming, incoming_part, key_of
from tests.server.relay.test_produce import request as produce
from tests.server.zookeeper.conftest import EndpointRig

THEIRS = ApiVersionsResponse(
    api_keys=[
        ApiVersion(3, 0, 4),
        ApiVersion(17, 0, 1),
        ApiVersion(22, 0, 1),
        ApiVersion(45, 0, 0),
        ApiVersion(57, 0, 1),
    ]
)


def interceptor(endpoint_rig: EndpointRig, key: int) -> Interceptor:
    return controller_interceptors(1000, endpoint_rig.endpoint, endpoint_rig.endpoint.answer)[key]


def named(endpoint_rig: EndpointRig, key: int, request: Any, version: int) -> list[str]:
    """Return the topics in the query for a request."""
    upstream = Talk(interceptor(endpoint_rig, key), request, version).upstream
    assert upstream.api_key == 3
    return [each.name for each in decode_request(upstream).topics]


async def test_versions_are_the_brokers_except_for_apis_answered_here(endpoint_rig: EndpointRig) -> None:
    response = await Talk(interceptor(endpoint_rig, 18), ApiVersionsRequest(), 2).answer(THEIRS)
    rows = {row.api_key: (row.min_version, row.max_version) for row in response.api_keys}
    assert (rows[3], rows[17], rows[22]) == ((0, 4), (1, 1), (0, 1))
    assert {key: rows[key] for key in ANSWERED} == {
        key: (served(key)[0], served(key)[-1]) for key in ANSWERED
    }


async def test_an_api_that_nothing_can_answer_is_hidden(endpoint_rig: EndpointRig) -> None:
    response = await Talk(interceptor(endpoint_rig, 18), ApiVersionsRequest(), 2).answer(THEIRS)
    assert 57 not in [row.api_key for row in response.api_keys]


async def test_a_brokers_answer_to_an_unsupported_version_is_relayed(endpoint_rig: EndpointRig) -> None:
    refusal = ApiVersionsResponse(error_code=35)
    assert (
        await Talk(interceptor(endpoint_rig, 18), ApiVersionsRequest(), 3).answer(refusal, version=0)
    ).api_keys == ()
    unknown = bytes((0, 18, 0, 99)) + bytes(20)
    assert interceptor(endpoint_rig, 18)(incoming_part(unknown), client()) is PASSED


@pytest.mark.parametrize("key", sorted(ANSWERED))
def test_a_version_that_is_not_shown_is_not_served(endpoint_rig: EndpointRig, key: int) -> None:
    head = key.to_bytes(2) + (served(key)[-1] + 1).to_bytes(2) + bytes(40)
    with pytest.raises(DecodeError, match=f"API key {key} version"):
        interceptor(endpoint_rig, key)(incoming_part(head), client())


@pytest.mark.parametrize(
    ("key", "request_", "version"),
    [(7, ControlledShutdownRequest(1), 3), (56, AlterPartitionRequest(1, 7), 0)],
)
def test_requests_of_brokers_need_cluster_action(
    endpoint_rig: EndpointRig, key: int, request_: Any, version: int
) -> None:
    upstream = Talk(interceptor(endpoint_rig, key), request_, version).upstream
    assert (upstream.api_key, decode_request(upstream).broker_id) == (7, -1)


def test_creating_growing_and_deleting_topics_queries_topic_permissions(endpoint_rig: EndpointRig) -> None:
    assert named(endpoint_rig, 19, CreateTopicsRequest([CreatableTopic("foo")]), 5) == ["foo"]
    assert named(endpoint_rig, 37, CreatePartitionsRequest([CreatePartitionsTopic("foo", 2, None)]), 1) == [
        "foo"
    ]
    assert named(endpoint_rig, 20, DeleteTopicsRequest(topic_names=["foo", "bar"]), 3) == ["foo", "bar"]
    assert named(endpoint_rig, 43, ElectLeadersRequest(), 2) == []


def test_the_query_names_an_internal_topic_only_if_it_exists(endpoint_rig: EndpointRig) -> None:
    request_ = CreateTopicsRequest([CreatableTopic("__consumer_offsets"), CreatableTopic("__foo")])
    assert named(endpoint_rig, 19, request_, 5) == ["__foo"]
    endpoint_rig.activate()
    assert named(endpoint_rig, 19, request_, 5) == ["__foo"]
    endpoint_rig.state.put(Topic("__consumer_offsets", bytes(16)))
    assert named(endpoint_rig, 19, request_, 5) == ["__consumer_offsets", "__foo"]


def test_a_request_too_large_to_inspect_is_refused(endpoint_rig: EndpointRig) -> None:
    payload = bytes(incoming(DeleteTopicsRequest(topic_names=["foo"]), 3).frame) + bytes(LARGEST_DECODED)
    with pytest.raises(DecodeError, match="for topics"):
        interceptor(endpoint_rig, 20)(incoming_part(payload), client())


def test_the_query_for_a_topic_deleted_by_id_names_the_topic(endpoint_rig: EndpointRig) -> None:
    by_id, other = bytes(15) + b"\1", bytes(15) + b"\2"
    states = [DeleteTopicState(None, by_id), DeleteTopicState(None, other), DeleteTopicState("bar")]
    assert named(endpoint_rig, 20, DeleteTopicsRequest(states), 6) == ["bar"]
    endpoint_rig.state.cluster.topic_names[by_id] = "foo"
    endpoint_rig.activate()
    assert named(endpoint_rig, 20, DeleteTopicsRequest(states), 6) == ["foo", "bar"]


def test_brokers_authenticate(endpoint_rig: EndpointRig) -> None:
    assert interceptor(endpoint_rig, 36) is authenticate
    handshake = incoming_part(bytes((0, 17, 0, 1)) + bytes(20))
    assert isinstance(interceptor(endpoint_rig, 17)(handshake, client()), Exchange)
    with pytest.raises(DecodeError, match="API key 17 version 0"):
        interceptor(endpoint_rig, 17)(incoming_part(bytes((0, 17, 0, 0)) + bytes(20)), client())


def test_produce_requests_and_their_answers_are_relayed(endpoint_rig: EndpointRig) -> None:
    assert interceptor(endpoint_rig, 0)(incoming_part(produce(11, -1)), client()) is PASSED
    assert interceptor(endpoint_rig, 0)(incoming_part(produce(11, 0)), client()) is NO_ANSWER


def test_other_apis_have_no_interceptor(endpoint_rig: EndpointRig) -> None:
    assert (
        not {1, 3, 10, 22, 60}
        & controller_interceptors(1000, endpoint_rig.endpoint, endpoint_rig.endpoint.answer).keys()
    )


def test_the_query_for_very_many_topics_names_only_the_first(endpoint_rig: EndpointRig) -> None:
    topics = [CreatableTopic(f"t{number}", 1, 1) for number in range(50_001)]
    asked_about = named(endpoint_rig, 19, CreateTopicsRequest(topics), 7)
    assert asked_about == [f"t{number}" for number in range(1_000)]


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
