"""The tables, and the conversions between records and rows, which are readable with the sqlite3 command.

Values have the text form of Kafka's tools: replica lists as `1,2,3`, topic ids in base64.
"""

import base64
import functools

from backends.sqlite.sql_table import Row, Table
from controller.model.cluster import (
    Broker,
    Config,
    ControllerEpoch,
    Ending,
    Finished,
    Job,
    JobKind,
    Lease,
    Partition,
    Paused,
    Pending,
    Reassignment,
    Record,
    Replicas,
    ResourceType,
    Topic,
    UpstreamStep,
)
from controller.model.upstream_step import Stage

_SUBMISSIONS = """
CREATE TABLE submissions (
    topic TEXT NOT NULL, partition INTEGER NOT NULL, base TEXT NOT NULL, following TEXT NOT NULL,
    stage TEXT NOT NULL, turned_from TEXT NOT NULL, PRIMARY KEY (topic, partition)
) WITHOUT ROWID;
"""

_SUBMISSION_EPOCH = "ALTER TABLE submissions ADD COLUMN epoch INTEGER NOT NULL DEFAULT -1;"

SCHEMA = (
    _SUBMISSIONS
    + _SUBMISSION_EPOCH
    + """
CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE controller (id INTEGER PRIMARY KEY CHECK (id = 0), epoch INTEGER NOT NULL);
CREATE TABLE brokers (
    id INTEGER PRIMARY KEY, host TEXT NOT NULL, port INTEGER NOT NULL, rack TEXT, epoch INTEGER NOT NULL
);
CREATE TABLE topics (name TEXT PRIMARY KEY, id TEXT NOT NULL, deleting INTEGER NOT NULL);
CREATE TABLE partitions (
    topic TEXT NOT NULL, partition INTEGER NOT NULL, replicas TEXT NOT NULL, isr TEXT NOT NULL,
    leader INTEGER NOT NULL, leader_epoch INTEGER NOT NULL, partition_epoch INTEGER NOT NULL,
    adding TEXT NOT NULL, removing TEXT NOT NULL, PRIMARY KEY (topic, partition)
) WITHOUT ROWID;
CREATE TABLE reassignments (
    sequence INTEGER PRIMARY KEY, topic TEXT NOT NULL, partition INTEGER NOT NULL,
    original TEXT NOT NULL, target TEXT NOT NULL, job INTEGER NOT NULL, blocked TEXT NOT NULL,
    UNIQUE (topic, partition)
);
CREATE TABLE jobs (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, created_ms INTEGER NOT NULL, principal TEXT NOT NULL,
    client_id TEXT, total INTEGER NOT NULL, priority INTEGER NOT NULL, paused INTEGER NOT NULL,
    ended_ms INTEGER NOT NULL, undoes INTEGER NOT NULL, throttle INTEGER NOT NULL
);
CREATE TABLE finished (
    sequence INTEGER PRIMARY KEY, job INTEGER NOT NULL, topic TEXT NOT NULL, partition INTEGER NOT NULL,
    original TEXT NOT NULL, target TEXT NOT NULL, ending TEXT NOT NULL, taken_by INTEGER NOT NULL,
    UNIQUE (job, topic, partition)
);
CREATE TABLE pending (
    sequence INTEGER PRIMARY KEY, topic TEXT NOT NULL, partition INTEGER NOT NULL,
    target TEXT NOT NULL, job INTEGER NOT NULL, UNIQUE (topic, partition)
);
CREATE TABLE paused (id INTEGER PRIMARY KEY CHECK (id = 0), paused INTEGER NOT NULL);
CREATE TABLE leases (
    resource TEXT NOT NULL, name TEXT NOT NULL, config TEXT NOT NULL, ours TEXT NOT NULL, found TEXT,
    PRIMARY KEY (resource, name, config)
) WITHOUT ROWID;
CREATE TABLE configs (
    resource TEXT NOT NULL, name TEXT NOT NULL, config TEXT NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (resource, name, config)
) WITHOUT ROWID;
"""
)

UPGRADES = {
    1: "ALTER TABLE reassignments ADD COLUMN blocked TEXT NOT NULL DEFAULT '';" + _SUBMISSIONS,
    2: _SUBMISSION_EPOCH,
}
"""SQL by format version that converts the tables of that version to the next one."""


@functools.lru_cache(maxsize=65_536)
def _text(replicas: Replicas) -> str:
    return ",".join(map(str, replicas))


@functools.lru_cache(maxsize=65_536)
def _replicas(text: str) -> Replicas:
    """Parse a replica list. Equal lists share one tuple: a million partitions have few distinct lists."""
    return tuple(map(int, text.split(","))) if text else ()


@functools.lru_cache(maxsize=65_536)
def _same(name: str) -> str:
    """Return one shared object for equal topic names."""
    return name


def _epoch(row: Row) -> ControllerEpoch:
    return ControllerEpoch(row[1])


def _broker(row: Row) -> Broker:
    return Broker(*row)


def _partition_row(p: Partition) -> Row:
    topic, partition, replicas, isr, leader, leader_epoch, partition_epoch, adding, removing = p
    return (
        topic, partition, _text(replicas), _text(isr), leader, leader_epoch, partition_epoch,
        _text(adding), _text(removing),
    )  # fmt: skip


