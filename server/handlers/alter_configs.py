"""AlterConfigs (33), versions 0-2.

KIP: 133. Configs that the request does not name are reset to their defaults, unlike in
IncrementalAlterConfigs (44).
ACL: ALTER_CONFIGS on the topic; on the cluster for brokers.
Errors by resource: TOPIC_AUTHORIZATION_FAILED, CLUSTER_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_OR_PARTITION,
INVALID_REQUEST, INVALID_CONFIG.
"""

from protocol.apis import ApiKey
from protocol.messages.alter_configs_request import AlterConfigsRequest
from protocol.messages.alter_configs_response import AlterConfigsResourceResponse, AlterConfigsResponse
from server.dispatch.configs import CONFIG_BOUNDS, alter, response_rows
from server.dispatch.context import Context
from server.dispatch.registry import handles


def refuse(request: AlterConfigsRequest, code: int, message: str | None) -> AlterConfigsResponse:
    """Repeat the error for every resource."""
    errors = [(code, message)] * len(request.resources)
    return AlterConfigsResponse(
        responses=response_rows(AlterConfigsResourceResponse, request.resources, errors)
    )


@handles(
    ApiKey.ALTER_CONFIGS,
    AlterConfigsRequest,
    versions=(0, 2),
    refuse=refuse,
    bounds=CONFIG_BOUNDS,
)
async def handle(request: AlterConfigsRequest, context: Context) -> AlterConfigsResponse:
    """Replace the configs of each resource. A resource with an error keeps all its configs."""
    errors = await alter(request, context)
    rows = response_rows(AlterConfigsResourceResponse, request.resources, errors)
    return AlterConfigsResponse(responses=rows)
