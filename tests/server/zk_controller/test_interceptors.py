"""Which rule there is for which key at a controller's listener."""

from typing import Any

import pytest

from controller.model.cluster import Topic
from protocol.errors import DecodeError
from protocol.frames import decode_request
from protocol.messages.alter_partition_request import AlterPartitionRequest
from protocol.messages.api_versions_request import ApiVersionsRequest
from protocol.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from protocol.messages.controlled_shutdown_request import ControlledShutdownRequest
from protocol.messages.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from protocol.messages.elect_leaders_request import ElectLeadersRequest
from server.relay.exchange import LARGEST_DECODED, PASSED, Interceptor
from server.relay.produce import NO_ANSWER
from server.relay.sasl import authenticate
from server.zk_controller.endpoint import ANSWERED, served
from server.zk_controller.interceptors import controller_interceptors
from tests.server.relay.doubles import Talk, client, incoming, incoming_part
from tests.server.relay.test_produce import request as produce
from tests.server.zk_controller.conftest import Seat

THEIRS = ApiVersionsResponse(
    api_keys=[
        ApiVersion(3, 0, 4),
        ApiVersion(17, 0, 1),
        ApiVersion(22, 0, 1),
        ApiVersion(45, 0, 0),
        ApiVersion(57, 0, 1),
    ]
)


def rule(seat: Seat, key: int) -> Interceptor:
    return controller_interceptors(1000, seat.endpoint, seat.endpoint.answer)[key]


def named(seat: Seat, key: int, request: Any, version: int) -> list[str]:
    """The topics named in the query for a request."""
    upstream = Talk(rule(seat, key), request, version).upstream
    assert upstream.api_key == 3
    return [each.name for each in decode_request(upstream).topics]


async def test_the_versions_are_the_brokers_but_for_what_we_answer(seat: Seat) -> None:
    response = await Talk(rule(seat, 18), ApiVersionsRequest(), 2).answer(THEIRS)
    rows = {row.api_key: (row.min_version, row.max_version) for row in response.api_keys}
    assert (rows[3], rows[17], rows[22]) == ((0, 4), (1, 1), (0, 1))
    assert {key: rows[key] for key in ANSWERED} == {
        key: (served(key)[0], served(key)[-1]) for key in ANSWERED
    }


async def test_what_neither_a_broker_nor_we_can_answer_is_not_shown(seat: Seat) -> None:
    response = await Talk(rule(seat, 18), ApiVersionsRequest(), 2).answer(THEIRS)
    assert 57 not in [row.api_key for row in response.api_keys]


async def test_what_a_broker_says_of_a_version_that_it_lacks_passes(seat: Seat) -> None:
    refusal = ApiVersionsResponse(error_code=35)
    assert (await Talk(rule(seat, 18), ApiVersionsRequest(), 3).answer(refusal, version=0)).api_keys == ()
    unknown = bytes((0, 18, 0, 99)) + bytes(20)
    assert rule(seat, 18)(incoming_part(unknown), client()) is PASSED


@pytest.mark.parametrize("key", sorted(ANSWERED))
def test_a_version_that_is_not_shown_is_not_served(seat: Seat, key: int) -> None:
    head = key.to_bytes(2) + (served(key)[-1] + 1).to_bytes(2) + bytes(40)
    with pytest.raises(DecodeError, match=f"API key {key} version"):
        rule(seat, key)(incoming_part(head), client())


@pytest.mark.parametrize(
    ("key", "request_", "version"),
    [(7, ControlledShutdownRequest(1), 3), (56, AlterPartitionRequest(1, 7), 0)],
)
def test_what_brokers_ask_is_for_those_who_may_do_what_brokers_do(
    seat: Seat, key: int, request_: Any, version: int
) -> None:
    upstream = Talk(rule(seat, key), request_, version).upstream
    assert (upstream.api_key, decode_request(upstream).broker_id) == (7, -1)


def test_rights_on_topics_are_asked_where_topics_are_made_grown_or_deleted(seat: Seat) -> None:
    assert named(seat, 19, CreateTopicsRequest([CreatableTopic("foo")]), 5) == ["foo"]
    assert named(seat, 37, CreatePartitionsRequest([CreatePartitionsTopic("foo", 2, None)]), 1) == ["foo"]
    assert named(seat, 20, DeleteTopicsRequest(topic_names=["foo", "bar"]), 3) == ["foo", "bar"]
    assert named(seat, 43, ElectLeadersRequest(), 2) == []


def test_an_internal_topic_is_asked_about_where_there_is_one(seat: Seat) -> None:
    request_ = CreateTopicsRequest([CreatableTopic("__consumer_offsets"), CreatableTopic("__foo")])
    assert named(seat, 19, request_, 5) == ["__foo"]
    seat.take_office()
    assert named(seat, 19, request_, 5) == ["__foo"]
    seat.state.put(Topic("__consumer_offsets", bytes(16)))
    assert named(seat, 19, request_, 5) == ["__consumer_offsets", "__foo"]


def test_a_request_that_is_too_large_to_be_looked_into_is_refused(seat: Seat) -> None:
    payload = bytes(incoming(DeleteTopicsRequest(topic_names=["foo"]), 3).frame) + bytes(LARGEST_DECODED)
    with pytest.raises(DecodeError, match="for topics"):
        rule(seat, 20)(incoming_part(payload), client())


def test_a_topic_that_is_deleted_by_its_id_is_asked_about_by_its_name(seat: Seat) -> None:
    by_id, other = bytes(15) + b"\1", bytes(15) + b"\2"
    states = [DeleteTopicState(None, by_id), DeleteTopicState(None, other), DeleteTopicState("bar")]
    assert named(seat, 20, DeleteTopicsRequest(states), 6) == ["bar"]
    seat.state.topic_names[by_id] = "foo"
    seat.take_office()
    assert named(seat, 20, DeleteTopicsRequest(states), 6) == ["foo", "bar"]


def test_brokers_authenticate(seat: Seat) -> None:
    assert rule(seat, 36) is authenticate
    assert rule(seat, 17)(incoming_part(bytes((0, 17, 0, 1)) + bytes(20)), client()) is PASSED
    with pytest.raises(DecodeError, match="API key 17 version 0"):
        rule(seat, 17)(incoming_part(bytes((0, 17, 0, 0)) + bytes(20)), client())


def test_what_is_produced_passes_with_its_answer_if_there_is_one(seat: Seat) -> None:
    assert rule(seat, 0)(incoming_part(produce(11, -1)), client()) is PASSED
    assert rule(seat, 0)(incoming_part(produce(11, 0)), client()) is NO_ANSWER


def test_what_is_no_concern_of_a_controller_has_no_rule(seat: Seat) -> None:
    assert not {1, 3, 10, 22, 60} & controller_interceptors(1000, seat.endpoint, seat.endpoint.answer).keys()


def test_of_very_many_topics_a_broker_is_asked_about_the_first(seat: Seat) -> None:
    topics = [CreatableTopic(f"t{number}", 1, 1) for number in range(50_001)]
    asked_about = named(seat, 19, CreateTopicsRequest(topics), 7)
    assert asked_about == [f"t{number}" for number in range(1_000)]
