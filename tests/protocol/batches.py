"""Batches as logs have them."""

from struct import pack_into

from protocol.record_batch import NO_PRODUCER, BatchRecord, Producer, encode_batch


def batch(first: int, *values: int, kept: int | None = None) -> bytes:
    """Return a batch of records of so many bytes. `kept`: compaction has left so many of them."""
    records = [BatchRecord(b"k", bytes(each)) for each in values]
    made = bytearray(encode_batch(records, Producer(NO_PRODUCER, -1), -1, 0))
    pack_into(">q", made, 0, first)
    if kept is not None:
        pack_into(">i", made, 57, kept)
    return bytes(made)
