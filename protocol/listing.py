"""A ListPartitionReassignments response from topics that were encoded before.

The bytes are those that the codec makes of the same response without errors. A response of a million rows of
which few have changed is joined from kept topics.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from struct import Struct
from typing import NamedTuple

from protocol.codec.wire import Codec
from protocol.codec.writing import compact_length, varint
from protocol.messages.list_partition_reassignments_response import (
    SCHEMA,
    CurrentBatchPartition,
    CurrentBatchTopic,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)

VERSION = 0
_TAG = next(field.tag for field in SCHEMA.structs[SCHEMA.root] if field.tag is not None)
_HEAD = bytes(4) + bytes(2) + compact_length(-1)
"""No throttle, no error, no message."""

_TOPIC: Codec[OngoingTopicReassignment] = Codec(replace(SCHEMA, root=OngoingTopicReassignment), VERSION)
_BATCH: Codec[CurrentBatchTopic] = Codec(replace(SCHEMA, root=CurrentBatchTopic), VERSION)
_ROW: Codec[OngoingPartitionReassignment] = Codec(replace(SCHEMA, root=OngoingPartitionReassignment), VERSION)
_STEP: Codec[CurrentBatchPartition] = Codec(replace(SCHEMA, root=CurrentBatchPartition), VERSION)

_NUMBER = Struct(">i")
"""The number of a partition, with which a row begins."""
_EMPTY = 2
"""Bytes of a topic without rows behind its name: no rows, no tags."""

Numbers = tuple[int, ...]
Lists = tuple[Numbers, Numbers, Numbers, Numbers | None, Numbers]
"""Replicas, adding, removing; and if a step is in flight, the list after it, else None; the list before
it."""


class EncodedTopic(NamedTuple):
    """The bytes of a topic; `batch` is its part of the current batch, empty without one."""

    topic: bytes
    batch: bytes


def encode_topic(name: str, rows: Iterable[tuple[int, Lists]]) -> EncodedTopic:
    """Return the bytes of a topic with its rows: pairs of a partition and its lists.

    Rows whose lists are one object take the least time.
    """
    pack = _NUMBER.pack
    all_: list[bytes] = []
    steps: list[bytes] = []
    last, row, step = None, b"", b""
    for number, lists in rows:
        if lists is not last:
            last, (row, step) = lists, _behind_number(lists)
        packed = pack(number)
        all_.append(packed + row)
        if step:
            steps.append(packed + step)
    topic, batch = _TOPIC.encode(OngoingTopicReassignment(name)), b""
    if steps:
        batch = _with_rows(_BATCH.encode(CurrentBatchTopic(name)), steps)
    return EncodedTopic(_with_rows(topic, all_), batch)


@lru_cache(maxsize=65_536)
def _behind_number(lists: Lists) -> tuple[bytes, bytes]:
    """Return the bytes of a row, and of its step (empty without one), behind the number of the partition."""
    replicas, adding, removing, following, current = lists
    row = _ROW.encode(OngoingPartitionReassignment(0, replicas, adding, removing))
    step = b"" if following is None else _STEP.encode(CurrentBatchPartition(0, current, following))
    return row[_NUMBER.size :], step[_NUMBER.size :]


def _with_rows(empty: bytes, rows: Sequence[bytes]) -> bytes:
    """Return the bytes of a topic without rows, with these rows."""
    return b"".join([empty[:-_EMPTY], compact_length(len(rows)), *rows, empty[-1:]])


def encode_listing(topics: Sequence[EncodedTopic]) -> bytes:
    """Return the body of the response with these topics."""
    batches = [each.batch for each in topics if each.batch]
    pieces = [_HEAD, compact_length(len(topics)), *[each.topic for each in topics]]
    if not batches:
        return b"".join([*pieces, varint(0)])
    tagged = b"".join([compact_length(len(batches)), *batches])
    return b"".join([*pieces, varint(1), varint(_TAG), varint(len(tagged)), tagged])
