"""Carries out moves between the log directories of brokers (`controller.disks`).

While there are moves, it asks their brokers again and again what they have (DescribeLogDirs, KIP-113),
submits that, and asks them for what the reply says (AlterReplicaLogDirs). It keeps nothing itself.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from backends.client.channel import BrokerClient
from backends.client.errors import BrokerError
from common.clock import Clock
from common.error_codes import ErrorCode, error_name
from common.lists import grouped
from common.tasks import side_by_side
from controller.disks.rules import LOOKED_AT, to_look_at
from controller.messages.disk_events import Ask, DisksSeen, MovesRefused, SeenBroker, SeenDir, SeenLog
from controller.model.disks import LOOK_SECONDS, BrokerReplica
from controller.model.replicas import TopicPartition
from controller.ports import SubmitEvent
from controller.state.state import State
from protocol.messages.alter_replica_log_dirs_request import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from protocol.messages.alter_replica_log_dirs_response import AlterReplicaLogDirsResponse
from protocol.messages.describe_log_dirs_request import DescribableLogDirTopic, DescribeLogDirsRequest
from protocol.messages.describe_log_dirs_response import DescribeLogDirsResponse

log = logging.getLogger(__name__)

SHARE = 10.0
"""Pause as a multiple of the slowest answer, so that brokers with many replicas are not kept busy."""
SELDOM_SECONDS = 60.0


class DiskBrokers(Protocol):
    """The brokers, as these requests need them. Both raise BrokerError."""

    async def describe(self, broker: int, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
        """Return the log directories of the broker."""
        ...

    async def alter(self, broker: int, request: AlterReplicaLogDirsRequest) -> AlterReplicaLogDirsResponse:
        """Have the broker move replicas."""
        ...


class ClientOfBrokers:
    """Implements `DiskBrokers` by a client."""

    def __init__(self, client: BrokerClient) -> None:
        self._client = client

    async def describe(self, broker: int, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
        """See `DiskBrokers.describe`."""
        return await self._client.ask(request, broker)

    async def alter(self, broker: int, request: AlterReplicaLogDirsRequest) -> AlterReplicaLogDirsResponse:
        """See `DiskBrokers.alter`."""
        return await self._client.ask(request, broker)


async def _at_once() -> None:
    """Wait for nothing."""


class DiskMover:
    """`submit` gives events to the controller. `settled` waits until the throttles are set."""

    def __init__(
        self,
        brokers: DiskBrokers,
        state: State,
        submit: SubmitEvent,
        clock: Clock,
        settled: Callable[[], Awaitable[None]] = _at_once,
    ) -> None:
        self._brokers, self._state, self._submit, self._clock = brokers, state, submit, clock
        self._settled = settled
        self._turns: dict[int, int] = {}
        """By broker: how many of its waiting moves the last looks were about."""
        self._slowest = 0.0

    async def run(self) -> None:
        """Look and ask until cancelled."""
        while True:
            self._slowest = 0.0
            if self._state.disks.open:
                await self.look()
            else:
                self._turns.clear()
            await self._clock.sleep(max(LOOK_SECONDS, min(SHARE * self._slowest, SELDOM_SECONDS)))

    async def look(self) -> None:
        """Look at all brokers with moves once, and ask them."""
        looked: dict[int, list[BrokerReplica]] = {}
        for broker in sorted(self._state.disks.brokers):
            looked[broker] = self._next(broker)
            await asyncio.sleep(0)
        shown: dict[int, SeenBroker] = {}
        silent: dict[int, str] = {}
        await side_by_side(self._describe(each, looked[each], shown, silent) for each in looked)
        asks = await self._submit(DisksSeen(looked, shown, silent))
        if not asks:
            return
        await self._settled()
        answers = await side_by_side(self._alter(*each) for each in _by_broker(asks).items())
        if refused := [row for rows in answers for row in rows]:
            await self._submit(MovesRefused(refused))

    def _next(self, broker: int) -> list[BrokerReplica]:
        """Return the replicas to look at. Those that wait take turns."""
        waiting = sum(map(len, self._state.disks.waiting.get(broker, {}).values()))
        turn = self._turns.get(broker, 0)
        turn = turn if turn < waiting else 0
        self._turns[broker] = turn + LOOKED_AT
        return to_look_at(self._state, broker, turn)

    async def _describe(
        self,
        broker: int,
        looked: Iterable[BrokerReplica],
        shown: dict[int, SeenBroker],
        silent: dict[int, str],
    ) -> None:
        if broker not in self._state.cluster.live:
            silent[broker] = f"offline: broker {broker}"
            return
        topics = grouped((replica.topic, replica.partition) for replica in looked)
        rows = [DescribableLogDirTopic(topic, tuple(numbers)) for topic, numbers in topics.items()]
        began = self._clock.now()
        try:
            answer = await self._brokers.describe(broker, DescribeLogDirsRequest(rows))
        except BrokerError as error:
            silent[broker] = f"no answer of broker {broker}: {error}"
            return
        self._slowest = max(self._slowest, self._clock.now() - began)
        # Before version 3 an unauthorized principal gets an empty answer (KIP-784).
        if answer.error_code or not answer.results:
            why = error_name(answer.error_code or ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
            silent[broker] = f"no log directories are shown by broker {broker}: {why}"
        else:
            shown[broker] = seen_broker(answer)

    async def _alter(self, broker: int, asks: Sequence[Ask]) -> list[tuple[Ask, str]]:
        """Ask the broker; return what it has refused or not answered, and why."""
        try:
            answer = await self._brokers.alter(broker, request_of(asks))
        except BrokerError as error:
            log.warning("broker %d was asked to move replicas between its directories: %s", broker, error)
            return [(ask, f"no answer of broker {broker}: {error}") for ask in asks]
        errors = {
            TopicPartition(topic.topic_name, row.partition_index): row.error_code
            for topic in answer.results
            for row in topic.partitions
            if row.error_code
        }
        return [
            (ask, f"refused by broker {broker}: {error_name(errors[ask.replica.partition_key])}")
            for ask in asks
            if ask.replica.partition_key in errors
        ]


def _by_broker(asks: Iterable[Ask]) -> dict[int, list[Ask]]:
    """Return the asks by broker."""
    return grouped((ask.replica.broker, ask) for ask in asks)


def request_of(asks: Iterable[Ask]) -> AlterReplicaLogDirsRequest:
    """Return the request for asks of one broker."""
    dirs: dict[str, dict[str, list[int]]] = {}
    for replica, path in asks:
        dirs.setdefault(path, {}).setdefault(replica.topic, []).append(replica.partition)
    return AlterReplicaLogDirsRequest(
        [AlterReplicaLogDir(path, _topics(rows)) for path, rows in dirs.items()]
    )


def _topics(rows: Mapping[str, Sequence[int]]) -> list[AlterReplicaLogDirTopic]:
    return [AlterReplicaLogDirTopic(topic, tuple(numbers)) for topic, numbers in rows.items()]


def seen_broker(answer: DescribeLogDirsResponse) -> SeenBroker:
    """Return what an answer shows."""
    dirs = {
        row.log_dir: SeenDir(
            row.total_bytes, row.usable_bytes, row.is_cordoned, row.error_code != ErrorCode.NONE
        )
        for row in answer.results
    }
    return SeenBroker(dirs, dict(_logs(answer, future=False)), dict(_logs(answer, future=True)))


def _logs(answer: DescribeLogDirsResponse, *, future: bool) -> Iterator[tuple[TopicPartition, SeenLog]]:
    for directory in answer.results:
        for topic in directory.topics:
            for row in topic.partitions:
                if row.is_future_key is future:
                    key = TopicPartition(topic.name, row.partition_index)
                    yield key, SeenLog(directory.log_dir, row.partition_size)
