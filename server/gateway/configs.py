"""DescribeConfigs (32), AlterConfigs (33) and IncrementalAlterConfigs (44) that name reassignd's keys.

Such a request is split (`server.dispatch.configs` says by which keys). One part goes to the upstream, and a
resource in it may be left with its name only: its row in the response tells whether the principal may
describe or alter it. The other part is a request of the same API for reassignd's keys on the default of all
brokers. It is answered like any request for reassignd, after the upstream has accepted its part. Reassignd's
keys are checked before, so a resource is changed completely or not at all.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Generic, NamedTuple, Protocol, TypeVar

from common.error_codes import ErrorCode
from common.off_loop import OffLoop
from controller.model.cluster import ResourceType
from controller.model.configs import OWN_PREFIX, ConfigOp
from protocol.apis import ApiKey
from protocol.codec.errors import DecodeError
from protocol.codec.schema import Request, Response
from protocol.codec.wire import schema_of
from protocol.frames import (
    decode_response,
    decode_within,
    encode_request,
    encode_response,
    parse_request,
    parse_response,
)
from protocol.messages.alter_configs_request import AlterConfigsRequest
from protocol.messages.alter_configs_request import AlterConfigsResource as ReplacedResource
from protocol.messages.alter_configs_response import AlterConfigsResourceResponse as ReplacedRow
from protocol.messages.alter_configs_response import AlterConfigsResponse
from protocol.messages.describe_configs_request import DescribeConfigsRequest
from protocol.messages.describe_configs_response import DescribeConfigsResponse, DescribeConfigsResult
from protocol.messages.incremental_alter_configs_request import (
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.incremental_alter_configs_response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from server.connections.session import Answer
from server.dispatch.configs import (
    CONFIG_BOUNDS,
    DEFAULT_BROKER,
    UNKNOWN_OPERATION,
    AlteredResource,
    AlterRequest,
    Resource,
    ResourceKey,
    changes_of,
    cluster_part,
    is_own,
    key_of,
    own_part,
    response_rows,
)
from server.dispatch.context import Caller, RowError, recorded_client_id, repeated
from server.dispatch.router import LARGE_BODY, awaited
from server.gateway.services import Check, GatewayServices, reason
from server.relay.exchange import (
    LARGEST_DECODED,
    PASSED,
    Exchange,
    IncomingRequest,
    Interceptor,
    RelayedClient,
    buffered,
)

OWN_KEY_MARKS = (OWN_PREFIX.encode(),)
"""Bytes in every request that names one of reassignd's keys."""

DEFAULT_BROKER_MARKS = (b"\x04\0\0", b"\x04\x01")
"""Bytes in every request that names DEFAULT_BROKER: type and empty name, without and with compact lengths."""

OWN_VERSIONS = {
    ApiKey.DESCRIBE_CONFIGS: 4,
    ApiKey.ALTER_CONFIGS: 2,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: 1,
}
"""Versions of the requests for reassignd's keys, which may be answered by another instance."""

RIGHTS_UNKNOWN: RowError = (
    ErrorCode.INVALID_CONFIG,
    "The reassignment.* configs of this resource cannot be set so; a separate request returns the reason.",
)
"""Used when the upstream was not asked whether the principal may alter the resource."""

RIGHTS_VERSION = 1
"""IncrementalAlterConfigs version of the query for rights; all brokers since 2.4 serve it."""


class OwnKeys(NamedTuple):
    """Asks reassignd for its keys, on behalf of a client."""

    answer: Answer
    caller: Caller
    client_id: str | None

    async def ask(self, request: Request[Response]) -> Response:
        """Return the response to a request of one of the three APIs."""
        version = OWN_VERSIONS[ApiKey(schema_of(type(request)).api_key or 0)]
        frame = parse_request(encode_request(request, version, 0, self.client_id)[4:])
        payload = await awaited(self.answer(frame, self.caller))
        return decode_response(parse_response(payload[4:], frame.api_key, version), request.response_class())


class Split(NamedTuple, Generic[Response]):
    """The request for the upstream, and the function that turns its response into the client's."""

    upstream: Request[Response]
    finish: Callable[[Response, OwnKeys], Awaitable[NamedTuple]]
    version: int | None = None
    """Version of `upstream` where it is another API's request; None for the version of the client's
    request."""

    async def finished(
        self, payload: bytes, own: OwnKeys, incoming: IncomingRequest, version: int, off_loop: OffLoop
    ) -> bytes:
        """Return the client's response frame for the upstream's response in `version`."""
        key = schema_of(type(self.upstream)).api_key or incoming.api_key
        frame, response_class = parse_response(payload, key, version), self.upstream.response_class()
        if len(payload) <= LARGE_BODY:
            response = await self.finish(decode_response(frame, response_class), own)
            return encode_response(incoming.header, response)
        # Decoding the configs of thousands of topics takes seconds.
        response = await self.finish(await off_loop.run(decode_response, frame, response_class), own)
        return await off_loop.run(encode_response, incoming.header, response)


