"""LeaderAndIsr (4), versions 0-4.

KIP: 380 (v2, broker epochs), 455 (v3, adding and removing replicas). The controller sends it to the replicas'
brokers.
ACL: CLUSTER_ACTION on the cluster.
Errors: STALE_CONTROLLER_EPOCH, STALE_BROKER_EPOCH, CLUSTER_AUTHORIZATION_FAILED; by partition the errors of
the broker.
"""

from controller.model.access import Operation
from protocol.apis import ApiKey
from protocol.messages.leader_and_isr_request import LeaderAndIsrRequest
from protocol.messages.leader_and_isr_response import LeaderAndIsrResponse
from server.dispatch.context import (
    Context,
)
from server.dispatch.registry import handles


def refuse(_request: LeaderAndIsrRequest, code: int, _message: str | None) -> LeaderAndIsrResponse:
    """Return a response that contains only the error code."""
    return LeaderAndIsrResponse(error_code=code)


@handles(
    ApiKey.LEADER_AND_ISR,
    LeaderAndIsrRequest,
    versions=(0, 4),
    operation=Operation.CLUSTER_ACTION,
    refuse=refuse,
)
def handle(request: LeaderAndIsrRequest, context: Context) -> LeaderAndIsrResponse:
    """Apply the leaders and replica lists at the broker."""
    return context.broker.leader_and_isr(request)
