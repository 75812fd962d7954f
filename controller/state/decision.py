"""The decision on one event: its records, effects and reply."""

from dataclasses import dataclass, field
from typing import Any

from controller.messages.effects import Effect
from controller.messages.event import Event, Reply
from controller.model.cluster import Change, Deleted, Record
from controller.state.state import State


@dataclass(eq=False, slots=True)
class Decision:
    """Collects records, effects and the reply.

    Each record changes the state at once, so that later rows see it.
    """

    state: State
    now_ms: int = 0
    rows: int = 0
    """Number of requested rows so far. The more there are, the fewer steps the decision starts."""
    cancelled: int = 0
    """Number of partitions that a request has cancelled."""
    leader_changes: int = 0
    """Number of leader movements that this decision has completed. They count against limit L until its end, so
    that a decision changes at most L leaders."""
    changes: list[Change] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    """The driver carries them out in order, after the records are durable."""
    more: bool = False
    """Other steps can start, or topics can be deleted: the driver submits `Continue` as background work."""
    wake_at_ms: int | None = None
    """When the driver submits `PeriodChanged`; replaces an earlier time. None leaves that as it is."""
    reply: Any = None
    """Set by `answer`, which checks its type; None when the event has no reply."""

    def put(self, record: Record) -> None:
        """Insert or replace the record."""
        self.state.put_by_class[type(record)](record)
        self.changes.append(record)

    def delete(self, kind: type[Record], key: object) -> None:
        """Remove the record, which exists."""
        self.state.delete_by_class[kind](key)
        self.changes.append(Deleted(kind, key))

    def answer(self, event: Event[Reply], reply: Reply) -> None:
        """Set the reply to the event that this decision is about."""
        self.reply = reply
