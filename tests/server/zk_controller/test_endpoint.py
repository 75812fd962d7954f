"""Requests to the endpoint, as active controller and otherwise, with and without rights."""

import inspect
from typing import Any, NamedTuple, cast

import pytest

from protocol.connection import Connection
from protocol.frames import RequestFrame, encode_request, parse_response
from protocol.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol.messages.alter_partition_request import AlterPartitionRequest
from protocol.messages.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
)
from protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from protocol.schema import Request
from server.dispatch.authorizer import ANONYMOUS, Operation
from server.dispatch.registry import ROUTES
from server.dispatch.router import Caller
from server.ports import BrokerPort
from server.zk_controller.authorization import Rights
from server.zk_controller.endpoint import (
    ANSWERED,
    CONTROLLER_ONLY_APIS,
    ControllerEndpoint,
    not_controller,
    served,
)
from tests.frames import decode_response
from tests.server.zk_controller.conftest import EndpointRig

ALTER = AlterPartitionReassignmentsRequest(
    topics=[ReassignableTopic("foo", [ReassignablePartition(0, (1,)), ReassignablePartition(1, (2,))])]
)
IDS = AllocateProducerIdsRequest(1, 7)


def frame_of(message: Request[NamedTuple], version: int) -> RequestFrame:
    [frame] = Connection().receive_data(encode_request(message, version, 7, "test"))
    return frame


async def answered(
    endpoint: ControllerEndpoint, message: Request[NamedTuple], version: int, rights: Rights | None = None
) -> Any:
    frame = frame_of(message, version)
    caller = Caller(cast(BrokerPort, None), ANONYMOUS, "", Rights() if rights is None else rights)
    answer = endpoint.answer(frame, caller)
    result = await answer if inspect.isawaitable(answer) else answer
    return decode_response(parse_response(result[4:], frame.api_key, version))


async def test_an_inactive_controller_answers_not_controller_in_every_row(endpoint_rig: EndpointRig) -> None:
    response = await answered(endpoint_rig.endpoint, ALTER, 0, Rights(-1))
    assert response.error_code == 41
    assert [[row.error_code for row in topic.partitions] for topic in response.responses] == [[41, 41]]
    assert (await answered(endpoint_rig.endpoint, IDS, 0, Rights(-1))).error_code == 41


async def test_the_active_controller_answers_permitted_principals(endpoint_rig: EndpointRig) -> None:
    endpoint_rig.activate()
    alter = Rights(1 << Operation.ALTER)
    assert (
        await answered(endpoint_rig.endpoint, AlterPartitionReassignmentsRequest(), 0, alter)
    ).error_code == 0
    response = await answered(endpoint_rig.endpoint, ALTER, 0)
    assert [row.error_code for topic in response.responses for row in topic.partitions] == [31, 31]
    assert endpoint_rig.driver.events == []


async def test_an_isr_change_needs_cluster_action(endpoint_rig: EndpointRig) -> None:
    endpoint_rig.activate()
    assert (
        await answered(endpoint_rig.endpoint, AlterPartitionRequest(1, 7), 1, Rights(1 << Operation.ALTER))
    ).error_code == 31
    assert endpoint_rig.driver.events == []


async def test_each_topic_is_created_if_permitted(endpoint_rig: EndpointRig) -> None:
    endpoint_rig.activate([])
    request = CreateTopicsRequest([CreatableTopic("foo", 1, 1)], validate_only=True)
    response = await answered(endpoint_rig.endpoint, request, 5, Rights(0, {"foo": 1 << Operation.DESCRIBE}))
    assert [(topic.name, topic.error_code) for topic in response.topics] == [("foo", 29)]


async def test_producer_ids_need_cluster_action(endpoint_rig: EndpointRig) -> None:
    endpoint_rig.activate()
    assert (await answered(endpoint_rig.endpoint, IDS, 0)).error_code == 31
    assert endpoint_rig.allocated == []
    response = await answered(endpoint_rig.endpoint, IDS, 0, Rights(1 << Operation.CLUSTER_ACTION))
    assert (response.producer_id_start, endpoint_rig.allocated) == (1000, [(1, 7)])


async def test_scram_users_need_alter_on_the_cluster(endpoint_rig: EndpointRig) -> None:
    request = AlterUserScramCredentialsRequest([ScramCredentialDeletion("ann", 1)])
    alter = Rights(1 << Operation.ALTER)
    assert [row.error_code for row in (await answered(endpoint_rig.endpoint, request, 0, alter)).results] == [
        41
    ]
    endpoint_rig.activate()
    assert [row.error_code for row in (await answered(endpoint_rig.endpoint, request, 0)).results] == [31]
    assert endpoint_rig.altered == []
    assert [row.error_code for row in (await answered(endpoint_rig.endpoint, request, 0, alter)).results] == [
        0
    ]
    assert endpoint_rig.altered == ["ann"]


@pytest.mark.parametrize("key", sorted(ANSWERED))
def test_versions_are_those_of_the_handlers(key: int) -> None:
    assert served(key) == (range(1) if key in CONTROLLER_ONLY_APIS else ROUTES[key].versions)


async def test_an_inactive_controller_refuses_the_first_rows_of_a_large_request() -> None:
    topics = [CreatableTopic(f"t{number}", 1, 1) for number in range(50_001)]
    frame = frame_of(CreateTopicsRequest(topics), 7)
    rows = decode_response(parse_response(not_controller(frame)[4:], 19, 7)).topics
    assert [row.name for row in rows] == [f"t{number}" for number in range(1_000)]
    assert {row.error_code for row in rows} == {41}
