"""Dropped replicas whose StopReplica is repeated until the broker confirms it.

A note is written in the same multi as the change that drops the replica, or before it. It is removed when the
broker confirms the deletion, or when the broker becomes a replica again. So a crash of the controller or of
the broker leaves no log behind. Logs without a note are never deleted.
"""

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet

from backends.zookeeper.store.records import Dropped, RecordChunks
from backends.zookeeper.store.znode_cache import ZnodeCache
from controller.messages.effects import DropReplica
from controller.model.cluster import NO_LEADER, Change, Deleted, Partition, Replicas, TopicPartition
from controller.model.replicas import without


class Drops:
    """The notes of one term. They are records in the chunks; the caller writes the chunks."""

    def __init__(self, chunks: RecordChunks, cache: ZnodeCache) -> None:
        self._chunks, self._cache = chunks, cache
        self._notes: dict[TopicPartition, dict[int, Dropped]] = {}
        for note in chunks.drops():
            self._notes.setdefault(note.partition_key, {})[note.broker] = note

    def note(self, changes: Iterable[Change]) -> None:
        """Update the notes for changes that are about to be written."""
        replicas: dict[TopicPartition, Replicas] = {}
        for change in changes:
            if isinstance(change, Partition):
                key = change.key
                # A partition may change more than once in one commit.
                self._compare(replicas.get(key, self._stored_replicas(key)), change)
                replicas[key] = change.replicas
            elif isinstance(change, Deleted) and isinstance(change.key, TopicPartition):
                # As with Kafka's controller, a broker that is down keeps the logs of a deleted topic.
                self._remove(change.key, list(self._notes.get(change.key, ())))

    def of(self, brokers: AbstractSet[int]) -> Iterator[DropReplica]:
        """Yield the unconfirmed drops of these brokers.

        Skips brokers that are replicas in ZooKeeper, because the drop is not stored yet. Skips partitions
        without a leader, because the dropped replica may be the last copy.
        """
        for key, notes in self._notes.items():
            stored = self._cache.partition(key)
            if stored is not None and stored.leader != NO_LEADER:
                dropped = tuple(each for each in notes if each in brokers and each not in stored.replicas)
                if dropped:
                    yield DropReplica(*key, dropped, stored.leader_epoch)

    def confirmed(self, broker: int, drops: Sequence[DropReplica]) -> bool:
        """Remove the notes of confirmed drops; return whether there were any. Newer notes stay."""
        removed = False
        for drop in drops:
            key = TopicPartition(drop.topic, drop.partition)
            note = self._notes.get(key, {}).get(broker)
            if note is not None and note.leader_epoch <= drop.leader_epoch:
                self._remove(key, [broker])
                removed = True
        return removed

    def _stored_replicas(self, key: TopicPartition) -> Replicas:
        stored = self._cache.partition(key)
        return () if stored is None else stored.replicas

    def _compare(self, before: Replicas, after: Partition) -> None:
        if before == after.replicas:
            return
        key = after.key
        for broker in without(before, after.replicas):
            note = Dropped(*key, broker, after.leader_epoch)
            self._notes.setdefault(key, {})[broker] = note
            self._chunks.put(note)
        self._remove(key, [each for each in self._notes.get(key, ()) if each in after.replicas])

    def _remove(self, key: TopicPartition, brokers: Iterable[int]) -> None:
        for broker in brokers:
            self._chunks.remove(Dropped, self._notes[key].pop(broker).key)
        if not self._notes.get(key, True):
            del self._notes[key]
