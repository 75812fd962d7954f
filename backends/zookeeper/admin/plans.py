"""The JSON of plan znodes: `/admin/reassign_partitions` and its queue (KIP-236; Kafka: ReassignPartitionsZNode).

`{"version": 1, "partitions": [{"topic": "foo", "partition": 0, "replicas": [1, 2], "original_replicas": [1, 3]}]}`.
KIP-236 adds `original_replicas`. Kafka's own tools and controllers reject a plan with keys that they do not know. Where a
plan omits the originals, reassignd's records under `/reassignd` hold them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from backends.zookeeper.znodes.fields import ZnodeError, decode_object, encode, ids, integer, rows_of, string
from controller.model.cluster import Replicas, TopicPartition

LIMIT_BYTES = 1_040_000
"""ZooKeeper rejects requests of 1,048,575 bytes and more. The difference is for the other parts of the request."""

PLAN_KEYS = {"version", "partitions"}
ROW_KEYS = {"topic", "partition", "replicas", "original_replicas"}


class Entry(NamedTuple):
    """A partition and its target; `original` is None where the plan does not contain it."""

    topic: str
    partition: int
    replicas: Replicas
    original: Replicas | None = None

    @property
    def key(self) -> TopicPartition:
        """The partition."""
        return TopicPartition(self.topic, self.partition)


def decode_plan(data: bytes | None) -> list[Entry]:
    """Return the entries in order; the last entry of a partition counts.

    Rejects unknown keys, as Kafka does. Raises ZnodeError.
    """
    value = decode_object(data)
    _reject_unknown_keys(value, PLAN_KEYS)
    rows = list(rows_of(value))
    for row in rows:
        _reject_unknown_keys(row, ROW_KEYS)
    return _entries(rows)


def decode_file(data: bytes) -> list[Entry]:
    """Return the entries of a plan file. Keys that no controller reads, such as log_dirs, are ignored. Raises ZnodeError."""
    return _entries(rows_of(decode_object(data)))


def _entries(rows: Iterable[Mapping[str, Any]]) -> list[Entry]:
    entries: dict[TopicPartition, Entry] = {}
    for row in rows:
        key = TopicPartition(string(row, "topic"), integer(row, "partition"))
        original = row.get("original_replicas")
        # An entry that is repeated takes the position of the last one.
        entries.pop(key, None)
        entries[key] = Entry(
            *key,
            ids(row.get("replicas"), f"replicas of {key}"),
            None if original is None else ids(original, f"original_replicas of {key}") or None,
        )
    return list(entries.values())


def encode_plan(entries: Iterable[Entry], *, plain: bool = False) -> bytes:
    """Return the JSON of the plan; `plain` omits the originals."""
    return encode({"version": 1, "partitions": [_row(each, plain) for each in entries]})


def fitting(entries: Sequence[Entry], *, plain: bool, limit: int = LIMIT_BYTES) -> bytes:
    """Return the plan, shortened to `limit` bytes: first without the originals, then without the last entries.

    Nothing is lost by that: reassignd's own records hold all entries.
    """
    data = encode_plan(entries, plain=plain)
    if len(data) > limit:
        data = encode_plan(entries, plain=True)
    if len(data) > limit:
        data = encode_plan(_first_entries(entries, limit), plain=True)
    return data


def _first_entries(entries: Sequence[Entry], limit: int) -> Iterator[Entry]:
    """Yield the entries whose plan has at most `limit` bytes."""
    remaining = limit - len(encode_plan([]))
    for entry in entries:
        remaining -= len(encode(_row(entry, plain=True))) + len(",")
        if remaining < 0:
            return
        yield entry


def _row(entry: Entry, plain: bool) -> dict[str, object]:
    row: dict[str, object] = {
        "topic": entry.topic,
        "partition": entry.partition,
        "replicas": list(entry.replicas),
    }
    if entry.original is not None and not plain:
        row["original_replicas"] = list(entry.original)
    return row


def _reject_unknown_keys(value: Mapping[str, Any], known: set[str]) -> None:
    unknown = sorted(value.keys() - known)
    if unknown:
        raise ZnodeError(f"unknown key {unknown[0]!r}")
