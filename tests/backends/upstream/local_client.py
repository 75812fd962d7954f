"""Stands for `UpstreamClient` before brokers that are called instead of connected to: the bytes are real."""

from collections.abc import Mapping
from typing import Any

from backends.upstream.client import UpstreamBroker
from backends.upstream.errors import RequestLostError, UnreachableError
from protocol.apis import find_api
from protocol.messages.describe_cluster_request import DescribeClusterRequest
from protocol.wire import schema_of
from server.registry import ROUTES
from tests.backends.local import FIRST_PORT, LocalNetwork


class LocalClient:
    """Asks the brokers of a `LocalNetwork`, the first of them when none is named."""

    def __init__(self, network: LocalNetwork) -> None:
        self.brokers: Mapping[int, UpstreamBroker] = {}
        self.cluster_id = ""
        self.controller_id = -1
        self._network = network
        self._closed = False

    async def refresh(self) -> None:
        seen = await self.ask(DescribeClusterRequest(include_fenced_brokers=True))
        self.cluster_id, self.controller_id = seen.cluster_id, seen.controller_id
        self.brokers = {
            b.broker_id: UpstreamBroker(b.broker_id, b.host, b.port, b.rack, b.is_fenced)
            for b in seen.brokers
        }

    async def ask(self, request: tuple[Any, ...], broker: int | None = None, **_: Any) -> Any:
        listening = sorted(self._network.listening)
        port = FIRST_PORT + broker - 1 if broker is not None else next(iter(listening), -1)
        if self._closed or port not in listening:
            raise UnreachableError(f"nobody answers on {port}")
        api = find_api(schema_of(type(request)).api_key or 0)
        assert api is not None
        try:
            return await self._network.answer(port, request, ROUTES[api.key].versions[-1])
        except ConnectionRefusedError as error:
            raise RequestLostError(str(error)) from None

    async def close(self) -> None:
        self._closed = True
