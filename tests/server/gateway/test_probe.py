"""45 and 46: the upstream gets an empty request, and reassignd's answer replaces its answer."""

from typing import Any

import pytest

from common.error_codes import ErrorCode
from protocol.frames import parse_request
from protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol.messages.alter_partition_reassignments_response import AlterPartitionReassignmentsResponse
from protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from protocol.messages.list_partition_reassignments_response import ListPartitionReassignmentsResponse
from server.gateway.probe import answer_after_probe
from tests.frames import decode_request
from tests.server.gateway.doubles import FakeServices
from tests.server.relay.doubles import CORRELATION_ID, Talk, client, incoming, incoming_part

ALTER = AlterPartitionReassignmentsRequest(
    timeout_ms=0, topics=[ReassignableTopic("foo", [ReassignablePartition(0, (1, 2))])]
)
CASES = [
    pytest.param(ALTER, 0, AlterPartitionReassignmentsResponse, id="alter-0"),
    pytest.param(ALTER, 1, AlterPartitionReassignmentsResponse, id="alter-1"),
    pytest.param(ListPartitionReassignmentsRequest(), 0, ListPartitionReassignmentsResponse, id="list"),
]


@pytest.fixture
def fake() -> FakeServices:
    return FakeServices()


@pytest.mark.parametrize(("request_", "version", "response"), CASES)
def test_the_upstream_gets_an_empty_request(
    fake: FakeServices, request_: Any, version: int, response: Any
) -> None:
    upstream = Talk(answer_after_probe(fake.services), request_, version).upstream
    asking = decode_request(upstream)
    assert asking.topics == ()
    assert asking.timeout_ms > 0
    assert (upstream.correlation_id, upstream.client_id) == (CORRELATION_ID, "me")
    assert fake.answered == []


@pytest.mark.parametrize(("request_", "version", "response"), CASES)
async def test_if_the_upstream_allows_it_the_clients_request_is_answered_here(
    fake: FakeServices, request_: Any, version: int, response: Any
) -> None:
    fake.make = lambda _: response(error_message="ours")
    answer = await Talk(answer_after_probe(fake.services), request_, version).answer(
        response(error_message="theirs")
    )
    assert answer.error_message == "ours"
    (frame,) = fake.answered
    assert (
        decode_request(frame).topics
        == decode_request(parse_request(bytes(incoming(request_, version).frame))).topics
    )
    assert fake.refused == []


async def test_an_order_behind_a_login_has_its_principal(fake: FakeServices) -> None:
    fake.make = lambda _: AlterPartitionReassignmentsResponse()
    who = client(authenticated=False)
    order = Talk(answer_after_probe(fake.services), ALTER, 0, who)
    who.caller = who.caller._replace(principal="User:alice")  # the broker's answer to the login comes first
    await order.answer(AlterPartitionReassignmentsResponse())
    assert [caller.principal for caller in fake.callers] == ["User:alice"]


@pytest.mark.parametrize(("request_", "version", "response"), CASES)
async def test_if_the_upstream_refuses_the_request_is_refused_with_an_own_message(
    fake: FakeServices, request_: Any, version: int, response: Any
) -> None:
    fake.make = lambda _: response()
    theirs = response(
        error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, error_message="User:bob at 10.0.0.1 ..."
    )
    await Talk(answer_after_probe(fake.services), request_, version).answer(theirs)
    assert fake.refused == [(31, "Cluster authorization failed.")]


async def test_other_errors_are_relayed(fake: FakeServices) -> None:
    fake.make = lambda _: AlterPartitionReassignmentsResponse()
    theirs = AlterPartitionReassignmentsResponse(error_code=42, error_message="not I")
    await Talk(answer_after_probe(fake.services), ALTER, 1).answer(theirs)
    assert fake.refused == [(42, "not I")]


def test_the_whole_request_is_read(fake: FakeServices) -> None:
    whole = incoming(ALTER, 1)
    assert (
        answer_after_probe(fake.services)(incoming_part(bytes(whole.frame[:20]), whole.size), client())
        == whole.size
    )


@pytest.mark.parametrize(("request_", "version", "response"), CASES)
async def test_the_answer_of_a_broker_that_is_not_the_controller_also_allows_it(
    fake: FakeServices, request_: Any, version: int, response: Any
) -> None:
    fake.make = lambda _: response(error_message="ours")
    theirs = response(error_code=ErrorCode.NOT_CONTROLLER)
    answer = await Talk(answer_after_probe(fake.services), request_, version).answer(theirs)
    assert (answer.error_code, answer.error_message) == (0, "ours")
