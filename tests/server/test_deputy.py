"""A controller among brokers: what it answers, what it hands on, and what it says when it is not in office."""

import inspect
from struct import unpack_from
from typing import Any

import pytest

from protocol.apis import ApiKey
from protocol.connection import Connection
from protocol.errors import DecodeError
from protocol.frames import (
    RequestFrame,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
    parse_response,
)
from protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol.messages.api_versions_request import ApiVersionsRequest
from protocol.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.metadata_request import MetadataRequest
from server.deputy import OWN, Deputy
from server.registry import ROUTES
from server.router import Caller

ALTER = AlterPartitionReassignmentsRequest(
    topics=[ReassignableTopic("foo", [ReassignablePartition(0, (1,)), ReassignablePartition(1, (2,))])]
)
THEIRS = ApiVersionsResponse(api_keys=[ApiVersion(3, 0, 4), ApiVersion(22, 0, 1), ApiVersion(45, 0, 0)])


def frame_of(message: tuple[Any, ...], version: int) -> RequestFrame:
    [frame] = Connection().receive_data(encode_request(message, version, 7, "test"))
    return frame


class Broker:
    """Answers ApiVersions, and echoes what else it is handed."""

    def __init__(self) -> None:
        self.handed: list[bytes] = []

    async def forward(self, payload: bytes) -> bytes:
        self.handed.append(payload)
        key, version, correlation = unpack_from(">hhi", payload)
        frame = RequestFrame(key, version, correlation, None, memoryview(b""), known=True)
        if frame.api_key == ApiKey.API_VERSIONS:
            return encode_response(frame, THEIRS)[4:]
        return payload[4:8] + b"answer"


async def answered(deputy: Deputy, frame: RequestFrame) -> bytes:
    answer = deputy.answer(frame, Caller(None, "", ""))  # type: ignore[arg-type]
    return await answer if inspect.isawaitable(answer) else answer


async def test_what_is_no_concern_of_a_controller_is_handed_on_as_it_is() -> None:
    broker = Broker()
    frame = frame_of(MetadataRequest(), 4)
    assert (
        await answered(Deputy(broker.forward, 1000), frame) == (10).to_bytes(4) + (7).to_bytes(4) + b"answer"
    )
    assert broker.handed == [frame.payload]


async def test_so_is_what_we_have_no_messages_for() -> None:
    broker = Broker()
    init_producer_id = (22).to_bytes(2) + (1).to_bytes(2) + (9).to_bytes(4) + b"whatever"
    [frame] = Connection().receive_data(len(init_producer_id).to_bytes(4) + init_producer_id)
    assert (await answered(Deputy(broker.forward, 1000), frame))[4:8] == (9).to_bytes(4)
    assert broker.handed == [init_producer_id]


async def test_the_versions_are_the_brokers_but_for_what_we_answer() -> None:
    answer = await answered(Deputy(Broker().forward, 1000), frame_of(ApiVersionsRequest(), 2))
    response = decode_response(parse_response(answer[4:], 18, 2))
    rows = {row.api_key: (row.min_version, row.max_version) for row in response.api_keys}
    assert (rows[3], rows[22]) == ((0, 4), (0, 1))
    assert rows[45] == (ROUTES[45].versions[0], ROUTES[45].versions[-1])
    assert rows.keys() >= OWN


async def test_out_of_office_every_row_is_told_to_ask_elsewhere() -> None:
    answer = await answered(Deputy(Broker().forward, 1000), frame_of(ALTER, 0))
    response = decode_response(parse_response(answer[4:], 45, 0))
    assert response.error_code == 41
    assert [[row.error_code for row in topic.partitions] for topic in response.responses] == [[41, 41]]


async def test_in_office_the_router_answers() -> None:
    deputy = Deputy(Broker().forward, 1000)

    class Office:
        def answer(self, frame: RequestFrame, caller: Caller) -> bytes:
            return b"ours"

    deputy.router = Office()  # type: ignore[assignment]
    assert await answered(deputy, frame_of(ALTER, 0)) == b"ours"


async def test_without_a_broker_the_connection_is_closed() -> None:
    async def nobody(_: bytes) -> bytes:
        raise ConnectionRefusedError("no broker is registered")

    with pytest.raises(DecodeError, match="no broker to hand API key 3 on to"):
        await answered(Deputy(nobody, 1000), frame_of(MetadataRequest(), 4))


def altered(kind: int, name: str, key: str) -> RequestFrame:
    change = AlterableConfig(key, 0, "1")
    return frame_of(IncrementalAlterConfigsRequest([AlterConfigsResource(kind, name, [change])]), 0)


@pytest.mark.parametrize(
    ("kind", "name", "key", "ours"),
    [
        (4, "", "reassignment.max.concurrent.partition.movements", True),
        (4, "1000", "leader.replication.throttled.rate", True),
        (4, "", "log.cleaner.threads", False),
        (2, "foo", "retention.ms", False),
    ],
)
async def test_configs_are_a_brokers_affair_but_for_ours(kind: int, name: str, key: str, ours: bool) -> None:
    broker = Broker()
    answer = await answered(Deputy(broker.forward, 1000), altered(kind, name, key))
    assert (broker.handed == []) is ours
    assert answer.endswith(b"answer") is not ours


class Checker:
    """A router that refuses values of ours that are 0, and notes what it was to check."""

    def __init__(self) -> None:
        self.asked: list[IncrementalAlterConfigsRequest] = []

    def answer(self, frame: RequestFrame, caller: Caller) -> bytes:
        self.asked.append(request := decode_request(frame))
        bad = any(key.value == "0" for resource in request.resources for key in resource.configs)
        return encode_response(
            frame, ROUTES[44].refuse(request, 40 if bad else 0, "too small" if bad else None)
        )


@pytest.mark.parametrize(("value", "handed"), [("1", 1), ("0", 0)])
async def test_keys_of_both_are_checked_here_and_written_by_a_broker(value: str, handed: int) -> None:
    keys = [AlterableConfig("reassignment.x", 0, value), AlterableConfig("log.cleaner.threads", 0, "1")]
    frame = frame_of(IncrementalAlterConfigsRequest([AlterConfigsResource(4, "", keys)]), 1)
    deputy = Deputy((broker := Broker()).forward, 1000)
    deputy.router = checker = Checker()  # type: ignore[assignment]
    answer = await answered(deputy, frame)
    assert broker.handed == [frame.payload] * handed
    assert [(each.validate_only, list(each.resources[0].configs)) for each in checker.asked] == [
        (True, keys[:1])
    ]
    assert handed or decode_response(parse_response(answer[4:], 44, 1)).responses[0].error_code == 40
