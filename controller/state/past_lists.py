"""The lists that partitions have had lately: what they make a look at Metadata worth.

A broker shows a partition as it was up to METADATA_LAG before, and the next broker that is asked may lag more. A leader
epoch does not always tell: Kafka starts none when a row adds replicas or changes their order, and a change of leader
that no poll has shown starts one. So a list that the partition has had within that time proves nothing; any other list
is news. What the controller says needs no such care: its list of reassignments, and its answers to rows.
"""

from collections.abc import Iterable
from typing import NamedTuple

from controller.model.names import Replicas, TopicPartition
from controller.model.thresholds import METADATA_LAG


class Past(NamedTuple):
    """The lists of a partition before its last change, and the time of that change."""

    lists: frozenset[Replicas]
    middles: frozenset[frozenset[int]]
    """The replicas in the middle of a step, in any order."""
    changed_ms: int
    moving: bool = False
    """Whether the list of reassignments has the partition. What it shows is not polled again and again."""


class PastLists:
    """The past of the partitions that changed lately, those that changed last at the end. Not durable."""

    def __init__(self) -> None:
        self._pasts: dict[TopicPartition, Past] = {}

    def __len__(self) -> int:
        return len(self._pasts)

    def leave(
        self,
        key: TopicPartition,
        now_ms: int,
        lists: Iterable[Replicas] = (),
        middles: Iterable[frozenset[int]] = (),
        *,
        moving: bool = False,
    ) -> None:
        """The partition has had these lists, and may have left them now; while it moves, it may leave them later."""
        past = self._pasts.pop(key, None)
        if past is None or not _is_recent(past, now_ms):
            past = Past(frozenset(), frozenset(), now_ms)
        self._pasts[key] = Past(past.lists.union(lists), past.middles.union(middles), now_ms, moving)

    def moves(self, key: TopicPartition) -> bool:
        """Whether the list of reassignments had the partition in the last poll of it."""
        past = self._pasts.get(key)
        return past is not None and past.moving

    def stop(self, key: TopicPartition, now_ms: int) -> None:
        """The list of reassignments does not have the partition. If it had it before, that is a change."""
        if self.moves(key):
            self.leave(key, now_ms)

    def may_show(self, key: TopicPartition, replicas: Replicas, now_ms: int) -> bool:
        """Whether a broker that lags may show this list."""
        past = self._pasts.get(key)
        if past is None or not self.changed_lately(key, now_ms):
            return False
        return replicas in past.lists or frozenset(replicas) in past.middles

    def changed_lately(self, key: TopicPartition, now_ms: int) -> bool:
        """Whether a broker that lags may show the partition before its last change."""
        past = self._pasts.get(key)
        if past is not None and now_ms < past.changed_ms:  # the clock was set back
            past = self._pasts[key] = past._replace(changed_ms=now_ms)
        return past is not None and _is_recent(past, now_ms)

    def forget(self, key: TopicPartition) -> None:
        """The partition was deleted: another one of its name has no past."""
        self._pasts.pop(key, None)

    def forget_old(self, now_ms: int) -> None:
        """Forget what no broker can show any more."""
        for key, past in list(self._pasts.items()):
            if not past.moving and self.changed_lately(key, now_ms):
                break
            if not past.moving:
                del self._pasts[key]


def _is_recent(past: Past, now_ms: int) -> bool:
    return past.moving or now_ms < past.changed_ms + METADATA_LAG.ms
