"""IncrementalAlterConfigs (44), versions 0-1.

KIP: 339 (SET, DELETE, APPEND, SUBTRACT). A broker resource with an empty name is the cluster-wide default (KIP-226).
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
from server.dispatch.config_requests import CONFIG_BOUNDS, Wanted, alter, response_rows
from server.dispatch.context import Context
from server.dispatch.registry import handles

OPERATIONS = {each.value for each in ConfigOp}


def refuse(
    request: IncrementalAlterConfigsRequest, code: int, message: str | None
) -> IncrementalAlterConfigsResponse:
    """Repeat the error for every resource."""
    verdicts = [(code, message)] * len(request.resources)
    return IncrementalAlterConfigsResponse(
        responses=response_rows(AlterConfigsResourceResponse, request.resources, verdicts)
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
    """Change each resource's configs, wholly or not at all."""
    wanted = [
        Wanted(each.resource_type, each.resource_name, changes_of(each.configs)) for each in request.resources
    ]
    verdicts = await alter(wanted, request.validate_only, context, replace=False)
    return IncrementalAlterConfigsResponse(
        responses=response_rows(AlterConfigsResourceResponse, request.resources, verdicts)
    )


def changes_of(configs: Sequence[AlterableConfig]) -> list[ConfigChange] | None:
    """The changes that a request spells out; None when one of its operations is unknown."""
    if any(config.config_operation not in OPERATIONS for config in configs):
        return None
    return [ConfigChange(config.name, ConfigOp(config.config_operation), config.value) for config in configs]
