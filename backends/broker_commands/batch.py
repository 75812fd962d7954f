"""Commands collected into requests for brokers (Kafka: ControllerBrokerRequestBatch).

A broker gets a batch as LeaderAndIsr for its partitions, then UpdateMetadata, then StopReplica.
UpdateMetadata v6 contains the target replicas (KIP-352).

The order of commands is kept where it matters. Within a batch, a later `Publish` of a partition replaces an
earlier one, and a `DropReplica` follows the `Publish` that removed its brokers from the replica list. A
command for a partition with a pending drop starts a new batch. So when a topic is deleted and created again,
brokers delete the old log first.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from backends.broker_commands.requests import (
    BrokerRequest,
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

FIRST_EPOCH = 0
"""Leader epoch of a new partition. Each step that adds replicas increments it."""

LIMIT = 250
"""Partitions per request: encoding or decoding one takes a few milliseconds at most."""


class Batch:
    """Commands to be sent to all brokers."""

    def __init__(self, *, brokers_changed: bool = False) -> None:
        self.brokers_changed = brokers_changed
        self._published: dict[TopicPartition, Publish] = {}
        self._dropped: dict[TopicPartition, DropReplica] = {}
        self.created: set[TopicPartition] = set()
        """Partitions that exist since this batch. Some may have been deleted in it."""
        self._metadata: list[UpdateMetadataTopicState] | None = None
        """The UpdateMetadata rows, built once for all brokers when the first one gets the batch. Nothing is
        added after that."""

    def __bool__(self) -> bool:
        return bool(self._published or self._dropped or self.brokers_changed)

    def publish(self, effect: Publish) -> bool:
        """Add the state of a partition; return False if it belongs in the next batch.

        It replaces an earlier one; replicas that were new stay new.
        """
        partition, published = effect.partition, self._published
        key = partition.key
        if key in self._dropped or len(published) + len(self._dropped) >= LIMIT:
            return False
        earlier = published.get(key)
        published[key] = effect if earlier is None else merge_publish(earlier, effect)
        if partition.leader_epoch == FIRST_EPOCH and effect.new == partition.replicas:
            self.created.add(key)
        return True

    def drop(self, effect: DropReplica) -> bool:
        """Add a drop of replicas; return False if it belongs in the next batch.

        The drop of a deleted topic replaces the partition's state.
        """
        key = TopicPartition(effect.topic, effect.partition)
        if key in self._dropped or len(self._published) + len(self._dropped) >= LIMIT:
            return False
        self._dropped[key] = effect
        if effect.leader_epoch == TOPIC_DELETED:
            self._published.pop(key, None)
        return True

    def published(self) -> Iterable[Publish]:
        """The states to be sent, one per partition."""
        return self._published.values()

    def drops(self) -> Iterable[DropReplica]:
        """The drops to be sent, one per partition. They follow the states."""
        return self._dropped.values()

    def drop_of(self, key: TopicPartition) -> DropReplica | None:
        """Return the partition's drop, if there is one."""
        return self._dropped.get(key)

    def requests(self, header: Header, state: State) -> Iterator[BrokerRequest]:
        """Yield the requests for one broker in order."""
        rows = [
            LeaderAndIsrRow(publish.partition, header.broker in publish.new)
            for publish in self._published.values()
            if publish.lead and header.broker in publish.partition.replicas
        ]
        if rows:
            yield leader_and_isr(header, state, rows)
        if self._metadata is None:
            self._metadata = metadata_topics(state, self._metadata_rows(state))
        if self._metadata or self.brokers_changed:
            yield update_metadata(header, state, self._metadata)
        drops = [drop for drop in self._dropped.values() if _still_dropped(drop, header.broker, state)]
        if drops:
            yield stop_replica(header, state, drops)

    def _metadata_rows(self, state: State) -> Iterator[MetadataRow]:
        for publish in self._published.values():
            yield metadata_row(state, publish.partition, publish.target)
        for drop in self._dropped.values():
            if drop.leader_epoch == TOPIC_DELETED:
                deleted = Partition(drop.topic, drop.partition, (), (), TOPIC_DELETED)
                yield metadata_row(state, deleted, ())


def all_partitions(state: State) -> Iterator[Partition]:
    """Yield every partition. Topics and partitions may be created and deleted during the iteration."""
    for topic in list(state.cluster.topics):
        index = 0
        while (partition := state.cluster.partition(topic, index)) is not None:
            yield partition
            index += 1


class ClusterSnapshot:
    """The whole state for a broker that has joined, read from `partitions` while it is sent.

    Later batches send the changes since. LeaderAndIsr v3 has no field that marks the last request, so an
    UpdateMetadata without partitions marks the end: an embedded broker then drops the replicas that were not
    in the requests.
    """

    def __init__(self, partitions: Callable[[State], Iterator[Partition]] = all_partitions) -> None:
        self._partitions = partitions

    def requests(self, header: Header, state: State) -> Iterator[BrokerRequest]:
        """Yield UpdateMetadata for all partitions, LeaderAndIsr for the broker's own, and the end mark."""
        for chunk in _chunks(self._partitions(state)):
            reassigned = ((p, state.orders.reassignments.get(p.key)) for p in chunk)
            rows = [metadata_row(state, p, () if r is None else r.target) for p, r in reassigned]
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
    """Return whether the broker must still delete the replica.

    It must not when it has become a replica again since the drop: a snapshot before this batch may have told
    it so, and the replica may be in the ISR. A lower leader epoch means another topic of the same name. Then
    the old log must be deleted before the broker gets the new partition.
    """
    if broker not in drop.brokers:
        return False
    now = state.cluster.partition(drop.topic, drop.partition)
    replica_again = now is not None and broker in now.replicas and now.leader_epoch >= drop.leader_epoch
    return drop.leader_epoch == TOPIC_DELETED or not replica_again


def _is_new(partition: Partition, broker: int) -> bool:
    return broker in partition.adding and broker not in partition.isr


def _chunks(partitions: Iterator[Partition]) -> Iterator[list[Partition]]:
    while chunk := list(islice(partitions, LIMIT)):
        yield chunk
