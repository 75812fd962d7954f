"""AlterConfigs (33) and IncrementalAlterConfigs (44); all three config APIs (32 too) in a gateway."""

from typing import Any

import pytest

from controller.messages.event import Requester
from controller.messages.events import AlterConfigs, ResourceChanges
from controller.model.access import Operation
from controller.model.cluster import Config, ResourceType
from controller.model.configs import ConfigChange, ConfigOp
from controller.model.errors import DONE
from controller.modes import GATEWAY
from protocol.messages.alter_configs_request import AlterableConfig as ReplacedConfig
from protocol.messages.alter_configs_request import AlterConfigsRequest
from protocol.messages.alter_configs_request import AlterConfigsResource as ReplacedResource
from protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from server.dispatch.context import (
    CLUSTER,
    Authorizer,
)
from server.handlers import alter_configs, describe_configs, incremental_alter_configs
from tests.builders import InMemoryController
from tests.server.api.api_client import ImmediateDriver
from tests.server.fakes import NOBODY, FakeDriver, allowing, answer, context, encodable

REPLACED = AlterConfigsRequest([ReplacedResource(4, "1", [ReplacedConfig("a", "5")])], validate_only=True)
SET_A = AlterableConfig("a", 0, "5")
CLIENT = Requester("User:ANONYMOUS", "me")


def changes(*configs: AlterableConfig) -> IncrementalAlterConfigsRequest:
    return IncrementalAlterConfigsRequest([AlterConfigsResource(2, "foo", configs)])


async def test_the_configs_of_a_resource_are_replaced() -> None:
    driver = FakeDriver([DONE])
    response = encodable(await answer(alter_configs.handle, REPLACED, context(2, driver=driver)), 33)
    resource = ResourceChanges(ResourceType.BROKER, "1", [ConfigChange("a", ConfigOp.SET, "5")], True)
    assert driver.events == [AlterConfigs([resource], True, CLIENT)]
    assert [tuple(row) for row in response.responses] == [(0, None, 4, "1")]


async def test_each_operation_reaches_the_controller() -> None:
    driver = FakeDriver([DONE])
    request = changes(*[AlterableConfig("a", code, None if code == 1 else "5") for code in range(4)])
    asked = context(1, driver=driver)
    response = encodable(await answer(incremental_alter_configs.handle, request, asked), 44)
    made = [
        ConfigChange("a", ConfigOp.SET, "5"),
        ConfigChange("a", ConfigOp.DELETE, None),
        ConfigChange("a", ConfigOp.APPEND, "5"),
        ConfigChange("a", ConfigOp.SUBTRACT, "5"),
    ]
    resource = ResourceChanges(ResourceType.TOPIC, "foo", made)
    assert driver.events == [AlterConfigs([resource], requester=CLIENT)]
    assert [tuple(row) for row in response.responses] == [(0, None, 2, "foo")]


@pytest.mark.parametrize(
    ("kind", "authorizer", "code"),
    [
        (2, NOBODY, 29),
        (4, NOBODY, 31),
        (2, allowing((Operation.ALTER_CONFIGS, "foo")), 0),
        (4, allowing((Operation.ALTER_CONFIGS, "foo")), 31),
        (4, allowing((Operation.ALTER_CONFIGS, CLUSTER)), 0),
        (8, allowing((Operation.ALTER_CONFIGS, CLUSTER)), 42),
    ],
)
async def test_a_resource_is_refused(kind: int, authorizer: Authorizer, code: int) -> None:
    request = IncrementalAlterConfigsRequest([AlterConfigsResource(kind, "foo", [SET_A])])
    asked = context(1, driver=FakeDriver([DONE]), authorizer=authorizer)
    (row,) = (await answer(incremental_alter_configs.handle, request, asked)).responses
    assert row.error_code == code


