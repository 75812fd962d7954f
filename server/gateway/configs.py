"""Requests for configs, where they name reassignd's keys: what they have in common, and DescribeConfigs (32).

Keys that begin with `reassignment.` are reassignd's. They are cluster-wide, and belong to the brokers' default ("") alone.
All others are the upstream's, and so is the say whether the principal may.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, NamedTuple

from controller.configs.changes import describe_configs
from controller.configs.values import CLUSTER_DEFAULT
from controller.model.cluster import ResourceType
from protocol.codec.wire import schema_of
from protocol.errors import DecodeError
from protocol.frames import (
    decode_response,
    decode_within,
    encode_request,
    encode_response,
    parse_request,
    parse_response,
)
from protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from server.dispatch.config_requests import CONFIG_BOUNDS
from server.dispatch.router import LARGE_BODY
from server.dispatch.row_errors import repeated
from server.gateway.core import GatewayServices
from server.handlers.describe_configs import shown
from server.relay.exchange import PASSED, Asked, Client, Exchange, Rule, whole

PREFIX = "reassignment."

LARGEST = 16 * 1024 * 1024
"""Bytes of a request: all of it is held, to see whether it is for us."""

Key = tuple[int, str]
"""Type and name of a resource."""

BROKERS: Key = (ResourceType.BROKER, CLUSTER_DEFAULT)
"""The default of all of them."""

OF_OUR_KEYS = (PREFIX.encode(),)
"""In every request that names one of our keys."""

OF_BROKERS = (b"\x04\0\0", b"\x04\x01")
"""In every request that names BROKERS: its type and its empty name, without and with compact lengths."""


class Split(NamedTuple):
    """What goes to the upstream for a request, and what makes the client's response of the upstream's."""

    upstream: Any
    finish: Callable[[Any], Awaitable[Any]]
    version: int | None = None
    """That of another API's request; None in the version of the client's."""


def is_ours(config: str) -> bool:
    """Whether the key is reassignd's."""
    return config.startswith(PREFIX)


def key_of(resource: Any) -> Key:
    """Of a resource in a request, or of its row in a response."""
    return resource.resource_type, resource.resource_name


def held(marks: Iterable[bytes], split: Callable[[Any], Split | None]) -> Rule:
    """The rule of a request that is split, where there is something to split.

    Only one that has one of the `marks` is decoded: they are cheaper to look for. One that names the brokers' default twice
    is the upstream's to refuse.
    """

    def ask(asked: Asked, _client: Client) -> Exchange | int:
        if missing := asked.missing(LARGEST, "for configs"):
            return missing
        payload = bytes(asked.frame)
        if not any(mark in payload for mark in marks):
            return PASSED
        frame = parse_request(payload)
        request, all_of_it = decode_within(frame, CONFIG_BOUNDS)
        if not all_of_it:
            raise DecodeError(f"a request for configs with more than {CONFIG_BOUNDS.rows} rows")
        parts = None if BROKERS in repeated(map(key_of, request.resources)) else split(request)
        if parts is None:
            return PASSED
        version = asked.api_version if parts.version is None else parts.version
        upstream = encode_request(parts.upstream, version, asked.correlation_id, frame.client_id)
        return Exchange(upstream, whole(lambda answer: _finished(answer, asked, parts, version)))

    return ask


async def _finished(payload: bytes, asked: Asked, parts: Split, version: int) -> bytes:
    key = schema_of(type(parts.upstream)).api_key or asked.api_key
    frame = parse_response(payload, key, version)
    if len(payload) <= LARGE_BODY:
        return encode_response(asked.header, await parts.finish(decode_response(frame)))
    # The configs of thousands of topics take seconds.
    finished = await parts.finish(await asyncio.to_thread(decode_response, frame))
    return await asyncio.to_thread(encode_response, asked.header, finished)


def describe(core: GatewayServices) -> Rule:
    """The rule of DescribeConfigs: our rows join those of the brokers' default, one broker's are the upstream's alone.

    Kafka's default has only what is set on it. Ours that are not set are there too, as defaults: tools leave them out, but
    for `--all`, and it is the one place where they can be looked up.
    """

    def split(request: DescribeConfigsRequest) -> Split | None:
        wanted = next((each for each in request.resources if key_of(each) == BROKERS), None)
        if wanted is None:
            return None

        async def finish(response: DescribeConfigsResponse) -> DescribeConfigsResponse:
            return response._replace(results=[result(each) for each in response.results])

        def result(row: DescribeConfigsResult) -> DescribeConfigsResult:
            if key_of(row) != BROKERS or row.error_code:
                return row
            theirs = [each for each in row.configs if not is_ours(each.name)]
            return row._replace(configs=[*theirs, *_ours(core, wanted, request)])

        return Split(request, finish)

    return held(OF_BROKERS, split)


def _ours(
    core: GatewayServices, wanted: DescribeConfigsResource, request: DescribeConfigsRequest
) -> list[DescribeConfigsResourceResult]:
    return [
        shown(value, request)
        for value in describe_configs(core.state, ResourceType.BROKER, CLUSTER_DEFAULT, unset=True)
        if is_ours(value.key.name)
        and (not wanted.configuration_keys or value.key.name in wanted.configuration_keys)
    ]
