"""A replacement for `UpstreamClient` that calls the brokers without connections.

Messages are encoded and decoded.

A cancel leaves replicas in the order in which Kafka leaves them, which is not that of before (KRaft, and the
controller before it).
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from backends.client.errors import RequestLostError, UnreachableError
from backends.upstream.client import ListedBroker
from common.off_loop import InlineExecutor
from controller.model.replicas import Replicas
from protocol.apis import find_api
from protocol.codec.wire import schema_of
from protocol.messages.alter_partition_reassignments_request import AlterPartitionReassignmentsRequest
from protocol.messages.describe_cluster_request import DescribeClusterRequest
from server.dispatch.registry import ROUTES
from tests.backends.harness import EmbeddedHarness
from tests.backends.local import FIRST_PORT


async def _undisturbed(_request: Any) -> None:
    """Do nothing."""


class LocalClient:
    """Sends requests to the brokers of a `LocalNetwork`, to the first one when no broker is given.

    `before` and `after` are awaited around each request; what they raise is what the caller gets.
    """

    def __init__(self, inner: EmbeddedHarness) -> None:
        self.brokers: Mapping[int, ListedBroker] = {}
        self.cluster_id = ""
        self.controller_id = -1
        self.off_loop = InlineExecutor()
        self._inner, self._network = inner, inner.network
        self._closed = False
        self.before: Callable[[Any], Awaitable[None]] = _undisturbed
        self.after: Callable[[Any], Awaitable[None]] = _undisturbed

    async def refresh(self) -> None:
        seen = await self.ask(DescribeClusterRequest(include_fenced_brokers=True))
        self.cluster_id, self.controller_id = seen.cluster_id, seen.controller_id
        self.brokers = {
            b.broker_id: ListedBroker(b.broker_id, b.host, b.port, b.rack, b.is_fenced) for b in seen.brokers
        }

    async def ask(self, request: Any, broker: int | None = None, **_: Any) -> Any:
        listening = sorted(self._network.listening)
        port = FIRST_PORT + broker - 1 if broker is not None else next(iter(listening), -1)
        if self._closed or port not in listening:
            raise UnreachableError(f"nobody answers on {port}")
        await self.before(request)
        api = find_api(schema_of(type(request)).api_key or 0)
        assert api is not None
        left = self._orders(request)
        try:
            answer = await self._network.answer(port, request, ROUTES[api.key].versions[-1])
        except ConnectionRefusedError as error:
            raise RequestLostError(str(error)) from None
        for name, replicas in left.items():
            now = self._inner.replicas(name)
            if now != replicas and set(now) == set(replicas):
                await self._inner.alter({name: replicas})
        await self.after(request)
        return answer

    def _orders(self, request: Any) -> dict[str, Replicas]:
        """Return the replicas that Kafka leaves where the request cancels a step."""
        if not isinstance(request, AlterPartitionReassignmentsRequest):
            return {}
        taken_back = [
            self._inner.state.cluster.partition(topic.name, row.partition_index)
            for topic in request.topics or ()
            for row in topic.partitions or ()
            if row.replicas is None
        ]
        return {
            str(each.key): tuple(r for r in each.replicas if r not in each.adding)
            for each in taken_back
            if each is not None and each.moving
        }

    async def close(self) -> None:
        self._closed = True
