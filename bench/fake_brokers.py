"""Fake brokers: they are registered in ZooKeeper, and record and answer the requests of the controller.

They store no data, so a small machine can measure takeovers with many partitions. They also record the
elections and the deletions of `/controller` in ZooKeeper.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence
from struct import unpack_from
from typing import NamedTuple, Self, cast

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError
from kazoo.protocol.states import EventType, WatchedEvent

from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.formats import Endpoint, Registration, decode_controller, encode_broker
from protocol.apis import ApiKey
from protocol.frames import Connection, RequestFrame, decode_request, encode_response
from protocol.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from protocol.messages.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from protocol.messages.describe_log_dirs_response import DescribeLogDirsResponse
from protocol.messages.leader_and_isr_response import LeaderAndIsrResponse
from protocol.messages.stop_replica_response import StopReplicaResponse
from protocol.messages.update_metadata_request import UpdateMetadataRequest
from protocol.messages.update_metadata_response import UpdateMetadataResponse

PROTOCOL = DescribeConfigsResourceResult("inter.broker.protocol.version", "2.4-IV0")
ANSWERS: dict[int, NamedTuple] = {
    ApiKey.LEADER_AND_ISR: LeaderAndIsrResponse(),
    ApiKey.STOP_REPLICA: StopReplicaResponse(),
    ApiKey.UPDATE_METADATA: UpdateMetadataResponse(),
    ApiKey.DESCRIBE_CONFIGS: DescribeConfigsResponse(results=[DescribeConfigsResult(configs=[PROTOCOL])]),
    ApiKey.DESCRIBE_LOG_DIRS: DescribeLogDirsResponse(),
}
ANSWERS[ApiKey.API_VERSIONS] = ApiVersionsResponse(api_keys=[ApiVersion(key, 0, 1) for key in ANSWERS])
COMMANDS = frozenset({ApiKey.LEADER_AND_ISR, ApiKey.STOP_REPLICA, ApiKey.UPDATE_METADATA})
"""Requests that begin with the controller's id and epoch."""


class ControllerRequest(NamedTuple):
    """A request of a controller, at inter-broker protocol 2.4-IV0."""

    at: float
    controller: int
    epoch: int
    partitions: int
    """Number of partitions in an UpdateMetadata to the first fake broker; 0 in other requests."""


class Term(NamedTuple):
    """The election of a controller, with its time by ZooKeeper's clock."""

    controller: int
    at: float


class FakeBrokers:
    """Fake brokers in a thread, which runs for the duration of a `with` statement.

    Times are those of `time.time`.
    """

    def __init__(self, zookeeper: str, ids: Sequence[int]) -> None:
        self.ids = ids
        self.requests: list[ControllerRequest] = []
        self.terms: list[Term] = []
        self.lost: list[float] = []
        """Times at which `/controller` was deleted."""
        self._zookeeper = KazooClient(zookeeper)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="sinks")

    def __enter__(self) -> Self:
        logging.getLogger("kazoo").setLevel(logging.ERROR)
        self._thread.start()
        self._zookeeper.start()
        for each in self.ids:
            port = asyncio.run_coroutine_threadsafe(self._listen(each), self._loop).result()
            place = Registration((Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", port),))
            self._zookeeper.create(paths.broker(each), encode_broker(place, 0), ephemeral=True, makepath=True)
        self._look()
        return self

    def __exit__(self, *_: object) -> None:
        self._zookeeper.stop()
        self._zookeeper.close()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def registered(self, broker: int) -> bool:
        """Return whether a broker is registered."""
        return self._zookeeper.exists(paths.broker(broker)) is not None

    def note(self, told: ControllerRequest) -> None:
        """Record a request of a controller."""
        self.requests.append(told)

    def _look(self, event: WatchedEvent | None = None) -> None:
        if event is not None and event.type == EventType.DELETED:
            self.lost.append(time.time())
        try:
            data, stat = self._zookeeper.get(paths.CONTROLLER, watch=self._look)
        except NoNodeError:
            if self._zookeeper.exists(paths.CONTROLLER, watch=self._look) is not None:
                self._look()
            return
        self.terms.append(Term(decode_controller(data).broker, stat.ctime / 1000))

    async def _listen(self, broker: int) -> int:
        server = await self._loop.create_server(
            lambda: _FakeBrokerConnection(self.note, counts=broker == self.ids[0]), "127.0.0.1", 0
        )
        return int(server.sockets[0].getsockname()[1])


class _FakeBrokerConnection(asyncio.Protocol):
    """A connection of a controller."""

    _transport: asyncio.Transport

    def __init__(self, note: Callable[[ControllerRequest], None], *, counts: bool) -> None:
        self._note, self._counts = note, counts
        self._connection = Connection()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        for frame in self._connection.receive_data(data):
            at = time.time()
            self._transport.write(
                self._connection.send_encoded(frame, encode_response(frame, ANSWERS[frame.api_key]))
            )
            if frame.api_key in COMMANDS:
                controller, epoch = unpack_from(">ii", frame.body)
                self._note(ControllerRequest(at, controller, epoch, self._partitions(frame)))

    def _partitions(self, frame: RequestFrame) -> int:
        if frame.api_key != ApiKey.UPDATE_METADATA or not self._counts:
            return 0
        request = decode_request(frame, UpdateMetadataRequest)
        return len(request.ungrouped_partition_states) + sum(
            len(t.partition_states) for t in request.topic_states
        )
