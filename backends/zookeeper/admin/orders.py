"""Plan znodes: their JSON and conversions (KIP-236, KIP-455; Kafka: ReassignPartitionsZNode).

`/admin/reassign_partitions` and its queue have `{"version": 1, "partitions": [{"topic": "foo", "partition":
0, "replicas": [1, 2], "original_replicas": [1, 3]}]}`. KIP-236 adds `original_replicas`. Kafka's own tools
and controllers reject a plan with keys that they do not know. Where a plan omits the originals, reassignd's
records under `/reassignd` hold them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.fields import ZnodeError, decode_object, encode, ids, integer, rows_of, string
from common.lists import grouped
from controller.messages.event import Requester
from controller.messages.events import AlterConfigs, AlterReassignments, ResourceChanges
from controller.messages.job_events import AlterReply, AlterRow, AlterTopic, Queue
from controller.model.cluster import Replicas, ResourceType, TopicPartition
from controller.model.configs import FOLLOWER_REPLICAS, LEADER_REPLICAS, ConfigChange, ConfigOp
from controller.model.errors import Outcome
from controller.reassignment.orders import waiting_entries
from controller.state.state import State

LIMIT_BYTES = 1_040_000
"""ZooKeeper rejects requests of 1,048,575 bytes and more. The difference is for the other parts of the
request."""

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
    """Return the entries of a plan file.

    Keys that no controller reads, such as `log_dirs`, are ignored. Raises ZnodeError.
    """
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
    """Return the plan, shortened to `limit` bytes.

    It leaves out the originals first, then the last entries.

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


PRINCIPAL = "ZooKeeper"
"""Principal of jobs that were ordered through znodes. Principals of clients have the form `User:NAME`."""


def alter_event(entries: Iterable[Entry], path: str) -> AlterReassignments:
    """Return the event that orders the entries' targets; `path` is the znode that contains them."""
    topics = _by_topic((each.key, each.replicas) for each in entries)
    return AlterReassignments(topics, requester=Requester(PRINCIPAL, path))


def queue_event(entries: Iterable[Entry]) -> Queue:
    """Return the event that queues the entries behind what runs.

    Partitions that are moving are rolled back first.
    """
    topics = _by_topic((each.key, each.replicas) for each in entries)
    return Queue(topics, requester=Requester(PRINCIPAL, paths.QUEUE))


class Cancellation(NamedTuple):
    """What a cancel znode leads to; `skipped` are the entries whose original is not known (KIP-236)."""

    event: AlterReassignments
    keys: list[TopicPartition]
    skipped: list[Entry]


def cancellation(state: State, pending: Sequence[Entry], unaccepted: Sequence[Entry]) -> Cancellation:
    """Roll back the pending entries, and those of a plan that was written before this term and not accepted.

    An unaccepted entry has moved nothing here. An earlier controller may have carried it out in part, so it
    goes back to the original that the plan names.
    """
    rows: dict[TopicPartition, Replicas | None] = {entry.key: None for entry in pending}
    skipped = []
    for entry in unaccepted:
        partition = state.cluster.partition(*entry.key)
        if partition is None or entry.key in rows:
            continue
        if entry.key in state.orders.reassignments:
            rows[entry.key] = None
        elif entry.original is None:
            skipped.append(entry)
        elif entry.original != partition.replicas:
            rows[entry.key] = entry.original
    topics = _by_topic(rows.items())
    event = AlterReassignments(topics, requester=Requester(PRINCIPAL, paths.CANCEL))
    return Cancellation(event, list(rows), skipped)


def rejected_rows(reply: AlterReply) -> Iterator[tuple[TopicPartition, Outcome]]:
    """Yield the rows that were rejected, each with its error."""
    for topic, rows in reply.topics:
        for partition, outcome in rows:
            if not outcome.ok:
                yield TopicPartition(topic, partition), outcome


def pending_entries(state: State, accepted: Mapping[TopicPartition, Replicas]) -> list[Entry]:
    """Return the content of `/admin/reassign_partitions`.

    It lists what was ordered through ZooKeeper, has started, and goes forward.

    `accepted` are the targets of the last plan. They count even if a client had ordered the same targets
    before: then the reassignment belongs to the client's job.
    """
    jobs = _zookeeper_jobs(state)
    if not jobs and not accepted:
        return []
    queued = set(_queued_keys(state, jobs))
    return [
        Entry(each.topic, each.partition, each.target, each.original)
        for each in state.orders.reassignments.values()
        if (each.job in jobs or accepted.get(each.key) == each.target)
        and not each.rolling_back
        and each.key not in queued
    ]


def queued_entries(state: State) -> list[Entry]:
    """Return the content of `/admin/reassign_partitions_queue`: the entries that have not started."""
    jobs = _zookeeper_jobs(state)
    return [
        Entry(*key, (state.orders.pending.get(key) or state.orders.reassignments[key]).target)
        for key in _queued_keys(state, jobs)
    ]


def unthrottle_event(state: State, keys: Sequence[TopicPartition]) -> AlterConfigs | None:
    """Return the event that removes partitions from their topics' throttle lists; None if none is listed.

    The value `*` stays, and so do lists that reassignd holds a lease on.
    """
    resources = []
    for topic, listed in sorted(grouped((key.topic, str(key.partition)) for key in keys).items()):
        numbers = {*listed}
        changes = [change for name in (LEADER_REPLICAS, FOLLOWER_REPLICAS)
                   if (change := _without(state, topic, name, numbers)) is not None]  # fmt: skip
        if changes:
            resources.append(ResourceChanges(ResourceType.TOPIC, topic, changes))
    return AlterConfigs(resources) if resources else None


def _without(state: State, topic: str, name: str, numbers: set[str]) -> ConfigChange | None:
    """Return the change that removes these partition numbers from the list, None if nothing changes."""
    value = state.settings.configs.get((ResourceType.TOPIC, topic), {}).get(name)
    if not value or (ResourceType.TOPIC, topic, name) in state.throttle.leases:
        return None
    rows = value.split(",")
    kept = [row for row in rows if row.strip().partition(":")[0] not in numbers]
    if len(kept) == len(rows):
        return None
    if not kept:
        return ConfigChange(name, ConfigOp.DELETE, None)
    return ConfigChange(name, ConfigOp.SET, ",".join(kept))


def _zookeeper_jobs(state: State) -> set[int]:
    """Return the ids of the running jobs that were ordered through ZooKeeper."""
    return {job.id for job in state.orders.jobs.values() if job.principal == PRINCIPAL and not job.ended_ms}


def _queued_keys(state: State, jobs: set[int]) -> Iterator[TopicPartition]:
    """Yield the partitions of these jobs that have not started."""
    if not jobs:
        return
    for key in waiting_entries(state):
        entry = state.orders.pending.get(key) or state.orders.reassignments.get(key)
        if entry is not None and entry.job in jobs:
            yield key


def _by_topic(rows: Iterable[tuple[TopicPartition, Replicas | None]]) -> list[AlterTopic]:
    topics = grouped((key.topic, AlterRow(key.partition, replicas)) for key, replicas in rows)
    return [AlterTopic(*each) for each in topics.items()]
