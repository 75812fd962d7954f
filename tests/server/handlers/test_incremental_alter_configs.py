"""IncrementalAlterConfigs (44)."""

from controller.messages.event import Requester
from controller.messages.events import AlterConfigs, ResourceChanges
from controller.model.cluster import ResourceType
from controller.model.configs import ConfigChange, ConfigOp
from controller.model.errors import DONE
from protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from server.handlers.incremental_alter_configs import handle, refuse
from tests.server.fakes import FakeDriver, answer, context, encodable


def request(*configs: AlterableConfig) -> IncrementalAlterConfigsRequest:
    return IncrementalAlterConfigsRequest([AlterConfigsResource(2, "foo", configs)])


async def test_each_operation_reaches_the_controller() -> None:
    driver = FakeDriver([DONE])
    configs = [AlterableConfig("a", code, None if code == 1 else "5") for code in range(4)]
    response = encodable(await answer(handle, request(*configs), context(1, driver=driver)), 44)
    changes = [
        ConfigChange("a", ConfigOp.SET, "5"),
        ConfigChange("a", ConfigOp.DELETE, None),
        ConfigChange("a", ConfigOp.APPEND, "5"),
        ConfigChange("a", ConfigOp.SUBTRACT, "5"),
    ]
    resource = ResourceChanges(ResourceType.TOPIC, "foo", changes)
    assert driver.events == [AlterConfigs([resource], requester=Requester("User:ANONYMOUS", "me"))]
    assert [tuple(row) for row in response.responses] == [(0, None, 2, "foo")]


async def test_an_unknown_operation_is_refused() -> None:
    driver = FakeDriver([])
    response = await answer(handle, request(AlterableConfig("a", 4, "5")), context(1, driver=driver))
    assert [row.error_code for row in response.responses] == [42]


def test_a_refusal_is_repeated_for_every_resource() -> None:
    assert [tuple(row) for row in refuse(request(), -1, None).responses] == [(-1, None, 2, "foo")]
