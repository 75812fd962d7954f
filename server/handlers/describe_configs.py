"""DescribeConfigs (32), versions 1-4.

KIP: 133, 226 (v1, synonyms), 569 (v3, types and documentation). Every broker describes all resources.
ACL: DESCRIBE_CONFIGS on the topic; on the cluster for brokers.
Errors by resource: TOPIC_AUTHORIZATION_FAILED, CLUSTER_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_OR_PARTITION,
INVALID_REQUEST.
"""

from collections.abc import Iterable

from common.lists import grouped
from controller.cluster.configs import ConfigValue, check_resource, describe_configs
from controller.model.access import Operation
from controller.model.cluster import ResourceType
from controller.scheduling.limits import ALIASES
from protocol.apis import ApiKey
from protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from server.dispatch.configs import CONFIG_BOUNDS, DUPLICATE_RESOURCE, is_own, key_of, only_own, refusal
from server.dispatch.context import (
    Context,
    RowError,
    repeated,
)
from server.dispatch.registry import handles


def refuse(request: DescribeConfigsRequest, code: int, message: str | None) -> DescribeConfigsResponse:
    """Repeat the error for every resource."""
    return DescribeConfigsResponse(
        results=[_refused(resource, (code, message)) for resource in request.resources]
    )


@handles(
    ApiKey.DESCRIBE_CONFIGS,
    DescribeConfigsRequest,
    versions=(1, 4),
    refuse=refuse,
    bounds=CONFIG_BOUNDS,
)
async def handle(request: DescribeConfigsRequest, context: Context) -> DescribeConfigsResponse:
    """Describe each resource independently. Other tasks run between resources."""
    results: list[DescribeConfigsResult] = []
    # A row of the response is a hundred times as long as its row of the request, so duplicates are errors.
    duplicates = repeated(map(key_of, request.resources))
    for resource in request.resources:
        is_duplicate = key_of(resource) in duplicates
        results.append(
            _refused(resource, DUPLICATE_RESOURCE) if is_duplicate else _describe(resource, request, context)
        )
        await context.yield_to_loop(len(results))
    return DescribeConfigsResponse(results=results)


def _describe(
    requested: DescribeConfigsResource, request: DescribeConfigsRequest, context: Context
) -> DescribeConfigsResult:
    error = refusal(requested, Operation.DESCRIBE_CONFIGS, context)
    if error is not None:
        return _refused(requested, error)
    resource, name = ResourceType(requested.resource_type), requested.resource_name
    outcome = check_resource(context.state, resource, name)
    if not outcome.ok:
        return _refused(requested, outcome)
    values: Iterable[ConfigValue]
    if only_own(context.state):
        # Unset keys too: there is no other place to look them up.
        described = describe_configs(context.state, resource, name, unset=True)
        values = [value for value in described if is_own(value.key.name)]
    else:
        values = describe_configs(context.state, resource, name)
    return DescribeConfigsResult(0, None, *key_of(requested), config_rows(values, requested, request))


def config_rows(
    values: Iterable[ConfigValue], requested: DescribeConfigsResource, request: DescribeConfigsRequest
) -> list[DescribeConfigsResourceResult]:
    """Return the rows of the requested configs; of all configs if none is named.

    A config that is requested by its name in a draft of KIP-435 gets a row with that name: tools compare
    what they have set with what they read under the same name.
    """
    if not requested.configuration_keys:
        return [config_row(value, value.key.name, request) for value in values]
    asked = grouped((ALIASES.get(name, name), name) for name in dict.fromkeys(requested.configuration_keys))
    return [config_row(value, name, request) for value in values for name in asked.get(value.key.name, ())]


def config_row(
    value: ConfigValue, name: str, request: DescribeConfigsRequest
) -> DescribeConfigsResourceResult:
    """Return the row of one config, with synonyms and documentation if the request includes them."""
    synonyms = (
        [DescribeConfigsSynonym(*synonym) for synonym in value.synonyms] if request.include_synonyms else ()
    )
    return DescribeConfigsResourceResult(
        name,
        value.value,
        config_source=value.source,
        synonyms=synonyms,
        config_type=value.key.type,
        documentation=value.key.doc if request.include_documentation else None,
    )


def _refused(resource: DescribeConfigsResource, error: RowError) -> DescribeConfigsResult:
    return DescribeConfigsResult(*error, resource.resource_type, resource.resource_name)
