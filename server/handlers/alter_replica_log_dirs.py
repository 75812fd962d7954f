"""AlterReplicaLogDirs (34), versions 1-2.

KIP: 113. The receiving broker moves its own replicas only.
ACL: ALTER on the cluster.
Errors by partition: CLUSTER_AUTHORIZATION_FAILED, LOG_DIR_NOT_FOUND, KAFKA_STORAGE_ERROR,
REPLICA_NOT_AVAILABLE.
"""

from controller.model.access import Operation
from protocol.apis import ApiKey
from protocol.messages.alter_replica_log_dirs_request import AlterReplicaLogDirsRequest
from protocol.messages.alter_replica_log_dirs_response import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from server.dispatch.context import (
    Context,
)
from server.dispatch.registry import handles


def refuse(
    request: AlterReplicaLogDirsRequest, code: int, _message: str | None
) -> AlterReplicaLogDirsResponse:
    """Repeat the error for every partition."""
    results = [
        AlterReplicaLogDirTopicResult(
            topic.name, [AlterReplicaLogDirPartitionResult(index, code) for index in topic.partitions]
        )
        for log_dir in request.dirs
        for topic in log_dir.topics
    ]
    return AlterReplicaLogDirsResponse(results=results)


@handles(
    ApiKey.ALTER_REPLICA_LOG_DIRS,
    AlterReplicaLogDirsRequest,
    versions=(1, 2),
    operation=Operation.ALTER,
    refuse=refuse,
)
def handle(request: AlterReplicaLogDirsRequest, context: Context) -> AlterReplicaLogDirsResponse:
    """Move replicas between the broker's log directories."""
    return context.broker.alter_replica_log_dirs(request)
