"""Test doubles for the services of a gateway."""

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from controller.messages.events import AlterConfigs
from controller.state.state import State
from protocol.errors import DecodeError
from protocol.frames import (
    RequestFrame,
    encode_response,
)
from server.dispatch.authorizer import ANONYMOUS
from server.dispatch.router import Caller
from server.gateway.own_configs import LocalConfigs
from server.gateway.services import GatewayServices
from tests.builders import InMemoryController
from tests.server.fakes import FakeBroker

P = ParamSpec("P")
R = TypeVar("R")


class FakeWorker:
    """An OffLoop that records which functions it runs."""

    def __init__(self) -> None:
        self.ran: list[object] = []

    async def run(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        self.ran.append(function)
        return function(*args, **kwargs)


class FakeServices:
    """Services that record frames and events, over a real controller."""

    def __init__(self, state: State | None = None) -> None:
        self.controller = InMemoryController((1,))
        self.state = self.controller.state if state is None else state
        self.off_loop = FakeWorker()
        self.answered: list[RequestFrame] = []
        self.callers: list[Caller] = []
        self.refused: list[tuple[int, str | None]] = []
        self.events: list[Any] = []
        self.make: Callable[[RequestFrame], Any] | None = None

    @property
    def services(self) -> GatewayServices:
        return GatewayServices(self._answer, self._refuse, LocalConfigs(self.state, self._submit))

    def _answer(self, frame: RequestFrame, caller: Caller) -> bytes:
        self.answered.append(frame)
        self.callers.append(caller)
        if self.make is None:
            raise DecodeError("nothing to say")
        return encode_response(frame, self.make(frame))

    def _refuse(self, frame: RequestFrame, code: int, message: str | None) -> bytes:
        self.refused.append((code, message))
        return self._answer(frame, Caller(FakeBroker(), ANONYMOUS, ""))

    async def _submit(self, event: Any) -> Any:
        assert isinstance(event, AlterConfigs)
        self.events.append(event)
        return self.controller.do(event).reply
