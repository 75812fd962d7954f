"""ControlledShutdown (7), versions 0-3.

KIP: 380 (v2, broker epochs). A broker sends it to the controller before it stops; the controller moves its
leaders away.
ACL: CLUSTER_ACTION on the cluster.
Errors: STALE_BROKER_EPOCH, BROKER_ID_NOT_REGISTERED, CLUSTER_AUTHORIZATION_FAILED.
"""

from controller.messages.events import ControlledShutdown
from controller.model.access import Operation
from protocol.apis import ApiKey
from protocol.messages.controlled_shutdown_request import ControlledShutdownRequest
from protocol.messages.controlled_shutdown_response import ControlledShutdownResponse, RemainingPartition
from server.dispatch.context import (
    Context,
)
from server.dispatch.registry import handles


def refuse(
    _request: ControlledShutdownRequest, code: int, _message: str | None
) -> ControlledShutdownResponse:
    """Return a response that contains only the error code."""
    return ControlledShutdownResponse(error_code=code)


@handles(
    ApiKey.CONTROLLED_SHUTDOWN,
    ControlledShutdownRequest,
    versions=(0, 3),
    operation=Operation.CLUSTER_ACTION,
    refuse=refuse,
)
async def handle(request: ControlledShutdownRequest, context: Context) -> ControlledShutdownResponse:
    """Submit the shutdown to the controller.

    The response lists the partitions that the broker still leads.
    """
    event = ControlledShutdown(request.broker_id, request.broker_epoch)
    reply = await context.services.driver.submit(event)
    remaining = [RemainingPartition(topic, partition) for topic, partition in reply.remaining]
    return ControlledShutdownResponse(reply.outcome.error, remaining)
