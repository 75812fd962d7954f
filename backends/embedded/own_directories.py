"""The log directories of the brokers of this process, for moves between them."""

from collections.abc import Callable

from backends.client.errors import UnreachableError
from backends.embedded.broker import EmbeddedBroker
from backends.embedded.log_dirs import describing_log_dirs
from common.tasks import in_steps
from protocol.messages.alter_replica_log_dirs_request import AlterReplicaLogDirsRequest
from protocol.messages.alter_replica_log_dirs_response import AlterReplicaLogDirsResponse
from protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from protocol.messages.describe_log_dirs_response import DescribeLogDirsResponse


class OwnDirectories:
    """Implements `backends.disk_moves.mover.DiskBrokers`.

    `running` returns a broker, None if it does not run.
    """

    def __init__(self, running: Callable[[int], EmbeddedBroker | None]) -> None:
        self._running = running

    async def describe(self, broker: int, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
        """See `DiskBrokers.describe`."""
        return await in_steps(describing_log_dirs(self._host(broker), request))

    async def alter(self, broker: int, request: AlterReplicaLogDirsRequest) -> AlterReplicaLogDirsResponse:
        """See `DiskBrokers.alter`."""
        return self._host(broker).alter_replica_log_dirs(request)

    def _host(self, broker: int) -> EmbeddedBroker:
        host = self._running(broker)
        if host is None:
            raise UnreachableError(f"broker {broker} does not run")
        return host
