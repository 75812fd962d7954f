"""UpdateMetadata (6), versions 0-7.

KIP: 380 (v5, broker epochs), 352 (v6, target replicas as a tagged field). The controller sends it to every
broker.
ACL: CLUSTER_ACTION on the cluster.
Errors: STALE_CONTROLLER_EPOCH, STALE_BROKER_EPOCH, CLUSTER_AUTHORIZATION_FAILED.
"""

from controller.model.access import Operation
from protocol.apis import ApiKey
from protocol.messages.update_metadata_request import UpdateMetadataRequest
from protocol.messages.update_metadata_response import UpdateMetadataResponse
from server.dispatch.context import (
    Context,
)
from server.dispatch.registry import handles


def refuse(_request: UpdateMetadataRequest, code: int, _message: str | None) -> UpdateMetadataResponse:
    """Return a response that contains only the error code."""
    return UpdateMetadataResponse(error_code=code)


@handles(
    ApiKey.UPDATE_METADATA,
    UpdateMetadataRequest,
    versions=(0, 7),
    operation=Operation.CLUSTER_ACTION,
    refuse=refuse,
)
def handle(request: UpdateMetadataRequest, context: Context) -> UpdateMetadataResponse:
    """Update the broker's metadata."""
    return context.broker.update_metadata(request)
