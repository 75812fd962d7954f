"""Config requests that name reassignd's keys: the common part of 32, 33 and 44, and DescribeConfigs (32).

Keys that begin with `reassignment.` are reassignd's. They are cluster-wide: they exist only on the default of
all brokers (resource name ""). All other keys are the upstream's. The upstream authorizes the principal in
both cases.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import Generic, NamedTuple, TypeVar

from common.off_loop import OffLoop
from controller.model.cluster import ResourceType
from controller.model.configs import OWN_PREFIX
from controller.state.settings import CLUSTER_DEFAULT
from protocol.codec.wire import schema_of
from protocol.errors import ApiError, DecodeError
from protocol.frames import (
    decode_response,
    decode_within,
    encode_request,
    encode_response,
    parse_request,
    parse_response,
)
from protocol.messages.alter_configs_request import AlterConfigsRequest
from protocol.messages.alter_configs_response import AlterConfigsResponse
from protocol.messages.describe_configs_request import DescribeConfigsRequest
from protocol.messages.describe_configs_response import DescribeConfigsResponse, DescribeConfigsResult
from protocol.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from protocol.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse
from protocol.schema import Request, Response
from server.dispatch.config_requests import CONFIG_BOUNDS, Resource
from server.dispatch.context import recorded_client_id, repeated
from server.dispatch.router import LARGE_BODY
from server.gateway.own_configs import Sender
from server.gateway.services import GatewayServices
from server.relay.exchange import (
    LARGEST_DECODED,
    PASSED,
    ClientIdentity,
    Exchange,
    IncomingRequest,
    Interceptor,
    buffered,
)

ResourceKey = tuple[int, str]
"""Type and name of a resource."""

DEFAULT_BROKER: ResourceKey = (ResourceType.BROKER, CLUSTER_DEFAULT)
"""The default of all brokers."""

OWN_KEY_MARKS = (OWN_PREFIX.encode(),)
"""Bytes in every request that names one of reassignd's keys."""

DEFAULT_BROKER_MARKS = (b"\x04\0\0", b"\x04\x01")
"""Bytes in every request that names DEFAULT_BROKER: type and empty name, without and with compact lengths."""


class Split(NamedTuple, Generic[Response]):
    """The request for the upstream, and the function that turns its response into the client's."""

    upstream: Request[Response]
    finish: Callable[[Response, Sender], Awaitable[NamedTuple]]
    version: int | None = None
    """Version of `upstream` where it is another API's request; None for the version of the client's
    request."""

    async def finished(
        self, payload: bytes, sender: Sender, incoming: IncomingRequest, version: int, off_loop: OffLoop
    ) -> bytes:
        """Return the client's response frame for the upstream's response in `version`."""
        key = schema_of(type(self.upstream)).api_key or incoming.api_key
        frame, response_class = parse_response(payload, key, version), self.upstream.response_class()
        if len(payload) <= LARGE_BODY:
            response = await self.finish(decode_response(frame, response_class), sender)
            return encode_response(incoming.header, response)
        # Decoding the configs of thousands of topics takes seconds.
        response = await self.finish(await off_loop.run(decode_response, frame, response_class), sender)
        return await off_loop.run(encode_response, incoming.header, response)


AnySplit = (
    Split[DescribeConfigsResponse] | Split[AlterConfigsResponse] | Split[IncrementalAlterConfigsResponse]
)
ConfigsRequest = TypeVar(
    "ConfigsRequest", DescribeConfigsRequest, AlterConfigsRequest, IncrementalAlterConfigsRequest
)


def key_of(resource: Resource) -> ResourceKey:
    """Return the key of a resource in a request, or of its row in a response."""
    return resource.resource_type, resource.resource_name


def intercept_configs(
    request_class: type[ConfigsRequest],
    marks: Iterable[bytes],
    split: Callable[[ConfigsRequest], AnySplit | None],
    off_loop: OffLoop,
) -> Interceptor:
    """Return an interceptor for a config request; `split` returns None for a request that passes unchanged.

    Only a request that contains one of the `marks` is decoded, because searching bytes is cheaper than
    decoding. A request that names the default of all brokers twice passes, and the upstream refuses it.
    `off_loop` rewrites large answers.
    """

    def intercept(incoming: IncomingRequest, client: ClientIdentity) -> Exchange | int:
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
            # Now, not at the request: a login that was sent just before it may have been answered since.
            sender = Sender(client.caller, recorded_client_id(frame.client_id))
            return parts.finished(answer, sender, incoming, version, off_loop)

        return Exchange(upstream, buffered(finish))

    return intercept


def describe(services: GatewayServices, off_loop: OffLoop) -> Interceptor:
    """Return the interceptor of DescribeConfigs: reassignd's keys are added to the default of all brokers.

    Kafka shows only those keys of the default that are set. Unset keys of reassignd are shown too, as
    defaults: there is no other place to look them up, and tools show them only with `--all`.
    """

    def split(request: DescribeConfigsRequest) -> Split[DescribeConfigsResponse] | None:
        requested = next(
            (resource for resource in request.resources if key_of(resource) == DEFAULT_BROKER), None
        )
        if requested is None:
            return None

        async def finish(response: DescribeConfigsResponse, sender: Sender) -> DescribeConfigsResponse:
            return response._replace(results=[await result(row, sender) for row in response.results])

        async def result(row: DescribeConfigsResult, sender: Sender) -> DescribeConfigsResult:
            if key_of(row) != DEFAULT_BROKER or row.error_code:
                return row
            try:
                own_results = await services.configs.describe(requested, request, sender)
            except ApiError as error:
                return row._replace(error_code=error.code, error_message=error.message, configs=())
            upstream_configs = [config for config in row.configs if not config.name.startswith(OWN_PREFIX)]
            return row._replace(configs=[*upstream_configs, *own_results])

        return Split(request, finish)

    return intercept_configs(DescribeConfigsRequest, DEFAULT_BROKER_MARKS, split, off_loop)
