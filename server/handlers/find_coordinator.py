"""FindCoordinator (10), versions 0-6.

KIP: 699 (v4, many keys). reassignd serves neither consumer groups nor transactions.
ACL: none.
Errors: COORDINATOR_NOT_AVAILABLE.
"""

from common.error_codes import ErrorCode
from protocol.apis import ApiKey
from protocol.messages.find_coordinator_request import FindCoordinatorRequest
from protocol.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from server.dispatch.context import Context
from server.dispatch.registry import handles

NO_COORDINATORS = "reassignd has no coordinators: it serves neither consumer groups nor transactions."
NO_BROKER = -1


def refuse(request: FindCoordinatorRequest, code: int, message: str | None) -> FindCoordinatorResponse:
    """Repeat the error for every key. Before version 4 a request has one key and no list."""
    if not request.coordinator_keys:
        return FindCoordinatorResponse(0, code, message, NO_BROKER, "", NO_BROKER)
    keys = [Coordinator(key, NO_BROKER, "", NO_BROKER, code, message) for key in request.coordinator_keys]
    return FindCoordinatorResponse(coordinators=keys)


@handles(ApiKey.FIND_COORDINATOR, FindCoordinatorRequest, versions=(0, 6), refuse=refuse)
def handle(request: FindCoordinatorRequest, context: Context) -> FindCoordinatorResponse:
    """Refuse every key."""
    if context.api_version >= 4 and not request.coordinator_keys:
        return FindCoordinatorResponse()
    return refuse(request, ErrorCode.COORDINATOR_NOT_AVAILABLE, NO_COORDINATORS)
