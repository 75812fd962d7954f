"""StopReplica (5), versions 0-3.

KIP: 380 (v1, broker epochs), 570 (v3, leader epochs). The controller sends it to the replica's broker.
ACL: CLUSTER_ACTION on the cluster.
Errors: STALE_CONTROLLER_EPOCH, STALE_BROKER_EPOCH, CLUSTER_AUTHORIZATION_FAILED; by partition the errors of
the broker.
"""

from controller.model.access import Operation
from protocol.apis import ApiKey
from protocol.messages.stop_replica_request import StopReplicaRequest
from protocol.messages.stop_replica_response import StopReplicaResponse
from server.dispatch.context import (
    Context,
)
from server.dispatch.registry import handles


def refuse(_request: StopReplicaRequest, code: int, _message: str | None) -> StopReplicaResponse:
    """Return a response that contains only the error code."""
    return StopReplicaResponse(error_code=code)


@handles(
    ApiKey.STOP_REPLICA,
    StopReplicaRequest,
    versions=(0, 3),
    operation=Operation.CLUSTER_ACTION,
    refuse=refuse,
)
def handle(request: StopReplicaRequest, context: Context) -> StopReplicaResponse:
    """Stop the replicas at the broker."""
    return context.broker.stop_replica(request)
