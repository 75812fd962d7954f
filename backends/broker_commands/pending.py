"""Changes that a slow or unreachable broker has not been sent, coalesced so that their number is bounded."""

from collections.abc import Iterator
from itertools import islice
from typing import TypeVar

from backends.broker_commands.batch import LIMIT, Batch, merge_publish
from controller.messages.effects import TOPIC_DELETED, DropReplica, Publish
from controller.model.cluster import TopicPartition

T = TypeVar("T")


class PendingChanges:
    """Unsent changes for one broker: at most one state and one drop per partition, however long the broker is away.

    `Batch` objects are shared by all brokers and are only appended to a queue, so a queue that is not read grows with
    every change. This class keeps the newest state of each partition instead. Three rules keep the result correct:

    * When a topic is deleted, its drop replaces everything pending for the partition. It is sent before any state,
      because a topic of the same name may have been created since.
    * The drop of a replica is forgotten when the broker becomes a replica of the partition again.
    * Other drops are sent after the states, as in a `Batch`.

    A partition that was created and deleted while the broker was away is forgotten: the broker has never been told of it. The
    drops of other deleted topics stay until the broker has answered or has left, as in Kafka: without them it would keep
    the logs, and name the topics to clients. Their number is at most that of the partitions that the broker knows.
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
        """Drops of this broker's replicas that are not sent, because it has never been told of them. The caller takes
        them."""

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
            # A lower leader epoch means another topic of the same name: the log of the first one must still go.
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
