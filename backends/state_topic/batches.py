"""Rows divided into record batches, so that a large commit can be prepared in slices."""

from collections.abc import Iterable

from protocol.record_batch import BatchRecord

MAX_BATCH_BYTES = 200_000
"""Decoding a batch holds the event loop of a reader. Less than Kafka's default of `max.message.bytes`."""

RECORD_OVERHEAD = 20
"""Bytes of a record besides key and value, at most."""


class Batches:
    """The rows of a commit in batches of at most MAX_BATCH_BYTES; a longer row is alone."""

    def __init__(self, rows: Iterable[BatchRecord] = ()) -> None:
        self.batches: list[list[BatchRecord]] = []
        self.last_size = 0
        """Bytes of the last batch."""
        self.add(rows)

    def add(self, rows: Iterable[BatchRecord]) -> None:
        """Append rows."""
        for row in rows:
            key, value = row
            size = len(key or b"") + len(value or b"") + RECORD_OVERHEAD
            if not self.batches or self.last_size + size > MAX_BATCH_BYTES:
                self.batches.append([])
                self.last_size = 0
            self.batches[-1].append(row)
            self.last_size += size

    def join(self, other: "Batches") -> bool:
        """Append the rows of `other` if all fit into one batch; return whether they do."""
        if len(self.batches) > 1 or len(other.batches) > 1:
            return False
        if self.batches and other.batches and self.last_size + other.last_size > MAX_BATCH_BYTES:
            return False
        for batch in other.batches:
            self.add(batch)
        return True
