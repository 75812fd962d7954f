"""Conversions between plan znodes and the controller: entries to events, and the controller's state to entries (KIP-236, KIP-455).

The content of the plan znodes follows from the jobs alone. The principal of a job tells that it was ordered through
ZooKeeper. So a plan znode cannot disagree with what is carried out.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from backends.zookeeper.admin.plans import Entry
from backends.zookeeper.znodes import paths
from common.grouping import grouped
from controller.configs.names import FOLLOWER_REPLICAS, LEADER_REPLICAS
from controller.messages.events import AlterConfigs, AlterReassignments, ResourceChanges
from controller.messages.job_events import AlterReply, AlterRow, AlterTopic, Queue
from controller.model.cluster import Replicas, ResourceType, TopicPartition
from controller.model.configs import ConfigChange, ConfigOp
from controller.model.errors import Outcome
from controller.reassignment.queue import waiting_entries
from controller.state.state import State

PRINCIPAL = "ZooKeeper"
"""Principal of jobs that were ordered through znodes. Principals of clients have the form `User:NAME`."""


def alter_event(entries: Iterable[Entry], path: str) -> AlterReassignments:
    """Return the event that orders the entries' targets; `path` is the znode that contains them."""
    topics = _by_topic((each.key, each.replicas) for each in entries)
    return AlterReassignments(topics, principal=PRINCIPAL, client_id=path)


def queue_event(entries: Iterable[Entry]) -> Queue:
    """Return the event that queues the entries behind what runs; partitions that are moving are rolled back first."""
    topics = _by_topic((each.key, each.replicas) for each in entries)
    return Queue(topics, principal=PRINCIPAL, client_id=paths.QUEUE)


class Cancellation(NamedTuple):
    """What a cancel znode leads to; `skipped` are the entries whose original is not known (KIP-236)."""

    event: AlterReassignments
    keys: list[TopicPartition]
    skipped: list[Entry]


def cancellation(state: State, pending: Sequence[Entry], unaccepted: Sequence[Entry]) -> Cancellation:
    """Roll back the pending entries, and those of a plan that was written before this term and not accepted.

    An unaccepted entry has moved nothing here. An earlier controller may have carried it out in part, so it goes back to
    the original that the plan names.
    """
    rows: dict[TopicPartition, Replicas | None] = {entry.key: None for entry in pending}
    skipped = []
    for entry in unaccepted:
        partition = state.partition(*entry.key)
        if partition is None or entry.key in rows:
            continue
        if entry.key in state.reassignments:
            rows[entry.key] = None
        elif entry.original is None:
            skipped.append(entry)
        elif entry.original != partition.replicas:
            rows[entry.key] = entry.original
    topics = _by_topic(rows.items())
    event = AlterReassignments(topics, principal=PRINCIPAL, client_id=paths.CANCEL)
    return Cancellation(event, list(rows), skipped)


def rejected_rows(reply: AlterReply) -> Iterator[tuple[TopicPartition, Outcome]]:
    """Yield the rows that were rejected, each with its error."""
    for topic, rows in reply.topics:
        for partition, outcome in rows:
            if not outcome.ok:
                yield TopicPartition(topic, partition), outcome


def pending_entries(state: State, accepted: Mapping[TopicPartition, Replicas]) -> list[Entry]:
    """Return the content of `/admin/reassign_partitions`: what was ordered through ZooKeeper, has started, and goes forward.

    `accepted` are the targets of the last plan. They count even if a client had ordered the same targets before: then
    the reassignment belongs to the client's job.
    """
    jobs = _zookeeper_jobs(state)
    if not jobs and not accepted:
        return []
    queued = set(_queued_keys(state, jobs))
    return [
        Entry(each.topic, each.partition, each.target, each.original)
        for each in state.reassignments.values()
        if (each.job in jobs or accepted.get(each.key) == each.target)
        and not each.rolling_back
        and each.key not in queued
    ]


def queued_entries(state: State) -> list[Entry]:
    """Return the content of `/admin/reassign_partitions_queue`: the entries that have not started."""
    jobs = _zookeeper_jobs(state)
    return [
        Entry(*key, (state.pending.get(key) or state.reassignments[key]).target)
        for key in _queued_keys(state, jobs)
    ]


def unthrottle_event(state: State, keys: Sequence[TopicPartition]) -> AlterConfigs | None:
    """Return the event that removes the partitions from their topics' lists of throttled replicas, None if none is listed.

    The value `*` stays, and so do lists that reassignd holds a lease on.
    """
    resources = []
    for topic in sorted({key.topic for key in keys}):
        numbers = {str(key.partition) for key in keys if key.topic == topic}
        changes = [change for name in (LEADER_REPLICAS, FOLLOWER_REPLICAS)
                   if (change := _without(state, topic, name, numbers)) is not None]  # fmt: skip
        if changes:
            resources.append(ResourceChanges(ResourceType.TOPIC, topic, changes))
    return AlterConfigs(resources) if resources else None


def _without(state: State, topic: str, name: str, numbers: set[str]) -> ConfigChange | None:
    """Return the change that removes these partition numbers from the list, None if nothing changes."""
    value = state.configs.get((ResourceType.TOPIC, topic), {}).get(name)
    if not value or (ResourceType.TOPIC, topic, name) in state.leases:
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
    return {job.id for job in state.jobs.values() if job.principal == PRINCIPAL and not job.ended_ms}


def _queued_keys(state: State, jobs: set[int]) -> Iterator[TopicPartition]:
    """Yield the partitions of these jobs that have not started."""
    if not jobs:
        return
    for key in waiting_entries(state):
        entry = state.pending.get(key) or state.reassignments.get(key)
        if entry is not None and entry.job in jobs:
            yield key


def _by_topic(rows: Iterable[tuple[TopicPartition, Replicas | None]]) -> list[AlterTopic]:
    topics = grouped((key.topic, AlterRow(key.partition, replicas)) for key, replicas in rows)
    return [AlterTopic(*each) for each in topics.items()]
