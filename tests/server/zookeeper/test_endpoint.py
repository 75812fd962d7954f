"""Requests to the endpoint, as active controller and otherwise, with and without rights."""

import hashlib
import inspect
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import pytest

from common.error_codes import ErrorCode
from controller.model.access import Operation
from protocol.codec.errors import ApiError
from protocol.codec.schema import Request
from protocol.frames import Connection, RequestFrame, encode_request, parse_response
from protocol.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from protocol.messages.allocate_producer_ids_response import AllocateProducerIdsResponse
from protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol.messages.alter_partition_request import AlterPartitionRequest
from protocol.messages.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from protocol.messages.alter_user_scram_credentials_response import AlterUserScramCredentialsResult
from protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from server.dispatch.context import (
    ANONYMOUS,
    BrokerPort,
    Caller,
)
from server.dispatch.registry import ROUTES
from server.zookeeper.authorization import Rights
from server.zookeeper.endpoint import (
    ANSWERED,
    CONTROLLER_ONLY_APIS,
    Allocate,
    ControllerEndpoint,
    answer_producer_ids,
    answer_scram_users,
    not_controller,
    served,
)
from tests.frames import decode_response
from tests.server.zookeeper.conftest import EndpointRig

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


async def allocated(allocate: Allocate) -> AllocateProducerIdsResponse:
    encoded = await answer_producer_ids(frame_of(AllocateProducerIdsRequest(1, 7), 0), allocate)
    response: AllocateProducerIdsResponse = decode_response(parse_response(encoded[4:], 67, 0))
    return response


async def test_a_broker_gets_its_block() -> None:
    async def allocate(broker: int, epoch: int) -> tuple[int, int]:
        return broker * 1000, epoch

    assert await allocated(allocate) == AllocateProducerIdsResponse(0, 0, 1000, 7)


async def test_a_refusal_is_answered() -> None:
    async def allocate(broker: int, epoch: int) -> tuple[int, int]:
        raise ApiError(ErrorCode.STALE_BROKER_EPOCH)

    assert (await allocated(allocate)).error_code == 77


async def test_a_failure_is_answered_without_details() -> None:
    async def allocate(broker: int, epoch: int) -> tuple[int, int]:
        raise ValueError("secret")

    assert (await allocated(allocate)).error_code == -1


# RFC 7677, section 3: the example of SCRAM-SHA-256.
SALT = b"[m\x99h\x9d\x12\x35\x8e\xec\xa0K\x14\x126\xfa\x81"
SALTED = hashlib.pbkdf2_hmac("sha256", b"pencil", SALT, 4096)
STORED = (
    "salt=W22ZaJ0SNY7soEsUEjb6gQ==,stored_key=WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=,"
    "server_key=wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=,iterations=4096"
)


class Users:
    """The stored users. User `nobody` has no credentials, and `broken` cannot be stored."""

    def __init__(self) -> None:
        self.stored: dict[str, dict[str, str | None]] = {}

    async def alter(self, user: str, changes: Mapping[str, str | None]) -> None:
        if user == "nobody":
            raise ApiError(ErrorCode.RESOURCE_NOT_FOUND, "nothing there")
        if user == "broken":
            raise ValueError("secret")
        self.stored[user] = dict(changes)

    async def answered(
        self, *rows: ScramCredentialUpsertion | ScramCredentialDeletion
    ) -> list[AlterUserScramCredentialsResult]:
        request = AlterUserScramCredentialsRequest(
            [row for row in rows if isinstance(row, ScramCredentialDeletion)],
            [row for row in rows if isinstance(row, ScramCredentialUpsertion)],
        )
        encoded = await answer_scram_users(frame_of(request, 0), self.alter)
        return list(decode_response(parse_response(encoded[4:], 51, 0)).results)


def sets(user: str = "ann", mechanism: int = 1, iterations: int = 4096) -> ScramCredentialUpsertion:
    return ScramCredentialUpsertion(user, mechanism, iterations, SALT, SALTED)


def removes(user: str = "ann", mechanism: int = 1) -> ScramCredentialDeletion:
    return ScramCredentialDeletion(user, mechanism)


async def test_a_password_is_stored_in_the_format_of_brokers() -> None:
    users = Users()
    assert await users.answered(sets(), removes(mechanism=2)) == [
        AlterUserScramCredentialsResult("ann", 0, None)
    ]
    assert users.stored == {"ann": {"SCRAM-SHA-256": STORED, "SCRAM-SHA-512": None}}


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ([sets(user="")], ErrorCode.UNACCEPTABLE_CREDENTIAL),
        ([sets(mechanism=0)], ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        ([removes(mechanism=3)], ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        ([sets(), removes()], ErrorCode.DUPLICATE_RESOURCE),
        ([sets(), sets()], ErrorCode.DUPLICATE_RESOURCE),
        ([sets(iterations=4095)], ErrorCode.UNACCEPTABLE_CREDENTIAL),
        ([sets(iterations=16_385)], ErrorCode.UNACCEPTABLE_CREDENTIAL),
        ([removes("nobody")], ErrorCode.RESOURCE_NOT_FOUND),
        ([sets("broken")], ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
async def test_an_error_of_one_user_does_not_affect_others(
    rows: list[ScramCredentialUpsertion | ScramCredentialDeletion], code: ErrorCode
) -> None:
    users = Users()
    codes = {row.user: row.error_code for row in await users.answered(*rows, sets("bob"))}
    assert codes == {rows[0].name: code, "bob": 0}
    assert list(users.stored) == ["bob"]


async def test_the_details_of_a_failure_are_not_revealed() -> None:
    [row] = await Users().answered(sets("broken"))
    assert row.error_message is None


async def test_a_request_for_too_many_users_changes_none() -> None:
    users = Users()
    rows = await users.answered(*(sets(f"user-{number}") for number in range(1_001)))
    assert {row.error_code for row in rows} == {ErrorCode.INVALID_REQUEST}
    assert users.stored == {}
