"""Plans in znodes: `/admin/reassign_partitions` and its queue (KIP-236; Kafka: ReassignPartitionsZNode).

`{"version": 1, "partitions": [{"topic": "foo", "partition": 0, "replicas": [1, 2], "original_replicas": [1, 3]}]}`. The
originals are KIP-236's; tools and controllers of Kafka take no document with keys that they do not know. Where they are left out,
they are in our own records beside the document.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from backends.zookeeper.znodes.fields import ZnodeError, decode_object, encode, ids, integer, rows_of, string
from controller.model.cluster import Replicas, TopicPartition

LIMIT_BYTES = 1_040_000
"""ZooKeeper takes requests of less than 1,048,575 bytes. Tools write plans up to that; what else a write of ours has takes a few KB."""

DOCUMENT_KEYS = {"version", "partitions"}
ROW_KEYS = {"topic", "partition", "replicas", "original_replicas"}


class Entry(NamedTuple):
    """A partition and its target; `original` is None where the document does not say it."""

    topic: str
    partition: int
    replicas: Replicas
    original: Replicas | None = None

    @property
    def key(self) -> TopicPartition:
        """Whose entry it is."""
        return TopicPartition(self.topic, self.partition)


def decode_plan(data: bytes | None) -> list[Entry]:
    """The entries in order; of two for one partition the last counts. Raises ZnodeError, as strict as Kafka."""
    value = decode_object(data)
    _refuse_others(value, DOCUMENT_KEYS)
    rows = list(rows_of(value))
    for row in rows:
        _refuse_others(row, ROW_KEYS)
    return _entries(rows)


def decode_file(data: bytes) -> list[Entry]:
    """A plan as people write it: what no controller takes, such as log directories, is left out. Raises ZnodeError."""
    return _entries(rows_of(decode_object(data)))


def _entries(rows: Iterable[Mapping[str, Any]]) -> list[Entry]:
    found: dict[TopicPartition, Entry] = {}
    for row in rows:
        key = TopicPartition(string(row, "topic"), integer(row, "partition"))
        original = row.get("original_replicas")
        entry = Entry(
            *key,
            ids(row.get("replicas"), f"replicas of {key}"),
            None if original is None else ids(original, f"original_replicas of {key}") or None,
        )
        found.pop(entry.key, None)
        found[entry.key] = entry
    return list(found.values())


def encode_plan(entries: Iterable[Entry], *, plain: bool = False) -> bytes:
    """The document; `plain` leaves the originals out."""
    return encode({"version": 1, "partitions": [_row(each, plain) for each in entries]})


def fitting(entries: Sequence[Entry], *, plain: bool, limit: int = LIMIT_BYTES) -> bytes:
    """The document of as many entries as a znode takes: the originals are left out first, then the last entries.

    What is left out is not lost: our own records beside the document say all of it.
    """
    data = encode_plan(entries, plain=plain)
    if len(data) > limit:
        data = encode_plan(entries, plain=True)
    if len(data) > limit:
        data = encode_plan(_first(entries, limit), plain=True)
    return data


def _first(entries: Sequence[Entry], limit: int) -> Iterator[Entry]:
    room = limit - len(encode_plan([]))
    for entry in entries:
        room -= len(encode(_row(entry, plain=True))) + 1
        if room < 0:
            return
        yield entry


def _row(entry: Entry, plain: bool) -> dict[str, Any]:
    row: dict[str, Any] = {
        "topic": entry.topic,
        "partition": entry.partition,
        "replicas": list(entry.replicas),
    }
    if entry.original is not None and not plain:
        row["original_replicas"] = list(entry.original)
    return row


def _refuse_others(value: Mapping[str, Any], known: set[str]) -> None:
    others = sorted(value.keys() - known)
    if others:
        raise ZnodeError(f"unknown key {others[0]!r}")
