import pytest

from controller.execution import delegated_steps, direct_steps
from controller.execution.executor import executor_of
from controller.model.profile import EMBEDDED, GATEWAY, ZOOKEEPER, ClusterProfile
from controller.state.state import State


@pytest.mark.parametrize("profile", [EMBEDDED, ZOOKEEPER])
def test_a_controller_of_the_cluster_carries_out_steps_itself(profile: ClusterProfile) -> None:
    assert executor_of(State(profile=profile)) is direct_steps


def test_an_upstream_carries_out_its_own_steps() -> None:
    assert executor_of(State(profile=GATEWAY)) is delegated_steps
