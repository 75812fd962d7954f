"""Documents to events for the core, and the core's state to documents (KIP-236, KIP-455).

Nothing but the jobs says what the documents hold: a job that came through ZooKeeper is marked by its principal. So a
document cannot disagree with what is done.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from backends.zookeeper.admin.plans import Entry
from backends.zookeeper.znodes import paths
from controller.configs.names import FOLLOWER_REPLICAS, LEADER_REPLICAS
from controller.messages.events import AlterConfigs, AlterReassignments, ResourceChanges
from controller.messages.job_events import AlterReply, AlterRow, AlterTopic, Queue
from controller.model.cluster import Reassignment, Replicas, ResourceType, TopicPartition
from controller.model.configs import ConfigChange, ConfigOp
from controller.model.errors import Outcome
from controller.reassignment.queue import waiting_entries
from controller.state.state import State

PRINCIPAL = "ZooKeeper"
"""Who ordered what came by znode; no client's principal is written so."""


def order(entries: Iterable[Entry], path: str) -> AlterReassignments:
    """Have the entries' targets; `path` is the znode that says so."""
    topics = _grouped((each.key, each.replicas) for each in entries)
    return AlterReassignments(topics, principal=PRINCIPAL, client_id=path)


def queue(entries: Iterable[Entry]) -> Queue:
    """Have the entries' targets behind what runs; a conflict with what runs is rolled back first."""
    topics = _grouped((each.key, each.replicas) for each in entries)
    return Queue(topics, principal=PRINCIPAL, client_id=paths.QUEUE)


class Cancel(NamedTuple):
    """What a cancel znode leads to: an event, and what it passes over at once, by KIP-236's first rule."""

    event: AlterReassignments
    keys: list[TopicPartition]
    skipped: list[Entry]


def cancel(state: State, pending: Sequence[Entry], found: Sequence[Entry]) -> Cancel:
    """Roll back what is pending; `found` are entries of the document that it held already when we came.

    One that was not begun goes back to its original order at most; one whose original nobody knows is passed over.
    """
    rows: dict[TopicPartition, Replicas | None] = {entry.key: None for entry in pending}
    skipped = []
    for entry in found:
        partition = state.partition(*entry.key)
        if partition is None or entry.key in rows:
            continue
        if entry.key in state.reassignments:
            rows[entry.key] = None
        elif entry.original is None:
            skipped.append(entry)
        elif entry.original != partition.replicas:
            rows[entry.key] = entry.original
    topics = _grouped(rows.items())
    return Cancel(
        AlterReassignments(topics, principal=PRINCIPAL, client_id=paths.CANCEL), list(rows), skipped
    )


def refusals(reply: AlterReply) -> Iterator[tuple[TopicPartition, Outcome]]:
    """What was not taken, and why."""
    for topic, rows in reply.topics:
        for partition, outcome in rows:
            if not outcome.ok:
                yield TopicPartition(topic, partition), outcome


def pending(state: State, named: Mapping[TopicPartition, Replicas]) -> list[Entry]:
    """What `/admin/reassign_partitions` holds: what was ordered through ZooKeeper, begun, and not taken back.

    `named` are targets that it names though someone else had ordered the same before.
    """
    jobs = _jobs(state)
    if not jobs and not named:
        return []
    queued = set(_waiting(state, jobs))
    return [
        Entry(each.topic, each.partition, each.target, each.original)
        for each in state.reassignments.values()
        if (each.job in jobs or named.get(each.key) == each.target)
        and not each.rolling_back
        and each.key not in queued
    ]


def queued(state: State) -> list[Entry]:
    """What `/admin/reassign_partitions_queue` holds: what has not begun."""
    jobs = _jobs(state)
    return [
        Entry(*key, (state.pending.get(key) or state.reassignments[key]).target)
        for key in _waiting(state, jobs)
    ]


def unthrottle(state: State, keys: Sequence[TopicPartition]) -> AlterConfigs | None:
    """Take partitions off their topics' lists of throttled replicas; `*`, and what is ours for a time, stay."""
    changes = []
    for topic in sorted({key.topic for key in keys}):
        numbers = {str(key.partition) for key in keys if key.topic == topic}
        ours = [change for name in (LEADER_REPLICAS, FOLLOWER_REPLICAS)
                if (change := _without(state, topic, name, numbers)) is not None]  # fmt: skip
        if ours:
            changes.append(ResourceChanges(ResourceType.TOPIC, topic, ours))
    return AlterConfigs(changes) if changes else None


def _without(state: State, topic: str, name: str, numbers: set[str]) -> ConfigChange | None:
    value = state.configs.get((ResourceType.TOPIC, topic), {}).get(name)
    if not value or (ResourceType.TOPIC, topic, name) in state.leases:
        return None
    rows = value.split(",")
    kept = [row for row in rows if row.strip().partition(":")[0] not in numbers]
    if len(kept) == len(rows):
        return None
    return (
        ConfigChange(name, ConfigOp.SET, ",".join(kept))
        if kept
        else ConfigChange(name, ConfigOp.DELETE, None)
    )


def _jobs(state: State) -> set[int]:
    return {job.id for job in state.jobs.values() if job.principal == PRINCIPAL and not job.ended_ms}


def _waiting(state: State, jobs: set[int]) -> Iterator[TopicPartition]:
    if not jobs:
        return
    for key in waiting_entries(state):
        wanted: Reassignment | None = state.reassignments.get(key)
        waits = state.pending.get(key) or wanted
        if waits is not None and waits.job in jobs:
            yield key


def _grouped(rows: Iterable[tuple[TopicPartition, Replicas | None]]) -> list[AlterTopic]:
    topics: dict[str, list[AlterRow]] = {}
    for key, replicas in rows:
        topics.setdefault(key.topic, []).append(AlterRow(key.partition, replicas))
    return [AlterTopic(*each) for each in topics.items()]
