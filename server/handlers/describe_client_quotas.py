"""DescribeClientQuotas (48), versions 0-1.

KIP: 546. There are no quotas. `kafka-configs --describe --entity-type users` asks for them before it asks for
SCRAM credentials, and fails without an answer.
ACL: DESCRIBE_CONFIGS on the cluster.
Errors: CLUSTER_AUTHORIZATION_FAILED.
"""

from controller.model.access import Operation
from protocol.apis import ApiKey
from protocol.messages.describe_client_quotas_request import DescribeClientQuotasRequest
from protocol.messages.describe_client_quotas_response import DescribeClientQuotasResponse
from server.dispatch.context import (
    Context,
)
from server.dispatch.registry import handles


def refuse(
    _request: DescribeClientQuotasRequest, code: int, message: str | None
) -> DescribeClientQuotasResponse:
    """Return a response with the error and null entries, as Kafka does."""
    return DescribeClientQuotasResponse(error_code=code, error_message=message, entries=None)


@handles(
    ApiKey.DESCRIBE_CLIENT_QUOTAS,
    DescribeClientQuotasRequest,
    versions=(0, 1),
    operation=Operation.DESCRIBE_CONFIGS,
    refuse=refuse,
)
def handle(_request: DescribeClientQuotasRequest, _context: Context) -> DescribeClientQuotasResponse:
    """Return no quotas, whatever the filter."""
    return DescribeClientQuotasResponse(error_message=None, entries=())
