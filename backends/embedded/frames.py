"""Answers about load, as brokers of Kafka would send them.

No consumer reads from the embedded cluster, and it compacts no log.
"""

from collections.abc import Callable
from typing import Any

from backends.client.errors import UnreachableError, UnsupportedError
from backends.client.exchange import Encode
from backends.embedded.broker import EmbeddedBroker
from protocol.apis import ApiKey, find_api
from protocol.codec.wire import codec
from protocol.frames import ResponseFrame
from protocol.messages.describe_configs_request import DescribeConfigsRequest
from protocol.messages.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from protocol.messages.list_groups_response import ListGroupsResponse


def _deleting(request: DescribeConfigsRequest) -> DescribeConfigsResponse:
    """Return that all topics are deleted from, whatever else their configs say."""
    policy = DescribeConfigsResourceResult("cleanup.policy", "delete")
    return DescribeConfigsResponse(
        0,
        [
            DescribeConfigsResult(0, "", each.resource_type, each.resource_name, [policy])
            for each in request.resources
        ],
    )


_ANSWERS: dict[ApiKey, Callable[[EmbeddedBroker, Any], Any]] = {
    ApiKey.DESCRIBE_LOG_DIRS: lambda broker, request: broker.describe_log_dirs(request),
    ApiKey.LIST_OFFSETS: lambda broker, request: broker.list_offsets(request),
    ApiKey.DESCRIBE_CONFIGS: lambda _, request: _deleting(request),
    ApiKey.LIST_GROUPS: lambda _, __: ListGroupsResponse(),
}


class EmbeddedFrames:
    """Implements `backends.load.asking.Brokers`. `running` returns a broker, None if it does not run."""

    def __init__(self, running: Callable[[int], EmbeddedBroker | None]) -> None:
        self._running = running

    async def exchange(
        self, broker: int, key: ApiKey, versions: range, encode: Encode, seconds: float
    ) -> ResponseFrame:
        """See `Brokers.exchange`."""
        version, api = versions[-1], find_api(key)
        body = await encode(version)
        host, answer = self._running(broker), _ANSWERS.get(key)
        if host is None:
            raise UnreachableError(f"broker {broker} does not run")
        if api is None or answer is None:
            raise UnsupportedError(f"broker {broker} does not serve {key.name}")
        response = answer(host, codec(api.request.root, version).decode(body))
        encoded = codec(type(response), version).encode(response)
        return ResponseFrame(key, version, 0, memoryview(encoded))

    async def close(self) -> None:
        """Do nothing: there are no connections."""
