"""What the config APIs ask before the controller is asked."""

import pytest

from controller.messages.events import AlterConfigs, ResourceChanges
from controller.model.cluster import ResourceType
from controller.model.configs import ConfigChange, ConfigOp
from controller.model.errors import DONE
from server.dispatch.authorizer import CLUSTER, Authorizer, Operation
from server.dispatch.config_requests import Wanted, alter, refusal
from tests.server.fakes import NOBODY, FakeDriver, allowing, context

CHANGES = [ConfigChange("a", ConfigOp.SET, "5")]
FOO = Wanted(2, "foo", CHANGES)
BROKER = Wanted(4, "1", CHANGES)


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
    verdict = refusal(kind, "foo", Operation.ALTER_CONFIGS, context(1, authorizer=authorizer))
    assert (None if verdict is None else verdict[0]) == code


async def test_one_refused_resource_spoils_no_other() -> None:
    driver = FakeDriver([DONE])
    wanted = [Wanted(2, "bar", None), FOO, BROKER, BROKER, Wanted(16, "x", CHANGES)]
    verdicts = await alter(wanted, False, context(1, driver=driver), replace=False)
    assert [code for code, _ in verdicts] == [42, 0, 42, 42, 42]
    assert driver.events == [AlterConfigs([ResourceChanges(ResourceType.TOPIC, "foo", CHANGES)])]
