"""FindCoordinator (10), versions 0-6.

KIP: 699 (v4, many keys). Neither consumer groups nor transactions are served, and this says so.
ACL: none, since there is nothing to find.
Errors: COORDINATOR_NOT_AVAILABLE.
"""

from common.error_codes import ErrorCode
from protocol.apis import ApiKey
from protocol.messages.find_coordinator_request import FindCoordinatorRequest
from protocol.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from server.dispatch.context import Context
from server.dispatch.registry import handles

TEXT = "reassignd has no coordinators: it serves neither consumer groups nor transactions."
NOBODY = -1


def refuse(request: FindCoordinatorRequest, code: int, message: str | None) -> FindCoordinatorResponse:
    """Repeat the error for every key; before version 4 there is one, and no list."""
    if not request.coordinator_keys:
        return FindCoordinatorResponse(0, code, message, NOBODY, "", NOBODY)
    keys = [Coordinator(key, NOBODY, "", NOBODY, code, message) for key in request.coordinator_keys]
    return FindCoordinatorResponse(coordinators=keys)


@handles(ApiKey.FIND_COORDINATOR, FindCoordinatorRequest, versions=(0, 6), refuse=refuse)
def handle(request: FindCoordinatorRequest, context: Context) -> FindCoordinatorResponse:
    """Say that there is none."""
    if context.api_version >= 4 and not request.coordinator_keys:
        return FindCoordinatorResponse()
    return refuse(request, ErrorCode.COORDINATOR_NOT_AVAILABLE, TEXT)
