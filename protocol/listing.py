"""A ListPartitionReassignments response from topics that were encoded before.

The bytes are those that the codec makes of the same response without errors. A response of a million rows of
which few have changed is joined from kept topics.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from protocol.codec.wire import Codec
from protocol.codec.writing import compact_length, varint
from protocol.messages.list_partition_reassignments_response import (
    SCHEMA,
    CurrentBatchTopic,
    OngoingTopicReassignment,
)

VERSION = 0
_TAG = next(field.tag for field in SCHEMA.structs[SCHEMA.root] if field.tag is not None)
_HEAD = bytes(4) + bytes(2) + compact_length(-1)
"""No throttle, no error, no message."""

_TOPIC: Codec[OngoingTopicReassignment] = Codec(replace(SCHEMA, root=OngoingTopicReassignment), VERSION)
_BATCH: Codec[CurrentBatchTopic] = Codec(replace(SCHEMA, root=CurrentBatchTopic), VERSION)


class EncodedTopic(NamedTuple):
    """The bytes of a topic; `batch` is its part of the current batch, empty without one."""

    topic: bytes
    batch: bytes


def encode_topic(topic: OngoingTopicReassignment, batch: CurrentBatchTopic) -> EncodedTopic:
    """Return the bytes of a topic with its rows."""
    return EncodedTopic(_TOPIC.encode(topic), _BATCH.encode(batch) if batch.partitions else b"")


def encode_listing(topics: Sequence[EncodedTopic]) -> bytes:
    """Return the body of the response with these topics."""
    batches = [each.batch for each in topics if each.batch]
    pieces = [_HEAD, compact_length(len(topics)), *[each.topic for each in topics]]
    if not batches:
        return b"".join([*pieces, varint(0)])
    tagged = b"".join([compact_length(len(batches)), *batches])
    return b"".join([*pieces, varint(1), varint(_TAG), varint(len(tagged)), tagged])
