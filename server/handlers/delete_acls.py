"""DeleteAcls (31), versions 1-3.

KIP: 140, 290 (v1, patterns), 482 (v2), 373 (v3, users as resources).
ACL: ALTER on the cluster.
Errors by filter: CLUSTER_AUTHORIZATION_FAILED, SECURITY_DISABLED (no authorizer is configured),
INVALID_REQUEST.
"""

from common.error_codes import ErrorCode
from controller.messages.events import DeleteAcls
from controller.model.access import Operation
from protocol.apis import ApiKey
from protocol.codec.errors import ApiError
from protocol.messages.delete_acls_request import DeleteAclsRequest
from protocol.messages.delete_acls_response import DeleteAclsFilterResult, DeleteAclsResponse
from server.dispatch.context import (
    Context,
)
from server.dispatch.registry import handles
from server.handlers.create_acls import NO_AUTHORIZER
from server.security.acls import deleted, fault_of, filter_of


def refuse(request: DeleteAclsRequest, code: int, message: str | None) -> DeleteAclsResponse:
    """Repeat the error for every filter."""
    return DeleteAclsResponse(filter_results=[DeleteAclsFilterResult(code, message)] * len(request.filters))


@handles(ApiKey.DELETE_ACLS, DeleteAclsRequest, versions=(1, 3), operation=Operation.ALTER, refuse=refuse)
async def handle(request: DeleteAclsRequest, context: Context) -> DeleteAclsResponse:
    """Delete the ACLs that match a filter; the response lists them by filter."""
    if not context.services.manages_acls:
        raise ApiError(ErrorCode.SECURITY_DISABLED, NO_AUTHORIZER)
    filters = [filter_of(message) for message in request.filters]
    known = [each for each in filters if fault_of(each) is None]
    found = await context.services.driver.submit(DeleteAcls(known, context.requester))
    matching = iter(found)
    return DeleteAclsResponse(
        filter_results=[
            DeleteAclsFilterResult(0, None, deleted(next(matching)))
            if (fault := fault_of(each)) is None
            else DeleteAclsFilterResult(ErrorCode.INVALID_REQUEST, fault)
            for each in filters
        ]
    )
