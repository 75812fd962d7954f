"""FindCoordinator (10), versions 0-6.

KIP: 699 (v4, many keys). reassignd serves neither consumer groups nor transactions.
ACL: DESCRIBE on the group or the transactional id.
Errors by key: GROUP_AUTHORIZATION_FAILED, TRANSACTIONAL_ID_AUTHORIZATION_FAILED, COORDINATOR_NOT_AVAILABLE.
"""

from common.error_codes import ErrorCode
from controller.model.access import Operation
from protocol.apis import ApiKey
from protocol.messages.find_coordinator_request import FindCoordinatorRequest
from protocol.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from server.dispatch.context import (
    Context,
    RowError,
    group,
    transactional_id,
)
from server.dispatch.registry import handles

NO_COORDINATORS = "reassignd has no coordinators: it serves neither consumer groups nor transactions."
NO_BROKER = -1


TRANSACTION = 1
"""The key type of transactional ids; 0 is that of groups, which version 0 has only."""


def refuse(request: FindCoordinatorRequest, code: int, message: str | None) -> FindCoordinatorResponse:
    """Repeat the error for every key. Before version 4 a request has one key and no list."""
    return _response(request, [(code, message)] * len(request.coordinator_keys or "?"))


@handles(ApiKey.FIND_COORDINATOR, FindCoordinatorRequest, versions=(0, 6), refuse=refuse)
def handle(request: FindCoordinatorRequest, context: Context) -> FindCoordinatorResponse:
    """Refuse every key."""
    if context.api_version >= 4 and not request.coordinator_keys:
        return FindCoordinatorResponse()
    keys = request.coordinator_keys or (request.key,)
    return _response(request, [_refusal(request.key_type, key, context) for key in keys])


def _refusal(key_type: int, key: str, context: Context) -> RowError:
    if key_type == TRANSACTION:
        resource, denied = transactional_id(key), ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    else:
        resource, denied = group(key), ErrorCode.GROUP_AUTHORIZATION_FAILED
    if not context.allows(Operation.DESCRIBE, resource):
        return denied, None
    return ErrorCode.COORDINATOR_NOT_AVAILABLE, NO_COORDINATORS


def _response(request: FindCoordinatorRequest, errors: list[RowError]) -> FindCoordinatorResponse:
    if not request.coordinator_keys:
        return FindCoordinatorResponse(0, *errors[0], NO_BROKER, "", NO_BROKER)
    rows = zip(request.coordinator_keys, errors, strict=True)
    keys = [Coordinator(key, NO_BROKER, "", NO_BROKER, *error) for key, error in rows]
    return FindCoordinatorResponse(coordinators=keys)
