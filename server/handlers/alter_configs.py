"""AlterConfigs (33), versions 0-2.

KIP: 133. What the request does not name goes back to its default; IncrementalAlterConfigs (44) leaves it alone.
ACL: ALTER_CONFIGS on the topic; on the cluster for brokers.
Errors by resource: TOPIC_AUTHORIZATION_FAILED, CLUSTER_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_OR_PARTITION,
INVALID_REQUEST, INVALID_CONFIG.
"""

from controller.model.configs import ConfigChange, ConfigOp
from protocol.apis import ApiKey
from protocol.messages.alter_configs_request import AlterConfigsRequest
from protocol.messages.alter_configs_response import AlterConfigsResourceResponse, AlterConfigsResponse
from server.dispatch.config_requests import CONFIG_BOUNDS, Wanted, alter, response_rows
from server.dispatch.context import Context
from server.dispatch.registry import handles


def refuse(request: AlterConfigsRequest, code: int, message: str | None) -> AlterConfigsResponse:
    """Repeat the error for every resource."""
    verdicts = [(code, message)] * len(request.resources)
    return AlterConfigsResponse(
        responses=response_rows(AlterConfigsResourceResponse, request.resources, verdicts)
    )


@handles(
    ApiKey.ALTER_CONFIGS,
    AlterConfigsRequest,
    versions=(0, 2),
    refuse=refuse,
    bounds=CONFIG_BOUNDS,
)
async def handle(request: AlterConfigsRequest, context: Context) -> AlterConfigsResponse:
    """Replace each resource's configs, wholly or not at all."""
    wanted = [
        Wanted(
            each.resource_type,
            each.resource_name,
            [ConfigChange(config.name, ConfigOp.SET, config.value) for config in each.configs],
        )
        for each in request.resources
    ]
    verdicts = await alter(wanted, request.validate_only, context, replace=True)
    return AlterConfigsResponse(
        responses=response_rows(AlterConfigsResourceResponse, request.resources, verdicts)
    )
