"""A client's request and the upstream's answer as rules see them, and the gateway's ports."""

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from common.address import Address
from controller.messages.events import AlterConfigs
from controller.state.state import State
from protocol.codec.wire import schema_of
from protocol.errors import DecodeError
from protocol.frames import (
    RequestFrame,
    decode_response,
    encode_request,
    encode_response,
    parse_request,
    parse_response,
)
from server.dispatch.authorizer import ANONYMOUS
from server.dispatch.router import Caller
from server.gateway.core import GatewayServices
from server.relay.exchange import Asked, Client, Exchange, Rule
from server.relay.splitter import FrameAction
from tests.builders import World
from tests.server.fakes import FakeBroker

CORRELATION_ID = 7


class FakePorts:
    """The gateway's ports: 9000 and the broker's id, for the brokers that are known."""

    def __init__(self, known: Iterable[int] = range(1, 10)) -> None:
        self.known = set(known)
        self.asked: list[tuple[int, Address]] = []

    def advertised(self, broker: int, actual: Address) -> Address | None:
        self.asked.append((broker, actual))
        return Address("gate", 9000 + broker) if broker in self.known else None


def client(*, authenticated: bool = True) -> Client:
    return Client(Caller(FakeBroker(), ANONYMOUS, "10.0.0.9:4711"), authenticated)


def asked_as(payload: bytes, size: int | None = None) -> Asked:
    """A request of which these bytes have come, `size` of them in the end."""
    key, version = (int.from_bytes(payload[at : at + 2], signed=True) for at in (0, 2))
    correlation_id = int.from_bytes(payload[4:8], signed=True)
    return Asked(key, version, correlation_id, memoryview(payload), len(payload) if size is None else size)


def asked(request: Any, version: int) -> Asked:
    """The whole of a request."""
    return asked_as(encode_request(request, version, CORRELATION_ID, "me")[4:])


class Talk:
    """One request by one rule, and its answer."""

    def __init__(self, rule: Rule, request: Any, version: int, who: Client | None = None) -> None:
        self.asked = asked(request, version)
        self.version = version
        ruled = rule(self.asked, who or client())
        assert isinstance(ruled, Exchange)
        self.exchange = ruled

    @property
    def upstream(self) -> RequestFrame:
        """What goes to the upstream."""
        sent = self.exchange.upstream
        return parse_request(bytes(self.asked.frame) if sent is None else sent[4:])

    async def answer(self, response: Any, version: int | None = None) -> Any:
        """What the client reads when the upstream answers like this, in another version if given."""
        header = self.upstream._replace(correlation_id=CORRELATION_ID)
        frame = encode_response(header, response, version)
        return self.read(await finished(self.exchange, frame))

    def read(self, frame: bytes) -> Any:
        assert int.from_bytes(frame[:4]) == len(frame) - 4
        parsed = parse_response(frame[4:], self.asked.api_key, self.version)
        assert parsed.correlation_id == CORRELATION_ID
        return decode_response(parsed)


async def finished(exchange: Exchange, frame: bytes) -> bytes:
    """The client's frame for the upstream's, which has come as a whole."""
    if exchange.finish is None:
        return frame
    verdict = exchange.finish(memoryview(frame)[4:], len(frame) - 4)
    if isinstance(verdict, FrameAction):
        return verdict.put + frame[verdict.take :]
    assert inspect.isawaitable(verdict), f"{verdict} bytes are wanted"
    return await verdict


class FakeCore:
    """Answers and refuses with what the frame says; the controller is a real one."""

    def __init__(self, state: State | None = None) -> None:
        self.world = World((1,))
        self.state = self.world.state if state is None else state
        self.answered: list[RequestFrame] = []
        self.refused: list[tuple[int, str | None]] = []
        self.events: list[Any] = []
        self.make: Callable[[RequestFrame], Any] | None = None

    @property
    def core(self) -> GatewayServices:
        return GatewayServices(self._answer, self._refuse, self.state, self._submit)

    def _answer(self, frame: RequestFrame, _: Caller) -> bytes:
        self.answered.append(frame)
        if self.make is None:
            raise DecodeError("nothing to say")
        return encode_response(frame, self.make(frame))

    def _refuse(self, frame: RequestFrame, code: int, message: str | None) -> bytes:
        self.refused.append((code, message))
        return self._answer(frame, Caller(FakeBroker(), ANONYMOUS, ""))

    async def _submit(self, event: Any) -> Any:
        assert isinstance(event, AlterConfigs)
        self.events.append(event)
        return self.world.do(event).reply


def key_of(message: type) -> int:
    return schema_of(message).api_key or 0
