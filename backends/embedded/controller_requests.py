"""What an embedded broker asks of the controller: AlterPartition (56) and ControlledShutdown (7).

A leader has one request with changes of ISRs in flight (KIP-497). A change that could not be sent is sent
again. After a rejected change, the follower catches up again, which leads to a new change with the epochs
that are known then. Before a broker stops, ControlledShutdown moves its leaderships.
"""

import asyncio
import logging
from collections.abc import Callable
from itertools import islice

from backends.client.channel import Channel, Connect
from backends.embedded.replication import Leader, Replica
from common.backoff import RETRY_SECONDS, RETRY_SOON_SECONDS
from common.clock import Clock
from common.error_codes import ErrorCode
from controller.model.cluster import Replicas, TopicPartition
from protocol.messages.alter_partition_request import AlterPartitionRequest, PartitionData, TopicData
from protocol.messages.alter_partition_response import AlterPartitionResponse
from protocol.messages.controlled_shutdown_request import ControlledShutdownRequest
from protocol.messages.controlled_shutdown_response import ControlledShutdownResponse

log = logging.getLogger(__name__)

ALTER_PARTITION_VERSION = 1
"""The last version with topic names; later ones have topic ids."""

LIMIT = 1_000
"""Largest number of partitions in one request."""

Changes = dict[TopicPartition, dict[int, bool]]
"""By partition and follower: whether the follower joins (True) or leaves the ISR."""


class IsrReporter:
    """Sends a leader's ISR changes.

    `catch_up_again` is called with each follower that is out of the ISR after a response.
    """

    def __init__(
        self,
        leader: Leader,
        catch_up_again: Callable[[TopicPartition, int], None],
        connect: Connect,
        clock: Clock,
    ) -> None:
        self._leader, self._catch_up_again = leader, catch_up_again
        self._connect, self._clock = connect, clock
        self._changes: Changes = {}
        self._wake = asyncio.Event()
        self._channel: Channel | None = None

    @property
    def idle(self) -> bool:
        """Whether there are no unsent changes."""
        return not self._changes

    def change(self, key: TopicPartition, follower: int, *, joins: bool) -> None:
        """Send a change with one of the next requests."""
        self._changes.setdefault(key, {})[follower] = joins
        self._wake.set()

    async def run(self) -> None:
        """Send changes until cancelled."""
        try:
            while True:
                await self._wake.wait()
                batch = {key: self._changes.pop(key) for key in list(islice(self._changes, LIMIT))}
                if not self._changes:
                    self._wake.clear()
                if not await self._report(batch):
                    self._put_back(batch)
                    await self._clock.sleep(RETRY_SOON_SECONDS)
        finally:
            self._close()

    async def _report(self, changes: Changes) -> bool:
        """Send one request; return False if it must be sent again."""
        request = self._request(changes)
        if not request.topics:
            return True
        try:
            if self._channel is None:
                self._channel = await self._connect(*self._leader.controller)
            response: AlterPartitionResponse = await self._channel.request(request, ALTER_PARTITION_VERSION)
        except OSError as error:
            log.debug("broker %d cannot reach the controller, retrying: %s", self._leader.id, error)
            self._close()
            return False
        if response.error_code != ErrorCode.NONE:
            log.debug("broker %d: AlterPartition failed, error %d", self._leader.id, response.error_code)
            # The controller may be at another address now.
            self._close()
            return False
        self._apply_response(changes, response)
        return True

    def _request(self, changes: Changes) -> AlterPartitionRequest:
        topics: dict[str, list[PartitionData]] = {}
        for key, followers in changes.items():
            replica = self._leader.replicas.get(key)
            if replica is None or replica.leader != self._leader.id:
                continue
            isr = _isr(replica, followers)
            if set(isr) != set(replica.isr):
                row = PartitionData(
                    key.partition, replica.leader_epoch, isr, partition_epoch=replica.partition_epoch
                )
                topics.setdefault(key.topic, []).append(row)
        rows = [TopicData(name, partitions=partitions) for name, partitions in topics.items()]
        return AlterPartitionRequest(self._leader.id, self._leader.epoch, rows)

    def _apply_response(self, changes: Changes, response: AlterPartitionResponse) -> None:
        for topic in response.topics:
            for row in topic.partitions:
                key = TopicPartition(topic.topic_name, row.partition_index)
                if row.error_code == ErrorCode.NONE:
                    self._leader.accept(key, row.leader_epoch, row.partition_epoch, row.isr)
                else:
                    log.debug(
                        "broker %d: ISR change of %s rejected, error %d", self._leader.id, key, row.error_code
                    )
                for follower, joins in changes[key].items():
                    if row.error_code != ErrorCode.NONE or not joins:
                        self._catch_up_again(key, follower)

    def _put_back(self, changes: Changes) -> None:
        """Add unsent changes again; changes that were made meanwhile are newer."""
        for key, followers in changes.items():
            self._changes[key] = {**followers, **self._changes.get(key, {})}
        self._wake.set()

    def _close(self) -> None:
        if self._channel is not None:
            self._channel.close()
            self._channel = None


def _isr(replica: Replica, followers: dict[int, bool]) -> Replicas:
    return tuple(r for r in replica.replicas if followers.get(r, r in replica.isr))


SHUTDOWN_VERSION = 3
ATTEMPTS = 3
"""Kafka's controlled.shutdown.max.retries."""


async def controlled_shutdown(broker: Leader, connect: Connect, clock: Clock) -> bool:
    """Request the shutdown; return whether all leaderships have moved.

    After False the broker stops nevertheless.
    """
    for attempt in range(ATTEMPTS):
        if attempt:
            await clock.sleep(RETRY_SECONDS)
        try:
            channel = await connect(*broker.controller)
            try:
                request = ControlledShutdownRequest(broker.id, broker.epoch)
                response: ControlledShutdownResponse = await channel.request(request, SHUTDOWN_VERSION)
            finally:
                channel.close()
        except OSError as error:
            log.debug("broker %d cannot reach the controller: %s", broker.id, error)
            continue
        if response.error_code == ErrorCode.NONE and not response.remaining_partitions:
            return True
        log.debug("broker %d still leads %d partitions", broker.id, len(response.remaining_partitions))
    return False