AnySplit = (
    Split[DescribeConfigsResponse] | Split[AlterConfigsResponse] | Split[IncrementalAlterConfigsResponse]
)
ConfigsRequest = TypeVar(
    "ConfigsRequest", DescribeConfigsRequest, AlterConfigsRequest, IncrementalAlterConfigsRequest
)


def intercept_configs(
    request_class: type[ConfigsRequest],
    marks: Iterable[bytes],
    split: Callable[[ConfigsRequest], AnySplit | None],
    services: GatewayServices,
    off_loop: OffLoop,
) -> Interceptor:
    """Return an interceptor for a config request; `split` returns None for a request that passes unchanged.

    Only a request that contains one of the `marks` is decoded, because searching bytes is cheaper than
    decoding. A request that names the default of all brokers twice passes, and the upstream refuses it.
    `off_loop` rewrites large answers.
    """

    def intercept(incoming: IncomingRequest, client: RelayedClient) -> Exchange | int:
        if missing := incoming.missing(LARGEST_DECODED, "for configs"):
            return missing
        payload = bytes(incoming.frame)
        if not any(mark in payload for mark in marks):
            return PASSED
        frame = parse_request(payload)
        request, all_of_it = decode_within(frame, request_class, CONFIG_BOUNDS)
        if not all_of_it:
            raise DecodeError(f"a request for configs with more than {CONFIG_BOUNDS.rows} rows")
        repeats = DEFAULT_BROKER in repeated(map(key_of, request.resources))
        parts = None if repeats else split(request)
        if parts is None:
            return PASSED
        version = incoming.api_version if parts.version is None else parts.version
        upstream = encode_request(parts.upstream, version, incoming.correlation_id, frame.client_id)

        def finish(answer: bytes) -> Awaitable[bytes]:
            # The caller of now, not at the request: a login that was sent just before may have been answered
            # since.
            own = OwnKeys(services.answer, client.caller, recorded_client_id(frame.client_id))
            return parts.finished(answer, own, incoming, version, off_loop)

        return Exchange(upstream, buffered(finish))

    return intercept


def describe(services: GatewayServices, off_loop: OffLoop) -> Interceptor:
    """Return the interceptor of DescribeConfigs: reassignd's keys are added to the default of all brokers.

    Kafka shows only those keys of the default that are set. Unset keys of reassignd are shown too, as
    defaults: there is no other place to look them up, and tools show them only with `--all`.
    """

    def split(request: DescribeConfigsRequest) -> Split[DescribeConfigsResponse] | None:
        own_request = request._replace(
            resources=[resource for resource in request.resources if key_of(resource) == DEFAULT_BROKER]
        )
        if not own_request.resources:
            return None

        async def finish(response: DescribeConfigsResponse, own: OwnKeys) -> DescribeConfigsResponse:
            return response._replace(results=[await result(row, own) for row in response.results])

        async def result(row: DescribeConfigsResult, own: OwnKeys) -> DescribeConfigsResult:
            if key_of(row) != DEFAULT_BROKER or row.error_code:
                return row
            (own_row,) = (await own.ask(own_request)).results
            if own_row.error_code:
                return row._replace(
                    error_code=own_row.error_code, error_message=own_row.error_message, configs=()
                )
            upstream_configs = [config for config in row.configs if not is_own(config.name)]
            return row._replace(configs=[*upstream_configs, *own_row.configs])

        return Split(request, finish)

    return intercept_configs(DescribeConfigsRequest, DEFAULT_BROKER_MARKS, split, services, off_loop)


def incremental_alter(services: GatewayServices, off_loop: OffLoop) -> Interceptor:
    """Return the interceptor of IncrementalAlterConfigs."""

    def split(request: IncrementalAlterConfigsRequest) -> Split[IncrementalAlterConfigsResponse] | None:
        altered = own_resources(request.resources, services.check)
        if not altered:
            return None

        def part(resource: AlterConfigsResource) -> AlterConfigsResource:
            if key_of(resource) not in altered:
                return resource
            return resource._replace(configs=()) if altered[key_of(resource)] else cluster_part(resource)

        async def finish(
            response: IncrementalAlterConfigsResponse, own: OwnKeys
        ) -> IncrementalAlterConfigsResponse:
            errors = await _errors(request, altered, response.responses, own)
            rows = response_rows(AlterConfigsResourceResponse, request.resources, errors)
            return response._replace(responses=rows)

        return Split(request._replace(resources=list(map(part, request.resources))), finish)

    return intercept_configs(IncrementalAlterConfigsRequest, OWN_KEY_MARKS, split, services, off_loop)


