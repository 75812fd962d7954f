"""AlterConfigs (33)."""

from controller.messages.event import Requester
from controller.messages.events import AlterConfigs, ResourceChanges
from controller.model.cluster import ResourceType
from controller.model.configs import ConfigChange, ConfigOp
from controller.model.errors import DONE
from protocol.messages.alter_configs_request import AlterableConfig, AlterConfigsRequest, AlterConfigsResource
from server.handlers.alter_configs import handle, refuse
from tests.server.fakes import FakeDriver, answer, context, encodable

REQUEST = AlterConfigsRequest([AlterConfigsResource(4, "1", [AlterableConfig("a", "5")])], validate_only=True)


async def test_the_configs_of_a_resource_are_replaced() -> None:
    driver = FakeDriver([DONE])
    response = encodable(await answer(handle, REQUEST, context(2, driver=driver)), 33)
    changes = [ConfigChange("a", ConfigOp.SET, "5")]
    resource = ResourceChanges(ResourceType.BROKER, "1", changes, True)
    assert driver.events == [AlterConfigs([resource], True, Requester("User:ANONYMOUS", "me"))]
    assert [tuple(row) for row in response.responses] == [(0, None, 4, "1")]


def test_a_refusal_is_repeated_for_every_resource() -> None:
    assert [tuple(row) for row in refuse(REQUEST, -1, None).responses] == [(-1, None, 4, "1")]