async def test_a_refused_resource_does_not_affect_others() -> None:
    driver, broker = FakeDriver([DONE]), AlterConfigsResource(4, "1", [SET_A])
    unknown = AlterConfigsResource(2, "bar", [AlterableConfig("a", 4, "5")])
    others = [unknown, AlterConfigsResource(2, "foo", [SET_A]), broker, broker]
    request = IncrementalAlterConfigsRequest([*others, AlterConfigsResource(16, "x", [SET_A])])
    response = await answer(incremental_alter_configs.handle, request, context(1, driver=driver))
    assert [row.error_code for row in response.responses] == [42, 0, 42, 42, 42]
    assert [row.resource_name for row in response.responses] == ["bar", "foo", "1", "1", "x"]
    resource = ResourceChanges(ResourceType.TOPIC, "foo", [ConfigChange("a", ConfigOp.SET, "5")])
    assert driver.events == [AlterConfigs([resource], requester=CLIENT)]


def test_a_refusal_is_repeated_for_every_resource() -> None:
    assert [tuple(row) for row in alter_configs.refuse(REPLACED, -1, None).responses] == [(-1, None, 4, "1")]
    refused = incremental_alter_configs.refuse(changes(), -1, None)
    assert [tuple(row) for row in refused.responses] == [(-1, None, 2, "foo")]


MOVEMENTS = "reassignment.max.concurrent.partition.movements"
LEADERS = "reassignment.max.concurrent.leader.movements"
BROKER = ResourceType.BROKER


@pytest.fixture
def driver() -> ImmediateDriver:
    controller = InMemoryController((1,))
    controller.put(Config(BROKER, "", LEADERS, "3"), Config(BROKER, "", "min.insync.replicas", "2"))
    controller.state.mode = GATEWAY
    return ImmediateDriver(controller)


async def ask(driver: ImmediateDriver, handler: Any, request: Any, version: int) -> Any:
    return await answer(handler.handle, request, context(version, driver.controller.state, driver))


def values(driver: ImmediateDriver) -> dict[str, str]:
    return driver.controller.state.settings.configs[BROKER, ""]


async def described(driver: ImmediateDriver, *keys: str) -> dict[str, str]:
    request = DescribeConfigsRequest([DescribeConfigsResource(BROKER, "", keys or None)])
    (row,) = (await ask(driver, describe_configs, request, 4)).results
    return {config.name: config.value for config in row.configs}


async def test_all_own_keys_are_described_or_those_that_are_named(driver: ImmediateDriver) -> None:
    everything = await described(driver)
    assert everything[LEADERS] == "3"
    assert MOVEMENTS in everything
    assert {name.partition(".")[0] for name in everything} == {"reassignment"}
    assert await described(driver, LEADERS) == {LEADERS: "3"}
    draft = "reassignment.parallel.leader.movements"
    assert await described(driver, draft) == {draft: "3"}


async def test_a_replacement_resets_own_keys_only(driver: ImmediateDriver) -> None:
    configs = [ReplacedConfig(MOVEMENTS, "7"), ReplacedConfig("log.retention.ms", "9")]
    request = AlterConfigsRequest([ReplacedResource(BROKER, "", configs)])
    (row,) = (await ask(driver, alter_configs, request, 2)).responses
    assert row.error_code == 0
    assert values(driver) == {MOVEMENTS: "7", "min.insync.replicas": "2"}


async def test_a_change_keeps_the_other_keys(driver: ImmediateDriver) -> None:
    configs = [AlterableConfig(MOVEMENTS, 0, "7"), AlterableConfig("min.insync.replicas", 0, "3")]
    request = IncrementalAlterConfigsRequest([AlterConfigsResource(BROKER, "", configs)])
    (row,) = (await ask(driver, incremental_alter_configs, request, 1)).responses
    assert row.error_code == 0
    assert values(driver) == {LEADERS: "3", MOVEMENTS: "7", "min.insync.replicas": "2"}
    assert [event.requester for event in driver.events] == [Requester("User:ANONYMOUS", "me")]  # type: ignore[attr-defined]
