"""Replicas that were dropped and may still have a log on a broker: their StopReplica is repeated until the broker has answered it.

A note is written with the change that drops the replica, and removed when the broker confirms the deletion, or when it becomes a
replica of the partition again. So neither our crash nor the broker's leaves a log behind. Nothing else is ever deleted: a log
that we did not drop stays, whatever it is.
"""

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet

from backends.zookeeper.store.record_chunks import RecordChunks
from backends.zookeeper.store.records import Dropped
from backends.zookeeper.store.znode_cache import ZnodeCache
from controller.messages.effects import DropReplica
from controller.model.cluster import NO_LEADER, Change, Deleted, Partition, Replicas, TopicPartition
from controller.model.names import without


class Drops:
    """The notes of one term; they are part of the chunks, which whoever calls has written."""

    def __init__(self, chunks: RecordChunks, cache: ZnodeCache) -> None:
        self._chunks, self._cache = chunks, cache
        self._notes: dict[TopicPartition, dict[int, Dropped]] = {}
        for note in chunks.drops():
            self._notes.setdefault(note.partition_key, {})[note.broker] = note

    def note(self, changes: Iterable[Change]) -> None:
        """These are about to be written, in one transaction with the notes or after them."""
        lists: dict[TopicPartition, Replicas] = {}
        for change in changes:
            if isinstance(change, Partition):
                key = change.key
                self._compare(lists.get(key, self._stored(key)), change)
                lists[key] = change.replicas
            elif isinstance(change, Deleted) and isinstance(change.key, TopicPartition):
                # What a broker that is down has of a deleted topic stays there, as with Kafka's controller.
                self._remove(change.key, list(self._notes.get(change.key, ())))

    def of(self, brokers: AbstractSet[int]) -> Iterator[DropReplica]:
        """What these brokers are to be told again: by what is stored they are no replicas.

        While nobody leads a partition, what is left of it may be the last copy, and stays.
        """
        for key, notes in self._notes.items():
            stored = self._cache.partition(key)
            if stored is not None and stored.leader != NO_LEADER:
                told = tuple(each for each in notes if each in brokers and each not in stored.replicas)
                if told:
                    yield DropReplica(*key, told, stored.leader_epoch)

    def confirmed(self, broker: int, drops: Sequence[DropReplica]) -> bool:
        """The broker has deleted these; whether that removed a note. One that is newer than the drop stays."""
        removed = False
        for drop in drops:
            key = TopicPartition(drop.topic, drop.partition)
            note = self._notes.get(key, {}).get(broker)
            if note is not None and note.leader_epoch <= drop.leader_epoch:
                self._remove(key, [broker])
                removed = True
        return removed

    def _stored(self, key: TopicPartition) -> Replicas:
        known = self._cache.partition(key)
        return () if known is None else known.replicas

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
