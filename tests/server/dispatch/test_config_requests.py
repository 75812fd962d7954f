"""Checks of the config APIs before a request reaches the controller."""

import pytest

from controller.messages.event import Requester
from controller.messages.events import AlterConfigs, ResourceChanges
from controller.model.cluster import ResourceType
from controller.model.configs import ConfigChange, ConfigOp
from controller.model.errors import DONE
from protocol.messages.incremental_alter_configs_response import AlterConfigsResourceResponse
from server.dispatch.authorizer import CLUSTER, Authorizer, Operation
from server.dispatch.config_requests import RequestedChanges, alter, refusal
from tests.server.fakes import NOBODY, FakeDriver, allowing, context

CHANGES = [ConfigChange("a", ConfigOp.SET, "5")]
FOO = RequestedChanges(2, "foo", CHANGES)
BROKER = RequestedChanges(4, "1", CHANGES)


@pytest.mark.parametrize(
    ("kind", "authorizer", "code"),
    [
        (2, NOBODY, 29),
        (4, NOBODY, 31),
        (2, allowing((Operation.ALTER_CONFIGS, "foo")), None),
        (4, allowing((Operation.ALTER_CONFIGS, "foo")), 31),
        (4, allowing((Operation.ALTER_CONFIGS, CLUSTER)), None),
        (8, allowing((Operation.ALTER_CONFIGS, CLUSTER)), 42),
    ],
)
def test_a_resource_is_refused(kind: int, authorizer: Authorizer, code: int | None) -> None:
    error = refusal(kind, "foo", Operation.ALTER_CONFIGS, context(1, authorizer=authorizer))
    assert (None if error is None else error[0]) == code


async def test_a_refused_resource_does_not_affect_others() -> None:
    driver = FakeDriver([DONE])
    wanted = [RequestedChanges(2, "bar", None), FOO, BROKER, BROKER, RequestedChanges(16, "x", CHANGES)]
    rows = await alter(AlterConfigsResourceResponse, wanted, False, context(1, driver=driver), replace=False)
    assert [row.error_code for row in rows] == [42, 0, 42, 42, 42]
    assert [row.resource_name for row in rows] == ["bar", "foo", "1", "1", "x"]
    expected = AlterConfigs(
        [ResourceChanges(ResourceType.TOPIC, "foo", CHANGES)], requester=Requester("User:ANONYMOUS", "me")
    )
    assert driver.events == [expected]
