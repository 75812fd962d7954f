"""Connections to the brokers that the controller commands: one connection and one queue per broker.

One request is in flight per broker (Kafka: ControllerChannelManager). It is retried until the broker leaves;
epochs make repeated requests harmless. Changes that wait for a slow or unreachable broker are coalesced, so
that their number is bounded. `backends.broker_commands.batch` has the content and the order of the requests.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TypeVar, assert_never

from backends.broker_commands.batch import LIMIT, Batch, ClusterSnapshot, all_partitions, merge_publish
from backends.broker_commands.requests import BrokerRequest, BrokerResponse, Header, Versions, live_brokers
from backends.client.channel import Channel, Connect, connect
from common.backoff import RETRY_SOON_SECONDS
from common.clock import Clock, RealClock
from common.error_codes import ErrorCode
from common.tasks import cancel, spawn
from controller.messages.effects import (
    TOPIC_DELETED,
    BrokerCommand,
    BrokerJoined,
    BrokerLeft,
    DropReplica,
    Publish,
)
from controller.messages.events import LogDirFailed
from controller.model.cluster import Broker, Partition, TopicPartition
from controller.ports import SubmitEvent
from controller.state.state import State
from protocol.messages.leader_and_isr_request import LeaderAndIsrRequest
from protocol.messages.leader_and_isr_response import LeaderAndIsrResponse
from protocol.messages.stop_replica_request import StopReplicaRequest
from protocol.messages.stop_replica_response import StopReplicaResponse
from protocol.messages.update_metadata_request import UpdateMetadataBroker, UpdateMetadataRequest

log = logging.getLogger(__name__)

MAX_QUEUED = 8
"""Batches that may wait for one broker before they are coalesced."""


class BrokerLinks:
    """Carries out broker commands of a controller.

    `controller_id` returns the id that requests name as controller. `state` is only read. A broker gets
    requests from its `BrokerJoined` until its `BrokerLeft`, whether it can be reached or not. `partitions`
    returns the partitions that a joining broker gets, `brokers` the brokers that it may name to clients.
    """

    def __init__(
        self,
        state: State,
        submit: SubmitEvent,
        controller_id: Callable[[], int],
        *,
        connect: Connect = connect,
        clock: Clock | None = None,
        versions: Versions | None = None,
        partitions: Callable[[State], Iterator[Partition]] = all_partitions,
        brokers: Callable[[State], Sequence[UpdateMetadataBroker]] = live_brokers,
    ) -> None:
        self.state = state
        self.submit = submit
        self.controller_id = controller_id
        self.connect = connect
        self.clock = clock or RealClock()
        self.versions = versions or Versions()
        self.version_of: dict[type, int] = {
            LeaderAndIsrRequest: self.versions.leader_and_isr,
            UpdateMetadataRequest: self.versions.update_metadata,
            StopReplicaRequest: self.versions.stop_replica,
        }
        self.partitions, self.brokers = partitions, brokers
        self.on_dropped: Callable[[int, Sequence[DropReplica]], None] = lambda _broker, _drops: None
        """Callback with the drops that a broker has confirmed, or does not need."""
        self._open = Batch()
        self._links: dict[int, _Link] = {}

    def perform(self, commands: Sequence[BrokerCommand]) -> None:
        """Queue the requests for these commands and return; failed requests are retried."""
        for command in commands:
            match command:
                case Publish():
                    if not self._open.publish(command):
                        self.seal()
                        self._open.publish(command)
                case DropReplica():
                    if not self._open.drop(command):
                        self.seal()
                        self._open.drop(command)
                case BrokerJoined():
                    self._broker_joined(command.broker)
                case BrokerLeft():
                    self._broker_left(command.broker)
                case _:
                    assert_never(command)
        for link in self._links.values():
            link.wake.set()

    @property
    def idle(self) -> bool:
        """Nothing is queued or in flight."""
        return not self._open and all(link.idle for link in self._links.values())

    async def close(self) -> None:
        """Close all connections; queued requests are lost."""
        tasks = [link.task for link in self._links.values()]
        self._links.clear()
        await cancel(*tasks)

    def seal(self) -> None:
        """Queue the open batch for every broker and start a new one."""
        if not self._open:
            return
        for link in self._links.values():
            link.queue.append(self._open)
            if link.pending is not None or len(link.queue) > MAX_QUEUED:
                link.coalesce()
        self._open = Batch()

    def _broker_joined(self, broker: int) -> None:
        self._broker_left(broker)
        self._links[broker] = _Link(self, self.state.cluster.brokers[broker])

    def _broker_left(self, broker: int) -> None:
        # Batches are queued per link, so commands before this one must be queued while the link exists.
        self.seal()
        link = self._links.pop(broker, None)
        if link is not None:
            link.task.cancel()
        self._open.brokers_changed = True


class _Link:
    """Sends one broker the whole state first, then the changes since.

    All links queue the same batches. When more than `MAX_QUEUED` wait in `queue`, they are moved to
    `pending`, which keeps one entry per partition, and later batches follow them there until the link has
    caught up. So the memory is bounded while the broker is slow or unreachable.

    The first request with the state is made when there is a connection. Until then, and after the last one,
    the broker knows nothing of a partition whose creation is not sent; in between, the state may contain it.
    """

    def __init__(self, links: BrokerLinks, broker: Broker) -> None:
        self.queue: deque[Batch] = deque()
        self.wake = asyncio.Event()
        self.idle = False
        self.pending: PendingChanges | None = None
        self._links, self._broker = links, broker
        self._channel: Channel | None = None
        self._sends_state = False
        self.task = spawn(self._run(), f"link-to-broker-{broker.id}")

    def coalesce(self) -> None:
        """Move the queue to the pending changes."""
        self.pending = self.pending or PendingChanges(self._broker.id)
        while self.queue:
            self.pending.add(self.queue.popleft(), maybe_known=self._sends_state)
        if needless := self.pending.needless:
            self.pending.needless = []
            self._links.on_dropped(self._broker.id, needless)

    async def _run(self) -> None:
        try:
            await self._send_state()
            while True:
                await self._send_all(await self._next())
        finally:
            self._close()

    async def _send_state(self) -> None:
        await self._connected()
        self._sends_state = True
        if self.pending is not None:
            self.pending.may_be_known()
        await self._send_all(ClusterSnapshot(self._links.partitions))
        # What was created meanwhile may have been sent with the state.
        self._links.seal()
        self.coalesce()
        self._sends_state = False

    async def _send_all(self, batch: Batch | ClusterSnapshot) -> None:
        links = self._links
        header = Header(
            self._broker.id,
            self._broker.epoch,
            links.controller_id(),
            links.versions,
            links.brokers(links.state),
        )
        for request in batch.requests(header, links.state):
            await self._handle(batch, request, await self._send(request))

    async def _next(self) -> Batch:
        while True:
            if self.pending:
                return self.pending.take()
            self.pending = None
            if not self.queue:
                self._links.seal()
            if self.queue:
                return self.queue.popleft()
            self.idle = True
            self.wake.clear()
            await self.wake.wait()
            self.idle = False

    async def _send(self, request: BrokerRequest) -> BrokerResponse:
        version = self._links.version_of[type(request)]
        while True:
            channel = await self._connected()
            try:
                return await channel.request(request, version)
            except OSError as error:
                await self._pause(error)

    async def _connected(self) -> Channel:
        while self._channel is None:
            try:
                self._channel = await self._links.connect(self._broker.host, self._broker.port)
            except OSError as error:
                await self._pause(error)
        return self._channel

    async def _pause(self, error: OSError) -> None:
        log.debug("broker %d does not answer, retrying: %s", self._broker.id, error)
        self._close()
        await self._links.clock.sleep(RETRY_SOON_SECONDS)

    def _close(self) -> None:
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    async def _handle(
        self, batch: Batch | ClusterSnapshot, request: BrokerRequest, response: BrokerResponse
    ) -> None:
        name = type(request).__name__
        if response.error_code != ErrorCode.NONE:
            log.warning("broker %d refused a %s: error %d", self._broker.id, name, response.error_code)
        elif isinstance(response, LeaderAndIsrResponse):
            await self._handle_leader_and_isr(response)
        elif isinstance(response, StopReplicaResponse) and isinstance(batch, Batch):
            self._handle_stop_replica(batch, response)

    def _handle_stop_replica(self, batch: Batch, response: StopReplicaResponse) -> None:
        confirmed = []
        for row in response.partition_errors:
            key = TopicPartition(row.topic_name, row.partition_index)
            if row.error_code != ErrorCode.NONE:
                log.warning(
                    "broker %d refused to delete its replica of %s: error %d",
                    self._broker.id,
                    key,
                    row.error_code,
                )
            elif (drop := batch.drop_of(key)) is not None:
                confirmed.append(drop)
        self._links.on_dropped(self._broker.id, confirmed)

    async def _handle_leader_and_isr(self, response: LeaderAndIsrResponse) -> None:
        failed = []
        for key, error in self._rows(response):
            if error == ErrorCode.KAFKA_STORAGE_ERROR:
                failed.append(key)
            elif error == ErrorCode.STALE_CONTROLLER_EPOCH:
                log.debug("broker %d already has the state of %s", self._broker.id, key)
            elif error != ErrorCode.NONE:
                log.warning("broker %d refused %s: error %d", self._broker.id, key, error)
        if failed:
            await self._links.submit(LogDirFailed(self._broker.id, failed))

    def _rows(self, response: LeaderAndIsrResponse) -> Iterator[tuple[TopicPartition, int]]:
        """Yield the error of each partition. From version 5 on, topics are identified by id."""
        for row in response.partition_errors:
            yield TopicPartition(row.topic_name, row.partition_index), row.error_code
        for topic in response.topics:
            name = self._links.state.cluster.topic_names.get(topic.topic_id, "a deleted topic")
            for row in topic.partition_errors:
                yield TopicPartition(name, row.partition_index), row.error_code


T = TypeVar("T")


class PendingChanges:
    """Unsent changes for one broker.

    They hold at most one state and one drop per partition, however long the broker is away.

    `Batch` objects are shared by all brokers and are only appended to a queue, so a queue that is not read
    grows with every change. This class keeps the newest state of each partition instead. Three rules keep the
    result correct:

    * When a topic is deleted, its drop replaces everything pending for the partition. It is sent before any
      state, because a topic of the same name may have been created since.
    * The drop of a replica is forgotten when the broker becomes a replica of the partition again.
    * Other drops are sent after the states, as in a `Batch`.

    A partition that was created and deleted while the broker was away is forgotten: the broker has never been
    told of it. The drops of other deleted topics stay until the broker has answered or has left, as in Kafka:
    without them it would keep the logs, and name the topics to clients. Their number is at most that of the
    partitions that the broker knows.
    """

    def __init__(self, broker: int) -> None:
        self._broker = broker
        self._brokers_changed = False
        self._deleted: dict[TopicPartition, DropReplica] = {}
        """Drops for deleted topics."""
        self._published: dict[TopicPartition, Publish] = {}
        self._dropped: dict[TopicPartition, DropReplica] = {}
        """Drops of this broker's replicas of existing topics."""
        self._unknown: set[TopicPartition] = set()
        """Partitions in `_published` that the broker has never been told of."""
        self.needless: list[DropReplica] = []
        """Drops of this broker's replicas that are not sent, because it has never been told of them. The
        caller takes them."""

    def __bool__(self) -> bool:
        return bool(self._deleted or self._published or self._dropped or self._brokers_changed)

    def add(self, batch: Batch, *, maybe_known: bool = False) -> None:
        """Add the content of the batch, which is newer than everything added before.

        With `maybe_known`, the broker may have been told of the partitions that the batch creates.
        """
        self._brokers_changed |= batch.brokers_changed
        if not maybe_known:
            self._unknown |= batch.created
        for publish in batch.published():
            self._publish(publish)
        for drop in batch.drops():
            self._drop(drop)

    def may_be_known(self) -> None:
        """Note that from now on the broker may be told of every partition."""
        self._unknown.clear()

    def take(self) -> Batch:
        """Remove the next changes to be sent, at most `LIMIT` partitions, and return them as a batch."""
        batch = Batch(brokers_changed=self._brokers_changed)
        self._brokers_changed = False
        if self._deleted:
            for drop in _pop_first(self._deleted, LIMIT):
                batch.drop(drop)
            return batch
        room = LIMIT
        for publish in _pop_first(self._published, room):
            batch.publish(publish)
            self._unknown.discard(publish.partition.key)
            room -= 1
        for drop in _pop_first(self._dropped, room):
            batch.drop(drop)
        return batch

    def _publish(self, effect: Publish) -> None:
        key = effect.partition.key
        if self._broker in effect.partition.replicas:
            drop = self._dropped.get(key)
            # A lower leader epoch means another topic of the same name: the log of the first one must still
            # go.
            if drop is not None and effect.partition.leader_epoch < drop.leader_epoch:
                self._end_topic(key, drop)
            self._dropped.pop(key, None)
        earlier = self._published.get(key)
        self._published[key] = effect if earlier is None else merge_publish(earlier, effect)

    def _drop(self, effect: DropReplica) -> None:
        key = TopicPartition(effect.topic, effect.partition)
        if effect.leader_epoch == TOPIC_DELETED:
            self._end_topic(key, effect)
        elif self._broker in effect.brokers and key not in self._unknown:
            self._dropped[key] = effect

    def _end_topic(self, key: TopicPartition, effect: DropReplica) -> None:
        """Replace everything pending for the partition, but keep an earlier drop of this broker's replica."""
        earlier = (self._deleted.get(key), self._dropped.pop(key, None))
        unknown = key in self._unknown
        self._unknown.discard(key)
        if unknown and earlier == (None, None):
            self._published.pop(key, None)
            if self._broker in effect.brokers:
                self.needless.append(effect)
            return
        owed = any(drop is not None and self._broker in drop.brokers for drop in earlier)
        if owed and self._broker not in effect.brokers:
            effect = effect._replace(brokers=(*effect.brokers, self._broker))
        self._published.pop(key, None)
        self._deleted[key] = effect


def _pop_first(entries: dict[TopicPartition, T], count: int) -> Iterator[T]:
    for key in list(islice(entries, count)):
        yield entries.pop(key)
