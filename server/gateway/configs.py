"""Requests for configs, where they name reassignd's keys: what they have in common, and DescribeConfigs (32).

Keys that begin with `reassignment.` are reassignd's, on the brokers' default ("") and on its own id alike: they are
cluster-wide. All others are the upstream's, and so is the say whether the principal may.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, NamedTuple

from controller.config_values import CLUSTER_DEFAULT
from controller.configs import ConfigSource, describe_configs
from controller.model import ResourceType
from protocol.errors import ErrorCode
from protocol.frames import (
    decode_request,
    decode_response,
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
from protocol.wire import schema_of
from server.gateway.core import Core
from server.gateway.exchange import PASSED, Asked, Client, Exchange, Rule, whole
from server.handlers.describe_configs import shown
from server.verdicts import repeated

PREFIX = "reassignment."

LARGEST = 16 * 1024 * 1024
"""Bytes of a request: all of it is held, to see whether it is for us."""

Key = tuple[int, str]
"""Type and name of a resource."""

BROKERS: Key = (ResourceType.BROKER, CLUSTER_DEFAULT)
"""The default of all of them."""


OF_BROKER = {ConfigSource.DYNAMIC_DEFAULT_BROKER: ConfigSource.DYNAMIC_BROKER}
"""How values of the default are shown on our own id, where they can be set too."""


class Split(NamedTuple):
    """What goes to the upstream for a request, and what makes the client's response of the upstream's.

    `version` is that of another API's request; None in the version of the client's.
    """

    upstream: Any
    finish: Callable[[Any], Awaitable[Any]]
    version: int | None = None


def is_ours(config: str) -> bool:
    """Whether the key is reassignd's."""
    return config.startswith(PREFIX)


def key_of(resource: Any) -> Key:
    """Of a resource in a request, or of its row in a response."""
    return resource.resource_type, resource.resource_name


def own_key(core: Core) -> Key:
    """reassignd, as a broker."""
    return ResourceType.BROKER, str(core.own_id)


def held(ours: Iterable[Key], split: Callable[[Any], Split | None]) -> Rule:
    """The rule of a request that is split, where it can be, when it names one of our resources.

    The upstream refuses one that is named twice.
    """
    wanted = set(ours)
    marks = [mark for _, name in wanted for mark in _encoded(name)]

    def ask(asked: Asked, _client: Client) -> Exchange | int:
        if missing := asked.missing(LARGEST, "for configs"):
            return missing
        payload = bytes(asked.frame)
        if not any(mark in payload for mark in marks):
            return PASSED
        frame = parse_request(payload)
        request = decode_request(frame)
        named = [key_of(each) for each in request.resources]
        if not wanted & set(named) or wanted & repeated(named):
            return PASSED
        parts = split(request)
        if parts is None:
            return PASSED
        version = asked.api_version if parts.version is None else parts.version
        upstream = encode_request(parts.upstream, version, asked.correlation_id, frame.client_id)
        return Exchange(upstream, whole(lambda answer: _finished(answer, asked, parts, version)))

    return ask


def _encoded(name: str) -> list[bytes]:
    """How a broker resource begins in a request, without and with compact lengths: cheaper to look for than to decode."""
    text, kind = name.encode(), bytes((ResourceType.BROKER,))
    return [kind + len(text).to_bytes(2) + text, kind + bytes((len(text) + 1,)) + text]


async def _finished(payload: bytes, asked: Asked, parts: Split, version: int) -> bytes:
    key = schema_of(type(parts.upstream)).api_key or asked.api_key
    response = decode_response(parse_response(payload, key, version))
    return encode_response(asked.header, await parts.finish(response))


def describe(core: Core) -> Rule:
    """The rule of DescribeConfigs: our rows join those of the brokers' default, and are all that our own id has."""
    own = own_key(core)

    def split(request: DescribeConfigsRequest) -> Split:
        asked = {key_of(each): each for each in request.resources}

        async def finish(response: DescribeConfigsResponse) -> DescribeConfigsResponse:
            return response._replace(results=[result(each) for each in response.results])

        def result(row: DescribeConfigsResult) -> DescribeConfigsResult:
            key = key_of(row)
            if key == BROKERS and row.error_code == ErrorCode.NONE:
                theirs = [each for each in row.configs if not is_ours(each.name)]
                return row._replace(configs=[*theirs, *rows(asked[key])])
            # The upstream knows no such broker, and says so only to those who may ask.
            if key == own and row.error_code == ErrorCode.INVALID_REQUEST:
                return DescribeConfigsResult(0, None, *own, rows(asked[key]))
            return row

        def rows(wanted: DescribeConfigsResource) -> list[DescribeConfigsResourceResult]:
            own_value = key_of(wanted) == own
            return [
                # Older tools write back what they find on a broker itself, and nothing else.
                shown(
                    value._replace(source=OF_BROKER.get(value.source, value.source)) if own_value else value,
                    request,
                )
                for value in describe_configs(core.state, ResourceType.BROKER, wanted.resource_name)
                if is_ours(value.key.name)
                and (not wanted.configuration_keys or value.key.name in wanted.configuration_keys)
            ]

        return Split(request, finish)

    return held((BROKERS, own), split)
