"""DescribeCluster (60), versions 0-2.

KIP: 700, 919 (v1, endpoint types), 1073 (v2, fenced brokers).
ACL: none. The response has the operations that the principal may perform on the cluster.
Errors: MISMATCHED_ENDPOINT_TYPE, UNSUPPORTED_ENDPOINT_TYPE.
"""

from common.error_codes import ErrorCode
from protocol.apis import ApiKey
from protocol.codec.errors import ApiError
from protocol.messages.describe_cluster_request import DescribeClusterRequest
from protocol.messages.describe_cluster_response import DescribeClusterBroker, DescribeClusterResponse
from server.dispatch.context import CLUSTER, Context
from server.dispatch.registry import handles

BROKERS = 1
CONTROLLERS = 2


def refuse(_request: DescribeClusterRequest, code: int, message: str | None) -> DescribeClusterResponse:
    """Return a response that contains only the error code."""
    return DescribeClusterResponse(error_code=code, error_message=message)


@handles(ApiKey.DESCRIBE_CLUSTER, DescribeClusterRequest, versions=(0, 2), refuse=refuse)
def handle(request: DescribeClusterRequest, context: Context) -> DescribeClusterResponse:
    """List the live brokers and, if requested, the registered brokers that are not live (fenced)."""
    if request.endpoint_type == CONTROLLERS:
        raise ApiError(
            ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            "This is a broker's endpoint; the request was for a controller's.",
        )
    if request.endpoint_type != BROKERS:
        raise ApiError(
            ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, f"Unsupported endpoint type {request.endpoint_type}"
        )
    live = context.state.cluster.live
    return DescribeClusterResponse(
        endpoint_type=BROKERS,
        cluster_id=context.services.cluster_id,
        controller_id=context.controller_id,
        brokers=[
            DescribeClusterBroker(broker.id, broker.host, broker.port, broker.rack, broker.id not in live)
            for broker in context.brokers()
            if broker.id in live or request.include_fenced_brokers
        ],
        cluster_authorized_operations=context.operations_on(
            CLUSTER, request.include_cluster_authorized_operations
        ),
    )
