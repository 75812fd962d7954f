"""DescribeLogDirs (35), versions 1-5.

KIP: 113, 827 (v4, sizes of volumes). Null topics mean all. The receiving broker describes its own directories
only.
ACL: DESCRIBE on the cluster.
Errors: top-level CLUSTER_AUTHORIZATION_FAILED (v3); by log dir KAFKA_STORAGE_ERROR.
"""

from controller.model.access import Operation
from protocol.apis import ApiKey
from protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from protocol.messages.describe_log_dirs_response import DescribeLogDirsResponse
from server.dispatch.context import (
    Context,
)
from server.dispatch.registry import handles


def refuse(_request: DescribeLogDirsRequest, code: int, _message: str | None) -> DescribeLogDirsResponse:
    """Return a response that contains only the error code."""
    return DescribeLogDirsResponse(error_code=code)


@handles(
    ApiKey.DESCRIBE_LOG_DIRS,
    DescribeLogDirsRequest,
    versions=(1, 5),
    operation=Operation.DESCRIBE,
    refuse=refuse,
)
def handle(request: DescribeLogDirsRequest, context: Context) -> DescribeLogDirsResponse:
    """Describe the broker's log directories."""
    return context.broker.describe_log_dirs(request)
