"""CreateAcls (30), versions 1-3.

KIP: 140, 290 (v1, patterns), 482 (v2), 373 (v3, users as resources).
ACL: ALTER on the cluster.
Errors by ACL: CLUSTER_AUTHORIZATION_FAILED, SECURITY_DISABLED (no authorizer is configured), INVALID_REQUEST;
of all ACLs: UNKNOWN_SERVER_ERROR (one has a number of filters, such as ANY).
"""

from common.error_codes import ErrorCode
from controller.messages.events import CreateAcls
from controller.model.access import Operation
from protocol.apis import ApiKey
from protocol.codec.errors import ApiError
from protocol.messages.create_acls_request import CreateAclsRequest
from protocol.messages.create_acls_response import AclCreationResult, CreateAclsResponse
from server.dispatch.context import (
    Context,
)
from server.dispatch.registry import handles
from server.security.acls import acl_of

NO_AUTHORIZER = "No Authorizer is configured."


def refuse(request: CreateAclsRequest, code: int, message: str | None) -> CreateAclsResponse:
    """Repeat the error for every ACL."""
    return CreateAclsResponse(results=[AclCreationResult(code, message)] * len(request.creations))


@handles(ApiKey.CREATE_ACLS, CreateAclsRequest, versions=(1, 3), operation=Operation.ALTER, refuse=refuse)
async def handle(request: CreateAclsRequest, context: Context) -> CreateAclsResponse:
    """Submit the ACLs to the controller, which refuses invalid ones."""
    if not context.services.manages_acls:
        raise ApiError(ErrorCode.SECURITY_DISABLED, NO_AUTHORIZER)
    acls = [acl_of(creation) for creation in request.creations]
    outcomes = await context.services.driver.submit(CreateAcls(acls, context.requester))
    # Kafka's message is empty, not null, for an ACL that was accepted.
    return CreateAclsResponse(results=[AclCreationResult(code, message or "") for code, message in outcomes])
