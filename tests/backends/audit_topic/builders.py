"""Entries, and a scripted audit topic."""

from collections.abc import Sequence

from backends.audit_topic.entries import encode_entry
from backends.state_topic.log import Fetched
from controller.model.audit import AuditAction, AuditEntry, AuditTrim
from controller.model.cluster import Change, Record
from protocol.record_batch import BatchRecord, Producer
from tests.backends.state_topic.builders import Log

NO_PRODUCER = Producer(-1, -1)


def an_entry(number: int) -> AuditEntry:
    """Return an entry with the time of its id."""
    return AuditEntry(number, number, AuditAction.PAUSE, "User:ann", "c", 0, "{}")


class RecordedStore:
    """A `Store` that keeps the commits."""

    def __init__(self, error: Exception | None = None) -> None:
        self.commits: list[list[Change]] = []
        self.error = error

    def load(self) -> Sequence[Record]:
        return ()

    def prepare(self, changes: Sequence[Change]) -> None:
        pass

    async def commit(self, changes: Sequence[Change]) -> None:
        if self.error is not None:
            raise self.error
        self.commits.append(list(changes))

    def ids(self) -> list[int]:
        """Return the ids of the committed entries."""
        changes = [change for commit in self.commits for change in commit]
        return [change.id for change in changes if isinstance(change, AuditEntry)]

    def trims(self) -> list[int]:
        """Return the ids before which entries were deleted."""
        changes = [change for commit in self.commits for change in commit]
        return [change.before for change in changes if isinstance(change, AuditTrim)]


class ScriptedTopic:
    """An audit topic: batches of entries, of which the first ones can be deleted."""

    def __init__(self) -> None:
        self.log, self.start = Log(), 0
        self.failures: list[Exception] = []

    def add(self, *numbers: int) -> None:
        """Append a batch of entries."""
        self.write(*(encode_entry(an_entry(number)) for number in numbers))

    def write(self, *records: BatchRecord) -> None:
        """Append a batch."""
        self.log.add(*records, producer=NO_PRODUCER, sequence=-1)

    async def fetch(self, offset: int) -> Fetched:
        if self.failures:
            raise self.failures.pop(0)
        batches = [batch for batch in self.log.batches if batch.header.offset >= max(offset, self.start)]
        return Fetched(batches, self.log.end)

    async def start_offset(self) -> int:
        return self.start
