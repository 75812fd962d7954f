"""The decision on one event: its records, effects and reply."""

from collections.abc import Mapping
from typing import Any

from controller.messages.effects import Effect
from controller.messages.event import Event, Reply
from controller.model.cluster import Change, Deleted, Reassignment, Record, TopicPartition
from controller.state.state import State


class Decision:
    """Collects records, effects and the reply. Each record changes the state at once, so that later rows see it."""

    __slots__ = ("cancelled", "changes", "effects", "now_ms", "reply", "rows", "state")

    def __init__(self, state: State, now_ms: int = 0) -> None:
        self.state = state
        self.now_ms = now_ms
        self.rows = 0
        """Number of requested rows so far. The more there are, the fewer steps the decision starts."""
        self.cancelled = 0
        """Number of partitions that a request has cancelled."""
        self.changes: list[Change] = []
        self.effects: list[Effect] = []
        self.reply: Any = None
        """Set by `answer`, which checks its type; None when the event has no reply."""

    def put(self, record: Record) -> None:
        """Insert or replace the record."""
        self.state.put(record)
        self.changes.append(record)

    def put_first(self, topic: str, job: int, records: Mapping[TopicPartition, Reassignment]) -> None:
        """Insert many first reassignments; see `State.put_first`."""
        self.state.put_first(topic, job, records)
        self.changes += records.values()

    def delete(self, kind: type[Record], key: object) -> None:
        """Remove the record, which exists."""
        deleted = Deleted(kind, key)
        self.state.delete(deleted)
        self.changes.append(deleted)

    def answer(self, event: Event[Reply], reply: Reply) -> None:
        """Set the reply to the event that this decision is about."""
        self.reply = reply

    def emit(self, effect: Effect) -> None:
        """Add an effect. The driver carries effects out in order, after the records are durable."""
        self.effects.append(effect)

    def emit_first(self, effect: Effect) -> None:
        """Add an effect before the others: long lists of effects are carried out in slices."""
        self.effects.insert(0, effect)
