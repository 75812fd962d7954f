"""IncrementalAlterConfigs (44), versions 0-1.

KIP: 339 (SET, DELETE, APPEND, SUBTRACT). A broker resource with an empty name is the cluster-wide default
(KIP-226).
ACL: ALTER_CONFIGS on the topic; on the cluster for brokers.
Errors by resource: TOPIC_AUTHORIZATION_FAILED, CLUSTER_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_OR_PARTITION,
INVALID_REQUEST, INVALID_CONFIG.
"""

from protocol.apis import ApiKey
from protocol.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from protocol.messages.incremental_alter_configs_response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from server.dispatch.configs import CONFIG_BOUNDS, alter, response_rows
from server.dispatch.context import Context
from server.dispatch.registry import handles


def refuse(
    request: IncrementalAlterConfigsRequest, code: int, message: str | None
) -> IncrementalAlterConfigsResponse:
    """Repeat the error for every resource."""
    errors = [(code, message)] * len(request.resources)
    return IncrementalAlterConfigsResponse(
        responses=response_rows(AlterConfigsResourceResponse, request.resources, errors)
    )


@handles(
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
    IncrementalAlterConfigsRequest,
    versions=(0, 1),
    refuse=refuse,
    bounds=CONFIG_BOUNDS,
)
async def handle(
    request: IncrementalAlterConfigsRequest, context: Context
) -> IncrementalAlterConfigsResponse:
    """Change the configs of each resource. A resource with an error keeps all its configs."""
    errors = await alter(request, context)
    rows = response_rows(AlterConfigsResourceResponse, request.resources, errors)
    return IncrementalAlterConfigsResponse(responses=rows)
