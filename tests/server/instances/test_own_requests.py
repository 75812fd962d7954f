"""Reassignd's keys at a standby: forwarded as requests of the same APIs."""

import asyncio
from typing import Any

import pytest

from common.clock import ManualClock
from common.error_codes import ErrorCode
from controller.messages.event import Requester
from controller.model.cluster import Config, ResourceType
from controller.model.configs import ConfigChange, ConfigOp
from protocol.errors import ApiError, DecodeError
from protocol.messages.alter_configs_request import AlterConfigsRequest
from protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.metadata_request import MetadataRequest
from server.gateway.own_configs import OwnConfigs, Sender
from server.instances.own_requests import answer_own
from tests.server.instances.doubles import CALLER, FakePeers, Instance, frame_of, response_of

MOVEMENTS = "reassignment.max.concurrent.partition.movements"
LEADERS = "reassignment.max.concurrent.leader.movements"
BROKER = ResourceType.BROKER
SENDER = Sender(CALLER, "me")
SET_7 = [ConfigChange(MOVEMENTS, ConfigOp.SET, "7")]
DEFAULT = DescribeConfigsResource(BROKER, "", None)


@pytest.fixture
def active() -> Instance:
    return Instance(FakePeers(), ManualClock(), 9301)


@pytest.fixture(params=["at the active instance", "at a standby"])
def configs(request: pytest.FixtureRequest, active: Instance) -> OwnConfigs:
    peers = FakePeers()
    peers.instances[active.address] = active
    standby = Instance(peers, ManualClock(), 9401)
    active.lead(standby)
    return (active if request.param == "at the active instance" else standby).switch.services.configs


def values(active: Instance) -> dict[str, str]:
    return active.own.state.configs.get((BROKER, ""), {})


async def test_changes_are_applied_for_the_client(active: Instance, configs: OwnConfigs) -> None:
    assert await configs.alter(SET_7, SENDER, validate_only=False, replace=False) == (0, None)
    assert values(active) == {MOVEMENTS: "7"}
    (event,) = active.own.events
    assert event.requester == Requester("User:alice", "me")


async def test_the_same_changes_again_change_nothing(active: Instance, configs: OwnConfigs) -> None:
    append = [ConfigChange("reassignment.excluded.brokers", ConfigOp.APPEND, "3")]
    for _ in range(2):
        assert await configs.alter(append, SENDER, validate_only=False, replace=False) == (0, None)
    assert values(active) == {"reassignment.excluded.brokers": "3"}


async def test_a_replacement_deletes_the_keys_that_it_does_not_name(
    active: Instance, configs: OwnConfigs
) -> None:
    active.own.controller.put(
        Config(BROKER, "", LEADERS, "3"), Config(BROKER, "", "min.insync.replicas", "2")
    )
    assert await configs.alter(SET_7, SENDER, validate_only=False, replace=True) == (0, None)
    assert values(active) == {MOVEMENTS: "7", "min.insync.replicas": "2"}


@pytest.mark.parametrize("replace", [True, False])
async def test_validate_only_changes_nothing(active: Instance, configs: OwnConfigs, replace: bool) -> None:
    assert await configs.alter(SET_7, SENDER, validate_only=True, replace=replace) == (0, None)
    assert values(active) == {}


async def test_an_invalid_change_is_refused(active: Instance, configs: OwnConfigs) -> None:
    wrong = [ConfigChange(MOVEMENTS, ConfigOp.SET, "x")]
    code, message = await configs.alter(wrong, SENDER, validate_only=False, replace=False)
    assert code == ErrorCode.INVALID_CONFIG
    assert message is not None
    assert MOVEMENTS in message
    assert values(active) == {}


async def test_keys_are_described_with_the_details_of_the_request(
    active: Instance, configs: OwnConfigs
) -> None:
    active.own.controller.put(Config(BROKER, "", MOVEMENTS, "7"))
    request = DescribeConfigsRequest([DEFAULT], include_synonyms=True, include_documentation=True)
    requested = DEFAULT._replace(configuration_keys=[MOVEMENTS])
    (row,) = await configs.describe(requested, request, SENDER)
    assert (row.name, row.value) == (MOVEMENTS, "7")
    assert row.synonyms
    assert row.documentation


async def test_without_an_active_instance_keys_are_neither_described_nor_altered() -> None:
    clock = ManualClock()
    configs = Instance(FakePeers(), clock, 9301).switch.services.configs
    altered = configs.alter(SET_7, SENDER, validate_only=False, replace=False)
    assert (await _after(clock, altered))[0] == ErrorCode.NOT_CONTROLLER
    with pytest.raises(ApiError) as refused:
        await _after(clock, configs.describe(DEFAULT, DescribeConfigsRequest([DEFAULT]), SENDER))
    assert refused.value.code == ErrorCode.NOT_CONTROLLER


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
