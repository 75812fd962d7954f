"""Effects gathered into the requests that a controller sends its brokers (Kafka: ControllerBrokerRequestBatch).

A batch goes to a broker as LeaderAndIsr for what it holds, then UpdateMetadata, then StopReplica. KIP-352: target
replicas travel in UpdateMetadata v6.

Why nothing is reordered wrongly: within a batch a later `Publish` of a partition replaces an earlier one, and a
`DropReplica` follows the `Publish` that took its brokers off the list. A partition of which a drop waits is not added
again: that begins a new batch, so a topic that is deleted and made anew is stopped before it is led.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from backends.broker_commands.requests import (
    Header,
    LeaderAndIsrRow,
    MetadataRow,
    leader_and_isr,
    metadata_row,
    metadata_topics,
    stop_replica,
    update_metadata,
)
from controller.messages.effects import TOPIC_DELETED, DropReplica, Publish
from controller.model.cluster import Partition, TopicPartition
from controller.state.state import State
from protocol.messages.update_metadata_request import UpdateMetadataTopicState

LIMIT = 250
"""Partitions in one request, so that making or reading one takes a few milliseconds at most."""


class Batch:
    """What waits to be sent to all brokers."""

    def __init__(self, *, brokers_changed: bool = False) -> None:
        self.brokers_changed = brokers_changed
        self._published: dict[TopicPartition, Publish] = {}
        self._dropped: dict[TopicPartition, DropReplica] = {}
        self._metadata: list[UpdateMetadataTopicState] | None = None
        """Made once for all brokers, when the first of them is sent the batch; nothing is added after that."""

    def __bool__(self) -> bool:
        return bool(self._published or self._dropped or self.brokers_changed)

    def accepts(self, key: TopicPartition) -> bool:
        """An effect on the partition may be added; otherwise it belongs to the next batch."""
        return key not in self._dropped and len(self._published) + len(self._dropped) < LIMIT

    def publish(self, effect: Publish) -> None:
        """Add the partition; that a replica is new is not forgotten when a later state replaces an unsent one."""
        key = effect.partition.key
        earlier = self._published.get(key)
        self._published[key] = effect if earlier is None else merge_publish(earlier, effect)

    def drop(self, effect: DropReplica) -> None:
        """Add a stop of replicas; when the topic is gone nobody need be told how it was led before."""
        key = TopicPartition(effect.topic, effect.partition)
        self._dropped[key] = effect
        if effect.leader_epoch == TOPIC_DELETED:
            self._published.pop(key, None)

    def published(self) -> Iterable[Publish]:
        """The states to be sent, one per partition."""
        return self._published.values()

    def drops(self) -> Iterable[DropReplica]:
        """The drops to be sent, one per partition. They follow the states."""
        return self._dropped.values()

    def drop_of(self, key: TopicPartition) -> DropReplica | None:
        """The drop of replicas of this partition, if there is one."""
        return self._dropped.get(key)

    def requests(self, header: Header, state: State) -> Iterator[tuple[Any, ...]]:
        """What one broker is sent, in order."""
        rows = [
            LeaderAndIsrRow(publish.partition, header.broker in publish.new)
            for publish in self._published.values()
            if publish.lead and header.broker in publish.partition.replicas
        ]
        if rows:
            yield leader_and_isr(header, state, rows)
        if self._metadata is None:
            self._metadata = metadata_topics(state, self._told(state))
        if self._metadata or self.brokers_changed:
            yield update_metadata(header, state, self._metadata)
        drops = [drop for drop in self._dropped.values() if _still_dropped(drop, header.broker, state)]
        if drops:
            yield stop_replica(header, state, drops)

    def _told(self, state: State) -> Iterator[MetadataRow]:
        for publish in self._published.values():
            yield metadata_row(state, publish.partition, publish.target)
        for drop in self._dropped.values():
            if drop.leader_epoch == TOPIC_DELETED:
                gone = Partition(drop.topic, drop.partition, (), (), TOPIC_DELETED)
                yield metadata_row(state, gone, ())


def all_partitions(state: State) -> Iterator[Partition]:
    """Every partition, while topics and partitions may come and go between two of them."""
    for topic in list(state.topics):
        index = 0
        while (partition := state.partition(topic, index)) is not None:
            yield partition
            index += 1


class ClusterSnapshot:
    """All that a broker which has just joined must know, read from `partitions` while it is sent.

    What changes meanwhile is sent again by the batches behind. Since LeaderAndIsr v3 cannot say that it is complete,
    the UpdateMetadata without partitions at the end says so: the broker then drops what it was not told of.
    """

    def __init__(self, partitions: Callable[[State], Iterator[Partition]] = all_partitions) -> None:
        self._partitions = partitions

    def requests(self, header: Header, state: State) -> Iterator[tuple[Any, ...]]:
        """UpdateMetadata of all partitions, LeaderAndIsr of the broker's own, and the end."""
        for chunk in _chunks(self._partitions(state)):
            wanted = ((p, state.reassignments.get(p.key)) for p in chunk)
            rows = [metadata_row(state, p, () if r is None else r.target) for p, r in wanted]
            yield update_metadata(header, state, metadata_topics(state, rows))
        for chunk in _chunks(self._partitions(state)):
            own = [p for p in chunk if header.broker in p.replicas]
            if own:
                yield leader_and_isr(
                    header, state, [LeaderAndIsrRow(p, _is_new(p, header.broker)) for p in own]
                )
        yield leader_and_isr(header, state, [])
        yield update_metadata(header, state, [])


def merge_publish(earlier: Publish, later: Publish) -> Publish:
    """Return the later state, with `new` and `lead` of the unsent earlier one added."""
    new = {*earlier.new, *later.new}
    return later._replace(
        new=tuple(r for r in later.partition.replicas if r in new), lead=earlier.lead or later.lead
    )


def _still_dropped(drop: DropReplica, broker: int, state: State) -> bool:
    """The broker has to delete the replica, unless it was made one again while the drop waited.

    A snapshot before this batch may have told it so already, and the replica may be in the ISR. That of a topic made
    anew, whose leader epochs begin again, is none: the old log has to go before the new one is led.
    """
    if broker not in drop.brokers:
        return False
    now = state.partition(drop.topic, drop.partition)
    back = now is not None and broker in now.replicas and now.leader_epoch >= drop.leader_epoch
    return drop.leader_epoch == TOPIC_DELETED or not back


def _is_new(partition: Partition, broker: int) -> bool:
    return broker in partition.adding and broker not in partition.isr


def _chunks(partitions: Iterator[Partition]) -> Iterator[list[Partition]]:
    while chunk := list(islice(partitions, LIMIT)):
        yield chunk
