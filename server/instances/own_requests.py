"""The requests that are forwarded: 45 and 46 as the client sent them, and reassignd's keys in 32, 33 and 44.

Of a request for configs only the part about reassignd's keys is forwarded, in a request of the same API for the
default of all brokers. The upstream has answered the rest.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from common.error_codes import ErrorCode
from controller.model.cluster import ResourceType
from controller.model.configs import ConfigChange, ConfigOp
from controller.model.errors import Outcome
from controller.state.settings import CLUSTER_DEFAULT
from protocol.apis import ApiKey
from protocol.errors import ApiError, DecodeError
from protocol.frames import (
    RequestFrame,
    decode_response,
    decode_within,
    encode_request,
    encode_response,
    parse_request,
    parse_response,
)
from protocol.messages.alter_configs_request import AlterableConfig as ReplacedConfig
from protocol.messages.alter_configs_request import AlterConfigsRequest
from protocol.messages.alter_configs_request import AlterConfigsResource as ReplacedResource
from protocol.messages.alter_configs_response import AlterConfigsResourceResponse as ReplacedRow
from protocol.messages.alter_configs_response import AlterConfigsResponse
from protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.incremental_alter_configs_response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from protocol.schema import Request, Response
from server.connections.session import Answer
from server.dispatch.config_requests import CONFIG_BOUNDS, UNKNOWN_OPERATION, Resource, own_configs
from server.dispatch.context import RowError, recorded_client_id
from server.dispatch.router import Caller
from server.gateway.configs import DEFAULT_BROKER, key_of
from server.gateway.own_configs import Sender
from server.gateway.services import GatewayServices
from server.handlers.incremental_alter_configs import changes_of

DESCRIBED, REPLACED, CHANGED = 4, 2, 1
"""Versions of the forwarded requests 32, 33 and 44."""

REASSIGNMENT_APIS = frozenset({ApiKey.ALTER_PARTITION_REASSIGNMENTS, ApiKey.LIST_PARTITION_REASSIGNMENTS})


R = TypeVar("R", bound=Resource)

Check = Callable[[str, Sequence[ConfigChange]], Outcome]
"""See `server.gateway.own_configs.OwnConfigs.check`."""


class ForwardedConfigs:
    """Implements `server.gateway.own_configs.OwnConfigs` by requests that `answer` answers."""

    def __init__(self, answer: Answer, check: Check) -> None:
        self._answer = answer
        self.check = check

    async def alter(
        self, changes: Sequence[ConfigChange], sender: Sender, *, validate_only: bool, replace: bool
    ) -> RowError:
        """See `OwnConfigs.alter`."""
        response: AlterConfigsResponse | IncrementalAlterConfigsResponse
        if replace:
            sets = [ReplacedConfig(change.config, change.value) for change in changes]
            replaced = ReplacedResource(ResourceType.BROKER, CLUSTER_DEFAULT, sets)
            response = await self._ask(AlterConfigsRequest([replaced], validate_only), REPLACED, sender)
        else:
            configs = [AlterableConfig(change.config, change.op.value, change.value) for change in changes]
            changed = AlterConfigsResource(ResourceType.BROKER, CLUSTER_DEFAULT, configs)
            request = IncrementalAlterConfigsRequest([changed], validate_only)
            response = await self._ask(request, CHANGED, sender)
        (row,) = response.responses
        return row.error_code, row.error_message

    async def describe(
        self, requested: DescribeConfigsResource, request: DescribeConfigsRequest, sender: Sender
    ) -> list[DescribeConfigsResourceResult]:
        """See `OwnConfigs.describe`."""
        response = await self._ask(request._replace(resources=[requested]), DESCRIBED, sender)
        (row,) = response.results
        if row.error_code:
            raise ApiError(ErrorCode(row.error_code), row.error_message)
        return list(row.configs)

    async def _ask(self, request: Request[Response], version: int, sender: Sender) -> Response:
        frame = parse_request(encode_request(request, version, 0, sender.client_id)[4:])
        answer = self._answer(frame, sender.caller)
        payload = (answer if isinstance(answer, bytes) else await answer)[4:]
        return decode_response(parse_response(payload, frame.api_key, version), request.response_class())


def answer_own(services: GatewayServices, frame: RequestFrame, caller: Caller) -> bytes | Awaitable[bytes]:
    """Answer a request that was forwarded, or that could be.

    Raises DecodeError, now or when awaited, for other requests and for versions that are not known.
    """
    if frame.api_key in REASSIGNMENT_APIS:
        return services.answer(frame, caller)
    answer = _CONFIG_APIS.get(frame.api_key)
    if answer is None:
        raise DecodeError(f"API key {frame.api_key} is not forwarded")
    return answer(services, frame, Sender(caller, recorded_client_id(frame.client_id)))


def _only(resources: Sequence[R]) -> R:
    """Return the resource of a forwarded request. Raises DecodeError for any but the default of all brokers."""
    if [key_of(resource) for resource in resources] != [DEFAULT_BROKER]:
        raise DecodeError(
            "a forwarded request for configs of other resources than the default of all brokers"
        )
    return resources[0]


async def _describe(services: GatewayServices, frame: RequestFrame, sender: Sender) -> bytes:
    request, _ = decode_within(frame, DescribeConfigsRequest, CONFIG_BOUNDS)
    requested = _only(request.resources)
    configs = await services.configs.describe(requested, request, sender)
    row = DescribeConfigsResult(0, None, ResourceType.BROKER, CLUSTER_DEFAULT, configs)
    return encode_response(frame, DescribeConfigsResponse(results=[row]))


async def _change(services: GatewayServices, frame: RequestFrame, sender: Sender) -> bytes:
    request, _ = decode_within(frame, IncrementalAlterConfigsRequest, CONFIG_BOUNDS)
    changes = changes_of(own_configs(_only(request.resources).configs))
    result = UNKNOWN_OPERATION
    if changes is not None:
        result = await services.configs.alter(
            changes, sender, validate_only=request.validate_only, replace=False
        )
    row = AlterConfigsResourceResponse(*result, ResourceType.BROKER, CLUSTER_DEFAULT)
    return encode_response(frame, IncrementalAlterConfigsResponse(responses=[row]))


async def _replace(services: GatewayServices, frame: RequestFrame, sender: Sender) -> bytes:
    request, _ = decode_within(frame, AlterConfigsRequest, CONFIG_BOUNDS)
    configs = own_configs(_only(request.resources).configs)
    changes = [ConfigChange(config.name, ConfigOp.SET, config.value) for config in configs]
    result = await services.configs.alter(changes, sender, validate_only=request.validate_only, replace=True)
    row = ReplacedRow(*result, ResourceType.BROKER, CLUSTER_DEFAULT)
    return encode_response(frame, AlterConfigsResponse(responses=[row]))


_CONFIG_APIS: dict[int, Callable[[GatewayServices, RequestFrame, Sender], Awaitable[bytes]]] = {
    ApiKey.DESCRIBE_CONFIGS: _describe,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: _change,
    ApiKey.ALTER_CONFIGS: _replace,
}
