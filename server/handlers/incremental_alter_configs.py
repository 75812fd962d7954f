"""IncrementalAlterConfigs (44), versions 0-1.

KIP: 339 (SET, DELETE, APPEND, SUBTRACT). A broker resource with an empty name is the cluster-wide default
(KIP-226).
ACL: ALTER_CONFIGS on the topic; on the cluster for brokers.
Errors by resource: TOPIC_AUTHORIZATION_FAILED, CLUSTER_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_OR_PARTITION,
INVALID_REQUEST, INVALID_CONFIG.
"""

from collections.abc import Sequence

from controller.model.configs import ConfigChange, ConfigOp
from protocol.apis import ApiKey
from protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.incremental_alter_configs_response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from server.dispatch.config_requests import CONFIG_BOUNDS, RequestedChanges, alter, response_rows
from server.dispatch.context import Context
from server.dispatch.registry import handles

OPERATIONS = {operation.value for operation in ConfigOp}


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
    requested = [
        RequestedChanges(resource.resource_type, resource.resource_name, changes_of(resource.configs))
        for resource in request.resources
    ]
    rows = await alter(AlterConfigsResourceResponse, requested, request.validate_only, context, replace=False)
    return IncrementalAlterConfigsResponse(responses=rows)


def changes_of(configs: Sequence[AlterableConfig]) -> list[ConfigChange] | None:
    """Return the changes of the request's configs, or None if an operation is unknown."""
    if any(config.config_operation not in OPERATIONS for config in configs):
        return None
    return [ConfigChange(config.name, ConfigOp(config.config_operation), config.value) for config in configs]
