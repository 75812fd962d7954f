"""An endpoint of ZooKeeper mode, with the real router and handlers and a recording controller."""

from collections.abc import Mapping
from typing import Any

import pytest

from controller.state.state import State
from server.counters import Counters
from server.dispatch.router import Router
from server.handlers import load
from server.zookeeper.endpoint import ActiveController, ControllerEndpoint
from tests.builders import InMemoryController
from tests.server.fakes import FakeDriver, services


def _state() -> State:
    """Return a state with brokers 1 and 2; the controller's id belongs to no broker."""
    state = InMemoryController((1, 2)).state
    state.cluster.controller_id = 1000
    return state


class EndpointRig:
    """The endpoint, its state, and the events that its controller received."""

    def __init__(self) -> None:
        self.endpoint = ControllerEndpoint()
        self.driver = FakeDriver()
        self.state: State = _state()
        self.allocated: list[tuple[int, int]] = []
        self.altered: list[str] = []

    def activate(self, reply: Any = None) -> None:
        """Make the endpoint the active controller. Its controller answers with `reply`."""
        self.driver = FakeDriver(reply)
        router = Router(services(self.state, self.driver), Counters(), load())
        self.endpoint.active = ActiveController(router, self._allocate, self._alter_user, self.state)

    async def _allocate(self, broker: int, epoch: int) -> tuple[int, int]:
        self.allocated.append((broker, epoch))
        return 1000, 1000

    async def _alter_user(self, user: str, _: Mapping[str, str | None]) -> None:
        self.altered.append(user)


@pytest.fixture
def endpoint_rig() -> EndpointRig:
    return EndpointRig()
