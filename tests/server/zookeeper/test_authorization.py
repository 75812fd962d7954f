"""Queries for a principal's rights, and the rights read from the answers."""

import pytest

from controller.model.access import Operation
from protocol.codec.errors import DecodeError
from protocol.frames import encode_request
from protocol.messages.alter_partition_reassignments_request import AlterPartitionReassignmentsRequest
from protocol.messages.controlled_shutdown_request import ControlledShutdownRequest
from protocol.messages.controlled_shutdown_response import ControlledShutdownResponse
from protocol.messages.metadata_request import MetadataRequest
from protocol.messages.metadata_response import MetadataResponse, MetadataResponseTopic
from server.dispatch.context import (
    CLUSTER,
    topic,
)
from server.relay.exchange import Exchange
from server.zookeeper.authorization import (
    CLUSTER_ACTION,
    NO_BROKER,
    AnyQuery,
    Rights,
    operations_query,
    with_rights,
)
from tests.server.relay.doubles import CORRELATION_ID, client, incoming, incoming_part

NOT_TOLD = -2147483648


def test_operations_are_bits() -> None:
    rights = Rights(1 << Operation.ALTER, {"foo": 1 << Operation.DELETE})
    assert rights.allows("anyone", Operation.ALTER, CLUSTER)
    assert not rights.allows("anyone", Operation.DESCRIBE, CLUSTER)
    assert rights.allows("anyone", Operation.DELETE, topic("foo"))
    assert not rights.allows("anyone", Operation.DELETE, topic("bar"))


@pytest.mark.parametrize("operation", Operation)
def test_an_operation_that_the_answer_omits_is_not_allowed(operation: Operation) -> None:
    rights = operations_query(["foo"]).read(
        MetadataResponse(
            topics=[MetadataResponseTopic(29, "foo", topic_authorized_operations=NOT_TOLD)],
            cluster_authorized_operations=NOT_TOLD,
        )
    )
    assert not rights.allows("", operation, CLUSTER)
    assert not rights.allows("", operation, topic("foo"))


def test_the_query_names_each_topic_once_and_creates_none() -> None:
    request = operations_query(["foo", "bar", "foo", "x" * 250]).request
    assert isinstance(request, MetadataRequest)
    assert [each.name for each in request.topics or ()] == ["foo", "bar"]
    assert not request.allow_auto_topic_creation
    assert (request.include_cluster_authorized_operations, request.include_topic_authorized_operations) == (
        True,
        True,
    )


def test_a_query_without_topics_does_not_ask_for_all_topics() -> None:
    request = operations_query().request
    assert isinstance(request, MetadataRequest)
    assert request.topics == []


@pytest.mark.parametrize(("code", "allowed"), [(31, False), (11, True), (8, True), (0, True)])
def test_the_permission_for_controlled_shutdown_implies_cluster_action(code: int, allowed: bool) -> None:
    rights = CLUSTER_ACTION.read(ControlledShutdownResponse(code))
    assert rights.allows("", Operation.CLUSTER_ACTION, CLUSTER) is allowed
    assert not rights.allows("", Operation.ALTER, CLUSTER)


@pytest.mark.parametrize("code", [-1, 7, 41, 58])
def test_an_error_unrelated_to_permissions_is_no_answer(code: int) -> None:
    with pytest.raises(DecodeError, match=f"rights, but error {code}"):
        CLUSTER_ACTION.read(ControlledShutdownResponse(code))


def test_the_query_shuts_no_broker_down() -> None:
    request = CLUSTER_ACTION.request
    assert isinstance(request, ControlledShutdownRequest)
    assert request.broker_id == NO_BROKER


@pytest.mark.parametrize("query", [operations_query(["foo"]), CLUSTER_ACTION])
def test_the_query_replaces_the_request_in_the_same_position(query: AnyQuery) -> None:
    rule = with_rights(lambda _: query, lambda *_: b"")
    whole = incoming(AlterPartitionReassignmentsRequest(), 0)
    assert rule(incoming_part(bytes(whole.frame[:12]), whole.size), client()) == whole.size
    exchange = rule(whole, client())
    assert isinstance(exchange, Exchange)
    assert exchange.upstream == encode_request(query.request, query.version, CORRELATION_ID, "me")
