"""Test doubles for the services of a gateway."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, ParamSpec, TypeVar

from controller.messages.events import AlterConfigs
from controller.modes import GATEWAY
from controller.state.state import State
from protocol.codec.errors import DecodeError
from protocol.frames import (
    RequestFrame,
    encode_response,
)
from server.counters import Counters
from server.dispatch.configs import CONFIG_REQUESTS, check_broker
from server.dispatch.context import ANONYMOUS, Caller
from server.dispatch.router import Router
from server.gateway.services import GatewayServices
from server.handlers import load
from tests.builders import InMemoryController
from tests.server.fakes import FakeBroker, FakeDriver, services

P = ParamSpec("P")
R = TypeVar("R")


class FakeWorker:
    """An OffLoop that records which functions it runs."""

    def __init__(self) -> None:
        self.ran: list[object] = []

    async def run(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        self.ran.append(function)
        return function(*args, **kwargs)


class _RecordingDriver(FakeDriver):
    """Decides config changes by the controller."""

    def __init__(self, controller: InMemoryController, events: list[Any]) -> None:
        super().__init__()
        self.controller, self.events = controller, events

    async def submit(self, event: Any) -> Any:
        assert isinstance(event, AlterConfigs)
        self.events.append(event)
        return self.controller.do(event).reply


class FakeServices:
    """Services that record frames and events, over a real controller."""

    def __init__(self, state: State | None = None) -> None:
        self.controller = InMemoryController((1,))
        self.events: list[Any] = []
        self.state = self.controller.state if state is None else state
        self.state.mode = GATEWAY
        driver = _RecordingDriver(self.controller, self.events)
        self._router = Router(services(self.state, driver), Counters(), load())
        self.off_loop = FakeWorker()
        self.answered: list[RequestFrame] = []
        self.callers: list[Caller] = []
        self.refused: list[tuple[int, str | None]] = []
        self.make: Callable[[RequestFrame], Any] | None = None

    @property
    def services(self) -> GatewayServices:
        return GatewayServices(self._answer, self._refuse, partial(check_broker, self.state))

    def _answer(self, frame: RequestFrame, caller: Caller) -> bytes | Awaitable[bytes]:
        if frame.api_key in CONFIG_REQUESTS:
            return self._router.answer(frame, caller)
        self.answered.append(frame)
        self.callers.append(caller)
        if self.make is None:
            raise DecodeError("nothing to say")
        return encode_response(frame, self.make(frame))

    def _refuse(self, frame: RequestFrame, code: int, message: str | None) -> bytes | Awaitable[bytes]:
        self.refused.append((code, message))
        if frame.api_key in CONFIG_REQUESTS:
            return self._router.refuse(frame, code, message)
        return self._answer(frame, Caller(FakeBroker(), ANONYMOUS, ""))
