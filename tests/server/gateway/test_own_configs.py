"""Reassignd's keys on the default of all brokers, in this process."""

import pytest

from controller.model.cluster import Config, ResourceType
from controller.model.configs import ConfigChange, ConfigOp
from protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from server.dispatch.router import Caller
from server.gateway.own_configs import OwnConfigs, Sender
from tests.server.fakes import FakeBroker
from tests.server.gateway.doubles import FakeServices

MOVEMENTS = "reassignment.max.concurrent.partition.movements"
LEADERS = "reassignment.max.concurrent.leader.movements"
SENDER = Sender(Caller(FakeBroker(), "User:alice", "10.0.0.9:4711"), "me")


@pytest.fixture
def fake() -> FakeServices:
    fake = FakeServices()
    fake.controller.put(Config(ResourceType.BROKER, "", LEADERS, "3"))
    return fake


@pytest.fixture
def configs(fake: FakeServices) -> OwnConfigs:
    return fake.services.configs


@pytest.mark.parametrize(
    ("replace", "kept"), [(False, {LEADERS: "3", MOVEMENTS: "7"}), (True, {MOVEMENTS: "7"})]
)
async def test_only_a_replacement_deletes_other_keys(
    fake: FakeServices, configs: OwnConfigs, replace: bool, kept: dict[str, str]
) -> None:
    change = ConfigChange(MOVEMENTS, ConfigOp.SET, "7")
    assert (await configs.alter([change], SENDER, validate_only=False, replace=replace))[0] == 0
    assert fake.state.configs[ResourceType.BROKER, ""] == kept
    assert [event.requester.principal for event in fake.events] == ["User:alice"]


async def test_without_changes_the_controller_gets_no_event(fake: FakeServices, configs: OwnConfigs) -> None:
    assert (await configs.alter([], SENDER, validate_only=False, replace=False))[0] == 0
    assert fake.events == []


async def test_all_keys_are_described_or_those_that_are_named(configs: OwnConfigs) -> None:
    whole = DescribeConfigsResource(ResourceType.BROKER, "", None)
    request = DescribeConfigsRequest([whole])
    everything = {row.name: row.value for row in await configs.describe(whole, request, SENDER)}
    assert everything[LEADERS] == "3"
    assert MOVEMENTS in everything
    named = whole._replace(configuration_keys=[LEADERS])
    assert [row.name for row in await configs.describe(named, request, SENDER)] == [LEADERS]
    draft = whole._replace(configuration_keys=["reassignment.parallel.leader.movements"])
    (row,) = await configs.describe(draft, request, SENDER)
    assert (row.name, row.value) == ("reassignment.parallel.leader.movements", "3")
