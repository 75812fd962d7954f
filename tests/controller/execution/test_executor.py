import pytest

from controller.execution import delegated_steps, direct_steps
from controller.execution.executor import executor_of
from controller.model.profile import EMBEDDED, GATEWAY, ZOOKEEPER, ClusterProfile
from controller.state.state import State


@pytest.mark.parametrize("profile", [EMBEDDED, ZOOKEEPER])
def test_the_clusters_own_controller_executes_steps_directly(profile: ClusterProfile) -> None:
    assert executor_of(State(profile=profile)) is direct_steps


def test_a_gateway_delegates_steps_to_the_upstream() -> None:
    assert executor_of(State(profile=GATEWAY)) is delegated_steps
