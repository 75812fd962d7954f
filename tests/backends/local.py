"""Brokers that are called instead of connected to.

The bytes are real, the sockets are not, and time stands still.
"""

import inspect
from collections.abc import Callable
from typing import Any

from backends.client.channel import Channel
from backends.embedded.broker import EmbeddedBroker
from backends.embedded.cluster import Listener
from common.off_loop import WorkerThread
from controller.ports import Submitter
from controller.state.state import State
from protocol.apis import find_api
from protocol.codec.wire import codec, schema_of
from server.dispatch.cache import BodyCache, Encoded
from server.dispatch.context import ANONYMOUS, AllowAll, Caller, Context, Services
from server.dispatch.registry import ROUTES
from server.handlers import load

load()

FIRST_PORT = 9092


class LocalNetwork:
    """`listen` and `connect` without sockets. `requests` is all that went over it: (port, message)."""

    def __init__(self, state: State, driver: Submitter) -> None:
        self.off_loop = off_loop = WorkerThread()
        self._services = Services(
            "local", state, driver, AllowAll(), off_loop, BodyCache(off_loop), lambda: bytes(16)
        )
        self.listening: dict[int, EmbeddedBroker] = {}
        self.requests: list[tuple[int, Any]] = []
        self.refused = 0
        self.loses: Callable[[int, Any], bool] = lambda _port, _message: False
        """Whether the connection breaks before the request arrives."""

    async def listen(self, broker: EmbeddedBroker) -> Listener:
        port = FIRST_PORT + broker.id - 1
        self.listening[port] = broker
        return LocalListener(self, port)

    async def connect(self, _host: str, port: int) -> Channel:
        self.broker_at(port)
        return LocalChannel(self, port)

    def broker_at(self, port: int) -> EmbeddedBroker:
        if port not in self.listening:
            self.refused += 1
            raise ConnectionRefusedError(f"nobody listens on {port}")
        return self.listening[port]

    async def answer(self, port: int, message: tuple[Any, ...], version: int) -> Any:
        broker = self.broker_at(port)
        route = ROUTES[schema_of(type(message)).api_key or 0]
        assert version in route.versions
        if self.loses(port, message):
            raise ConnectionResetError("lost")
        self.requests.append((port, message))
        context = Context(
            self._services,
            self._services.state,
            self._services.authorizer,
            Caller(broker, ANONYMOUS, "local"),
            "test",
            version,
        )
        answer = route.handle(_recoded(message, version), context)
        if inspect.isawaitable(answer):
            answer = await answer
        self.broker_at(port)
        if isinstance(answer, Encoded):
            api = find_api(route.api_key)
            assert api is not None
            return codec(api.response.root, version).decode(answer.body)
        return _recoded(answer, version)


class LocalListener:
    def __init__(self, network: LocalNetwork, port: int) -> None:
        self._network, self.host, self.port = network, "127.0.0.1", port

    async def close(self) -> None:
        self._network.listening.pop(self.port, None)


class LocalChannel:
    def __init__(self, network: LocalNetwork, port: int) -> None:
        self._network, self._port = network, port

    async def request(self, message: Any, version: int) -> Any:
        return await self._network.answer(self._port, message, version)

    def close(self) -> None:
        """Nothing to let go of."""


def _recoded(message: tuple[Any, ...], version: int) -> Any:
    """What the other end reads of it."""
    assert find_api(schema_of(type(message)).api_key or 0) is not None
    wire = codec(type(message), version)
    return wire.decode(wire.encode(message))
