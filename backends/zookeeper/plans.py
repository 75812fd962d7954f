"""Documents of partition moves in znodes: `/admin/reassign_partitions` and its queue.

KIP-236: `original_replicas`, which the controller adds. Kafka's own reader takes no key that it does not know, and the
whole document for nothing then: a broker that becomes the controller finishes what topic znodes say is under way, and no
more of the plan.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from backends.zookeeper.fields import ZnodeError, decode_object, encode, ids, integer, rows_of, string
from controller.job_events import AlterRow, AlterTopic
from controller.model import Replicas, TopicPartition

KNOWN = {"topic", "partition", "replicas", "original_replicas"}


class Entry(NamedTuple):
    """What is wanted of a partition; `original` is None until the controller has accepted it."""

    replicas: Replicas
    original: Replicas | None = None


Plan = dict[TopicPartition, Entry]


def decode_plan(data: bytes | None) -> Plan:
    """The entries; of two for one partition the last counts. Raises ZnodeError for the whole of it."""
    return dict(_entry(row) for row in rows_of(decode_object(data)))


def decode_file(data: bytes) -> Plan:
    """A plan as people write it: log directories, which no controller takes, are left out. Raises ZnodeError."""
    rows = rows_of(decode_object(data))
    return dict(_entry({name: row[name] for name in KNOWN & row.keys()}) for row in rows)


def encode_plan(plan: Plan) -> bytes:
    """Keys in KIP-236's order."""
    return encode({"version": 1, "partitions": [_row(key, entry) for key, entry in plan.items()]})


def topics_of(rows: Iterable[tuple[TopicPartition, Replicas | None]]) -> list[AlterTopic]:
    """The same as an order; None takes a partition's reassignment back."""
    topics: dict[str, list[AlterRow]] = {}
    for key, replicas in rows:
        topics.setdefault(key.topic, []).append(AlterRow(key.partition, replicas))
    return [AlterTopic(topic, rows) for topic, rows in topics.items()]


def _entry(row: Mapping[str, Any]) -> tuple[TopicPartition, Entry]:
    unknown = sorted(row.keys() - KNOWN)
    if unknown:
        raise ZnodeError(f"an entry has the unknown key {unknown[0]!r}")
    key = TopicPartition(string(row, "topic"), integer(row, "partition"))
    original = row.get("original_replicas")
    return key, Entry(
        ids(row.get("replicas"), f"replicas of {key}"),
        None if original is None else ids(original, f"original_replicas of {key}"),
    )


def _row(key: TopicPartition, entry: Entry) -> dict[str, Any]:
    row = {"topic": key.topic, "partition": key.partition, "replicas": entry.replicas}
    return row if entry.original is None else {**row, "original_replicas": entry.original}
