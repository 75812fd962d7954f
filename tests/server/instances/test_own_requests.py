"""Reassignd's keys at a standby: forwarded as requests of the same APIs."""

import asyncio
from typing import Any

import pytest

from common.clock import ManualClock
from common.error_codes import ErrorCode
from controller.messages.event import Requester
from controller.model.cluster import Config, ResourceType
from protocol.codec.errors import DecodeError
from protocol.messages.alter_configs_request import AlterableConfig as ReplacedConfig
from protocol.messages.alter_configs_request import AlterConfigsRequest
from protocol.messages.alter_configs_request import AlterConfigsResource as ReplacedResource
from protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.metadata_request import MetadataRequest
from server.gateway.configs import OwnKeys
from server.instances.switch import answer_own
from tests.server.instances.doubles import CALLER, FakeNetwork, Instance, frame_of, response_of

MOVEMENTS = "reassignment.max.concurrent.partition.movements"
LEADERS = "reassignment.max.concurrent.leader.movements"
BROKER = ResourceType.BROKER
SET, APPEND = 0, 2
DEFAULT = DescribeConfigsResource(BROKER, "", None)


def changed(name: str, value: str, operation: int = SET, **fields: Any) -> IncrementalAlterConfigsRequest:
    resource = AlterConfigsResource(BROKER, "", [AlterableConfig(name, operation, value)])
    return IncrementalAlterConfigsRequest([resource], **fields)


def replaced(**fields: Any) -> AlterConfigsRequest:
    resource = ReplacedResource(BROKER, "", [ReplacedConfig(MOVEMENTS, "7")])
    return AlterConfigsRequest([resource], **fields)


@pytest.fixture
def active() -> Instance:
    return Instance(FakeNetwork(), ManualClock(), 9301)


@pytest.fixture(params=["at the active instance", "at a standby"])
def own(request: pytest.FixtureRequest, active: Instance) -> OwnKeys:
    network = FakeNetwork()
    network.instances[active.address] = active
    standby = Instance(network, ManualClock(), 9401)
    active.lead(standby)
    return keys_at(active if request.param == "at the active instance" else standby)


def keys_at(instance: Instance) -> OwnKeys:
    return OwnKeys(instance.switch.services.answer, CALLER, "me")


async def altered(own: OwnKeys, request: Any) -> tuple[int, str | None]:
    (row,) = (await own.ask(request)).responses
    return row.error_code, row.error_message


def values(active: Instance) -> dict[str, str]:
    return active.own.state.settings.configs.get((BROKER, ""), {})


async def test_changes_are_applied_for_the_client(active: Instance, own: OwnKeys) -> None:
    assert await altered(own, changed(MOVEMENTS, "7")) == (0, None)
    assert values(active) == {MOVEMENTS: "7"}
    (event,) = active.own.events
    assert event.requester == Requester("User:alice", "me")


async def test_the_same_changes_again_change_nothing(active: Instance, own: OwnKeys) -> None:
    for _ in range(2):
        assert await altered(own, changed("reassignment.excluded.brokers", "3", APPEND)) == (0, None)
    assert values(active) == {"reassignment.excluded.brokers": "3"}


async def test_a_replacement_deletes_the_keys_that_it_does_not_name(active: Instance, own: OwnKeys) -> None:
    active.own.controller.put(
        Config(BROKER, "", LEADERS, "3"), Config(BROKER, "", "min.insync.replicas", "2")
    )
    assert await altered(own, replaced()) == (0, None)
    assert values(active) == {MOVEMENTS: "7", "min.insync.replicas": "2"}


@pytest.mark.parametrize(
    "request_", [replaced(validate_only=True), changed(MOVEMENTS, "7", validate_only=True)]
)
async def test_validate_only_changes_nothing(active: Instance, own: OwnKeys, request_: Any) -> None:
    assert await altered(own, request_) == (0, None)
    assert values(active) == {}


async def test_an_invalid_change_is_refused(active: Instance, own: OwnKeys) -> None:
    code, message = await altered(own, changed(MOVEMENTS, "x"))
    assert code == ErrorCode.INVALID_CONFIG
    assert MOVEMENTS in (message or "")
    assert values(active) == {}


async def test_keys_are_described_with_the_details_of_the_request(active: Instance, own: OwnKeys) -> None:
    active.own.controller.put(Config(BROKER, "", MOVEMENTS, "7"))
    requested = [DEFAULT._replace(configuration_keys=[MOVEMENTS])]
    request = DescribeConfigsRequest(requested, include_synonyms=True, include_documentation=True)
    (result,) = (await own.ask(request)).results
    (row,) = result.configs
    assert (row.name, row.value) == (MOVEMENTS, "7")
    assert row.synonyms
    assert row.documentation


async def test_without_an_active_instance_keys_are_neither_described_nor_altered() -> None:
    clock = ManualClock()
    own = keys_at(Instance(FakeNetwork(), clock, 9301))
    assert (await _after(clock, altered(own, changed(MOVEMENTS, "7"))))[0] == ErrorCode.NOT_CONTROLLER
    (row,) = (await _after(clock, own.ask(DescribeConfigsRequest([DEFAULT])))).results
    assert row.error_code == ErrorCode.NOT_CONTROLLER


@pytest.mark.parametrize(
    ("request_", "version", "match"),
    [
        (MetadataRequest(), 9, "API key 3 is not forwarded"),
        (AlterConfigsRequest(), 2, "other resources"),
        (IncrementalAlterConfigsRequest([AlterConfigsResource(BROKER, "1")]), 1, "other resources"),
        (DescribeConfigsRequest([DEFAULT, DEFAULT]), 4, "other resources"),
    ],
)
async def test_other_requests_are_not_answered_for_a_peer(
    active: Instance, request_: Any, version: int, match: str
) -> None:
    frame = frame_of(request_, version)
    with pytest.raises(DecodeError, match=match):
        await answer_own(active.own.services, frame, CALLER)  # type: ignore[misc]


async def test_keys_of_kafka_are_not_altered_for_a_peer(active: Instance) -> None:
    configs = [AlterableConfig("min.insync.replicas", 0, "2"), AlterableConfig(MOVEMENTS, 0, "7")]
    request = IncrementalAlterConfigsRequest([AlterConfigsResource(BROKER, "", configs)])
    frame = frame_of(request, 1)
    await response_of(answer_own(active.own.services, frame, CALLER), frame)
    assert values(active) == {MOVEMENTS: "7"}


async def test_an_unknown_operation_of_a_newer_peer_is_refused(active: Instance) -> None:
    request = IncrementalAlterConfigsRequest(
        [AlterConfigsResource(BROKER, "", [AlterableConfig(MOVEMENTS, 9, "7")])]
    )
    frame = frame_of(request, 1)
    response = await response_of(answer_own(active.own.services, frame, CALLER), frame)
    assert [row.error_code for row in response.responses] == [ErrorCode.INVALID_REQUEST]


async def _after(clock: ManualClock, work: Any) -> Any:
    """Return the result of work that takes a minute at most."""
    task = asyncio.ensure_future(work)
    await clock.advance(60)
    return await task