def _partition(row: Row) -> Partition:
    topic, partition, replicas, isr, leader, leader_epoch, partition_epoch, adding, removing = row
    return Partition(
        _same(topic), partition, _replicas(replicas), _replicas(isr), leader, leader_epoch, partition_epoch,
        _replicas(adding), _replicas(removing),
    )  # fmt: skip


def _reassignment_row(r: Reassignment) -> Row:
    return (r.topic, r.partition, _text(r.original), _text(r.target), r.job, r.blocked)


def _reassignment(row: Row) -> Reassignment:
    topic, partition, original, target, job, blocked = row
    return Reassignment(_same(topic), partition, _replicas(original), _replicas(target), job, blocked)


def _job_row(job: Job) -> Row:
    return (job.id, job.kind.name.lower(), *job[2:])


def _job(row: Row) -> Job:
    number, kind, created_ms, principal, client_id, total, priority, paused, *rest = row
    made = JobKind[kind.upper()]
    return Job(number, made, created_ms, principal, client_id, total, priority, bool(paused), *rest)


def _finished_row(f: Finished) -> Row:
    ending = f.ending.name.lower()
    return (f.job, f.topic, f.partition, _text(f.original), _text(f.target), ending, f.taken_by)


def _finished(row: Row) -> Finished:
    job, topic, partition, original, target, ending, taken_by = row
    how = Ending[ending.upper()]
    return Finished(job, _same(topic), partition, _replicas(original), _replicas(target), how, taken_by)


def _pending_row(p: Pending) -> Row:
    return (p.topic, p.partition, _text(p.target), p.job)


def _pending(row: Row) -> Pending:
    topic, partition, target, job = row
    return Pending(_same(topic), partition, _replicas(target), job)


_STAGE_NAMES = {
    Stage.SUBMITTING: "submitting",
    Stage.ACTIVE: "active",
    Stage.UNDOING: "undoing",
    Stage.UNDONE: "taken_back",
    Stage.ENDED: "arrived",
    Stage.SETTLED: "at",
}
_STAGES = {name: stage for stage, name in _STAGE_NAMES.items()}


def _upstream_step_row(s: UpstreamStep) -> Row:
    return (
        s.topic,
        s.partition,
        *map(_text, (s.base, s.following)),
        _STAGE_NAMES[s.stage],
        _text(s.replaced),
        s.epoch,
    )


def _upstream_step(row: Row) -> UpstreamStep:
    topic, partition, base, following, stage, replaced, epoch = row
    lists = _replicas(base), _replicas(following)
    return UpstreamStep(_same(topic), partition, *lists, _STAGES[stage], _replicas(replaced), epoch)


def _lease_row(lease: Lease) -> Row:
    return (lease.resource.name.lower(), *lease[1:])


def _lease(row: Row) -> Lease:
    return Lease(ResourceType[row[0].upper()], *row[1:])


def _resource_key(key: tuple[ResourceType, str, str]) -> Row:
    return (key[0].name.lower(), *key[1:])


def _topic_row(topic: Topic) -> Row:
    return (topic.name, base64.urlsafe_b64encode(topic.id).decode().rstrip("="), int(topic.deleting))


def _topic(row: Row) -> Topic:
    name, identifier, deleting = row
    return Topic(_same(name), base64.urlsafe_b64decode(identifier + "=="), bool(deleting))


def _config_row(config: Config) -> Row:
    return (config.resource.name.lower(), config.name, config.config, config.value)


def _config(row: Row) -> Config:
    resource, name, config, value = row
    return Config(ResourceType[resource.upper()], name, config, value)


TABLES: dict[type[Record], Table] = {
    ControllerEpoch: Table("controller", "id epoch", 1, "id", lambda epoch: (0, epoch.epoch), _epoch),
    Broker: Table("brokers", "id host port rack epoch", 1, "id", tuple, _broker, lambda key: (key,)),
    Topic: Table("topics", "name id deleting", 1, "rowid", _topic_row, _topic, lambda key: (key,)),
    Partition: Table(
        "partitions",
        "topic partition replicas isr leader leader_epoch partition_epoch adding removing",
        2,
        "topic, partition",
        _partition_row,
        _partition,
    ),
    Reassignment: Table(
        "reassignments",
        "topic partition original target job blocked",
        2,
        "sequence",
        _reassignment_row,
        _reassignment,
    ),
    Config: Table(
        "configs",
        "resource name config value",
        3,
        "resource, name, config",
        _config_row,
        _config,
        _resource_key,
    ),
    Job: Table(
        "jobs",
        "id kind created_ms principal client_id total priority paused ended_ms undoes throttle",
        1,
        "id",
        _job_row,
        _job,
        lambda key: (key,),
    ),
    Finished: Table(
        "finished",
        "job topic partition original target ending taken_by",
        3,
        "sequence",
        _finished_row,
        _finished,
        lambda key: (key[0], *key[1]),
    ),
    Pending: Table("pending", "topic partition target job", 2, "sequence", _pending_row, _pending),
    Paused: Table(
        "paused", "id paused", 1, "id", lambda paused: (0, paused.paused), lambda row: Paused(bool(row[1]))
    ),
    UpstreamStep: Table(
        "submissions",
        "topic partition base following stage turned_from epoch",
        2,
        "topic, partition",
        _upstream_step_row,
        _upstream_step,
    ),
    Lease: Table(
        "leases",
        "resource name config ours found",
        3,
        "resource, name, config",
        _lease_row,
        _lease,
        _resource_key,
    ),
}
"""Tables by kind of record, in the order of loading: topics before their partitions."""
