"""DescribeAcls (29), versions 1-3.

KIP: 140, 290 (v1, patterns), 482 (v2), 373 (v3, users as resources).
ACL: DESCRIBE on the cluster.
Errors: CLUSTER_AUTHORIZATION_FAILED, SECURITY_DISABLED (no authorizer is configured).
"""

from common.error_codes import ErrorCode
from controller.model.access import Operation
from protocol.apis import ApiKey
from protocol.codec.errors import ApiError
from protocol.messages.describe_acls_request import DescribeAclsRequest
from protocol.messages.describe_acls_response import DescribeAclsResponse
from server.dispatch.context import (
    Context,
)
from server.dispatch.registry import handles
from server.security.acls import described, filter_of

NO_AUTHORIZER = "No Authorizer is configured on the broker"
"""Kafka's message, which other APIs have without the broker."""


def refuse(_request: DescribeAclsRequest, code: int, message: str | None) -> DescribeAclsResponse:
    """Return a response that contains only the error."""
    return DescribeAclsResponse(error_code=code, error_message=message)


@handles(
    ApiKey.DESCRIBE_ACLS, DescribeAclsRequest, versions=(1, 3), operation=Operation.DESCRIBE, refuse=refuse
)
def handle(request: DescribeAclsRequest, context: Context) -> DescribeAclsResponse:
    """List the ACLs that the filter matches."""
    if not context.services.manages_acls:
        raise ApiError(ErrorCode.SECURITY_DISABLED, NO_AUTHORIZER)
    return DescribeAclsResponse(resources=described(context.state.acls.found(filter_of(request))))