def alter(services: GatewayServices, off_loop: OffLoop) -> Interceptor:
    """Return the interceptor of AlterConfigs.

    AlterConfigs resets the keys that it does not name. For the default of all brokers this includes
    reassignd's keys. A resource with invalid keys of reassignd is left out, because the upstream would reset
    a resource without keys.
    """

    def split(
        request: AlterConfigsRequest,
    ) -> Split[AlterConfigsResponse] | Split[IncrementalAlterConfigsResponse] | None:
        altered = own_resources(request.resources, services.check)
        if not altered:
            return None
        resources = [
            cluster_part(resource) if key_of(resource) in altered else resource
            for resource in request.resources
            if altered.get(key_of(resource)) is None
        ]

        async def finish(
            response: AlterConfigsResponse | IncrementalAlterConfigsResponse, own: OwnKeys
        ) -> AlterConfigsResponse:
            errors = await _errors(request, altered, response.responses, own)
            rows = response_rows(ReplacedRow, request.resources, errors)
            return AlterConfigsResponse(response.throttle_time_ms, rows)

        if resources:
            return Split(request._replace(resources=resources), finish)
        # Only principals that may alter the resource get the reason. IncrementalAlterConfigs asks for
        # the rights: unlike AlterConfigs, it changes nothing that it does not name.
        asked = [AlterConfigsResource(*key) for key in altered]
        rights = IncrementalAlterConfigsRequest(asked, request.validate_only)
        return Split(rights, finish, RIGHTS_VERSION)

    marks = (*DEFAULT_BROKER_MARKS, *OWN_KEY_MARKS)
    return intercept_configs(AlterConfigsRequest, marks, split, services, off_loop)


def own_resources(resources: Iterable[AlteredResource], check: Check) -> dict[ResourceKey, RowError | None]:
    """Return the resources whose keys of reassignd a request alters, with the errors of invalid ones."""
    altered: dict[ResourceKey, RowError | None] = {}
    for resource in resources:
        if _alters_own_keys(resource):
            changes = changes_of(resource, own=True)
            outcome = UNKNOWN_OPERATION if changes is None else check(resource.resource_name, changes)
            altered[key_of(resource)] = outcome if outcome[0] else None
    return altered


def _alters_own_keys(resource: AlteredResource) -> bool:
    """Return whether reassignd handles the resource.

    On a single broker, setting reassignd's keys is refused. Deleting them passes, in case they were set there
    without the gateway. AlterConfigs alters all keys of the default of all brokers.
    """
    if resource.resource_type != ResourceType.BROKER:
        return False
    if isinstance(resource, ReplacedResource):
        return key_of(resource) == DEFAULT_BROKER or bool(own_part(resource).configs)
    operations = [config.config_operation for config in own_part(resource).configs]
    if key_of(resource) != DEFAULT_BROKER:
        operations = [operation for operation in operations if operation != ConfigOp.DELETE.value]
    return bool(operations)


class ResultRow(Resource, Protocol):
    """A row of a response to 33 or 44."""

    @property
    def error_code(self) -> int: ...

    @property
    def error_message(self) -> str | None: ...


async def _errors(
    request: AlterRequest,
    altered: Mapping[ResourceKey, RowError | None],
    rows: Iterable[ResultRow],
    own: OwnKeys,
) -> list[RowError]:
    """Return the outcome of each resource: the upstream's, or that of altering reassignd's keys."""
    errors: dict[ResourceKey, RowError] = {key_of(row): (row.error_code, row.error_message) for row in rows}
    for key, invalid in altered.items():
        code, message = errors.get(key, RIGHTS_UNKNOWN)
        errors[key] = (code, reason(code, message))
        if code == ErrorCode.NONE:
            errors[key] = invalid or await _altered(request, key, own)
    return [errors[key_of(resource)] for resource in request.resources]


async def _altered(request: AlterRequest, key: ResourceKey, own: OwnKeys) -> RowError:
    """Alter reassignd's keys of a resource; return the outcome."""
    row: ResultRow
    if isinstance(request, AlterConfigsRequest):
        replaced = [own_part(resource) for resource in request.resources if key_of(resource) == key]
        (row,) = (await own.ask(request._replace(resources=replaced))).responses
    else:
        changed = [own_part(resource) for resource in request.resources if key_of(resource) == key]
        (row,) = (await own.ask(request._replace(resources=changed))).responses
    return row.error_code, row.error_message
