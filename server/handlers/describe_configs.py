"""DescribeConfigs (32), versions 1-4.

KIP: 133, 226 (v1, synonyms), 569 (v3, types and documentation). Any broker describes every resource.
ACL: DESCRIBE_CONFIGS on the topic; on the cluster for brokers.
Errors by resource: TOPIC_AUTHORIZATION_FAILED, CLUSTER_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_OR_PARTITION,
INVALID_REQUEST.
"""

from controller.configs.changes import ConfigValue, check_resource, describe_configs
from controller.model.cluster import ResourceType
from protocol.apis import ApiKey
from protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from server.dispatch.authorizer import Operation
from server.dispatch.config_requests import CONFIG_BOUNDS, TWICE, refusal
from server.dispatch.context import Context
from server.dispatch.registry import handles
from server.dispatch.row_errors import Verdict, repeated


def refuse(request: DescribeConfigsRequest, code: int, message: str | None) -> DescribeConfigsResponse:
    """Repeat the error for every resource."""
    return DescribeConfigsResponse(results=[_refused(each, (code, message)) for each in request.resources])


@handles(
    ApiKey.DESCRIBE_CONFIGS,
    DescribeConfigsRequest,
    versions=(1, 4),
    refuse=refuse,
    bounds=CONFIG_BOUNDS,
)
async def handle(request: DescribeConfigsRequest, context: Context) -> DescribeConfigsResponse:
    """Describe each resource on its own; a request for very many does not hold up the others."""
    results: list[DescribeConfigsResult] = []
    # An answer has a hundred times the bytes of a row that asks: nobody is told the same twice.
    twice = repeated((each.resource_type, each.resource_name) for each in request.resources)
    for each in request.resources:
        named_twice = (each.resource_type, each.resource_name) in twice
        results.append(_refused(each, TWICE) if named_twice else _describe(each, request, context))
        await context.yield_to_loop(len(results))
    return DescribeConfigsResponse(results=results)


def _describe(
    wanted: DescribeConfigsResource, request: DescribeConfigsRequest, context: Context
) -> DescribeConfigsResult:
    kind, name = wanted.resource_type, wanted.resource_name
    refused = refusal(kind, name, Operation.DESCRIBE_CONFIGS, context)
    if refused is not None:
        return _refused(wanted, refused)
    resource = ResourceType(kind)
    outcome = check_resource(context.state, resource, name)
    if not outcome.ok:
        return _refused(wanted, outcome)
    configs = [
        shown(value, request)
        for value in describe_configs(context.state, resource, name)
        if not wanted.configuration_keys or value.key.name in wanted.configuration_keys
    ]
    return DescribeConfigsResult(0, None, kind, name, configs)


def shown(value: ConfigValue, request: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
    """The row of one config, with as much as was asked for."""
    synonyms = [DescribeConfigsSynonym(*each) for each in value.synonyms] if request.include_synonyms else ()
    return DescribeConfigsResourceResult(
        value.key.name,
        value.value,
        config_source=value.source,
        synonyms=synonyms,
        config_type=value.key.type,
        documentation=value.key.doc if request.include_documentation else None,
    )


def _refused(wanted: DescribeConfigsResource, verdict: Verdict) -> DescribeConfigsResult:
    return DescribeConfigsResult(*verdict, wanted.resource_type, wanted.resource_name)
