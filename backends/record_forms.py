"""The plain form of records: columns with text and numbers, for stores that people can read.

Values have the text form of Kafka's tools: replica lists as `1,2,3`, topic ids in base64.
"""

import base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from controller.model.access import Operation, PatternType, Permission, ResourceKind
from controller.model.cluster import (
    Acl,
    Broker,
    Config,
    ControllerEpoch,
    Ending,
    Finished,
    Job,
    JobKind,
    Partition,
    Paused,
    Pending,
    Reassignment,
    Record,
    Replicas,
    ResourceType,
    ScramCredential,
    ThrottleLease,
    Topic,
    UpstreamStep,
    row_maker,
)
from controller.model.disks import DiskMove, MoveStage
from controller.model.held_requests import HeldRequest, HeldState
from controller.model.load_hours import LoadHours
from controller.model.tasks import DryRun, UserTask
from controller.model.upstream_step import Stage
from controller.scheduling.limits import limits_text, parse_limits

StoredRow = Sequence[Any]
"""The values of the columns. A store can return any type; `to_record` raises ValueError or TypeError then."""


class RecordForm(NamedTuple):
    """The form of one kind of record. The first `keys` of the columns identify a record."""

    name: str
    columns: tuple[str, ...]
    keys: int
    to_row: Callable[[Any], StoredRow]
    to_record: Callable[[StoredRow], Record]
    key_to_row: Callable[[Any], StoredRow] = lambda key: key
    """Converts the `key` of a record to the values of the first columns."""
    ordered: bool = False
    """Records are loaded in the order in which they were first written. Else the columns order them."""
    defaults: Mapping[str, Any] = {}
    """Values of columns that rows of an earlier version do not have."""
    all_to_records: Callable[[Iterable[StoredRow]], list[Record]] | None = None
    """Does as `to_record` of each, for records of which there may be millions: without a call for each
    row."""

    def to_records(self, rows: Iterable[StoredRow]) -> list[Record]:
        """Do as `to_record` of each."""
        if self.all_to_records is not None:
            return self.all_to_records(rows)
        return list(map(self.to_record, rows))


K = TypeVar("K")
V = TypeVar("V")


class _Cache(dict[K, V]):
    """Computes a value once, and returns the same object for equal keys.

    A lookup costs half of that of an `lru_cache`.

    A million partitions have few distinct lists. With more than MOST_CACHED, the cache starts over.
    """

    def __init__(self, make: Callable[[K], V]) -> None:
        self._make = make

    def __missing__(self, key: K) -> V:
        if len(self) >= MOST_CACHED:
            self.clear()
        value = self[key] = self._make(key)
        return value


MOST_CACHED = 65_536

_text = _Cache[Replicas, str](lambda replicas: ",".join(map(str, replicas)))
_replicas = _Cache[str, Replicas](lambda text: tuple(map(int, text.split(","))) if text else ())
_same = _Cache[str, str](lambda name: name)
"""One shared object for equal topic names."""


_new_partition, _new_reassignment = row_maker(Partition), row_maker(Reassignment)


def _epoch(row: StoredRow) -> ControllerEpoch:
    return ControllerEpoch(row[1])


def _broker(row: StoredRow) -> Broker:
    return Broker(*row)


def _partition_row(p: Partition) -> StoredRow:
    topic, partition, replicas, isr, leader, leader_epoch, partition_epoch, adding, removing = p
    members = _text[replicas]
    return (
        topic, partition, members, members if isr == replicas else _text[isr],
        leader, leader_epoch, partition_epoch,
        _text[adding] if adding else "", _text[removing] if removing else "",
    )  # fmt: skip


def _partitions(rows: Iterable[StoredRow]) -> list[Record]:
    lists, same, new = _replicas, _same, _new_partition
    return [
        new((
            same[topic], partition, members := lists[replicas], members if isr == replicas else lists[isr],
            leader, leader_epoch, partition_epoch,
            lists[adding] if adding else (), lists[removing] if removing else (),
        ))
        for topic, partition, replicas, isr, leader, leader_epoch, partition_epoch, adding, removing in rows
    ]  # fmt: skip


def _reassignment_row(r: Reassignment) -> StoredRow:
    return (r.topic, r.partition, _text[r.original], _text[r.target], r.job, r.blocked)


def _reassignments(rows: Iterable[StoredRow]) -> list[Record]:
    lists, same, new = _replicas, _same, _new_reassignment
    return [
        new((same[topic], partition, lists[original], lists[target], job, blocked, ""))
        for topic, partition, original, target, job, blocked in rows
    ]


def _job_row(job: Job) -> StoredRow:
    return (job.id, job.kind.name.lower(), *job[2:-1], limits_text(job.limits))


def _job(row: StoredRow) -> Job:
    number, kind, *values, limits = row
    job = Job(number, JobKind[kind.upper()], *values)
    return job._replace(paused=bool(job.paused), elects=bool(job.elects), limits=parse_limits(limits))


_ENDING_NAMES = {ending: ending.name.lower() for ending in Ending}
"""A name is a property in Python, and each partition of a cancel has an ending."""


def _finished_row(f: Finished) -> StoredRow:
    job, topic, partition, original, target, ending, taken_by = f
    return (job, topic, partition, _text[original], _text[target], _ENDING_NAMES[ending], taken_by)


def _finished(row: StoredRow) -> Finished:
    job, topic, partition, original, target, ending, taken_by = row
    how = Ending[ending.upper()]
    return Finished(job, _same[topic], partition, _replicas[original], _replicas[target], how, taken_by)


def _pending_row(p: Pending) -> StoredRow:
    return (p.topic, p.partition, _text[p.target], p.job)


def _pending(row: StoredRow) -> Pending:
    topic, partition, target, job = row
    return Pending(_same[topic], partition, _replicas[target], job)


_STAGE_NAMES = {
    Stage.SUBMITTING: "submitting",
    Stage.ACTIVE: "active",
    Stage.UNDOING: "undoing",
    Stage.ENDED: "arrived",
    Stage.SETTLED: "at",
}
_STAGES = {name: stage for stage, name in _STAGE_NAMES.items()} | {"taken_back": Stage.UNDOING}
"""Version 1.0 knew a stage after the upstream had confirmed a cancel."""

_REQUESTED = {Stage.SUBMITTING, Stage.ACTIVE}


def _upstream_step_row(s: UpstreamStep) -> StoredRow:
    return (
        s.topic,
        s.partition,
        *map(_text.__getitem__, (s.base, s.following)),
        _STAGE_NAMES[s.stage],
        _text[s.replaced],
        s.epoch,
    )


def _upstream_step(row: StoredRow) -> UpstreamStep:
    topic, partition, base, following, stage, replaced, epoch = row
    lists = _replicas[base], _replicas[following]
    step = UpstreamStep(_same[topic], partition, *lists, _STAGES[stage], _replicas[replaced], epoch)
    if step.replaced and not step.restores and step.stage in _REQUESTED:
        # Version 1.0 replaced steps without a cancel. Kafka 4.3 may never end such a step.
        return step._replace(stage=Stage.UNDOING)
    return step


def _lease_row(lease: ThrottleLease) -> StoredRow:
    return (lease.resource.name.lower(), *lease[1:])


def _lease(row: StoredRow) -> ThrottleLease:
    return ThrottleLease(ResourceType[row[0].upper()], *row[1:])


def _resource_key(key: tuple[ResourceType, str, str]) -> StoredRow:
    return (key[0].name.lower(), *key[1:])


def _topic_row(topic: Topic) -> StoredRow:
    return (topic.name, base64.urlsafe_b64encode(topic.id).decode().rstrip("="), int(topic.deleting))


def _topic(row: StoredRow) -> Topic:
    name, identifier, deleting = row
    return Topic(_same[name], base64.urlsafe_b64decode(identifier + "=="), bool(deleting))


def _config_row(config: Config) -> StoredRow:
    return (config.resource.name.lower(), config.name, config.config, config.value)


def _config(row: StoredRow) -> Config:
    resource, name, config, value = row
    return Config(ResourceType[resource.upper()], name, config, value)


def _acl_row(acl: Acl) -> StoredRow:
    kind, name, pattern, principal, host, operation, permission = acl
    enums = (kind, pattern, operation, permission)
    kind_text, pattern_text, operation_text, permission_text = (each.name.lower() for each in enums)
    return (kind_text, name, pattern_text, principal, host, operation_text, permission_text)


def _acl(row: StoredRow) -> Acl:
    kind, name, pattern, principal, host, operation, permission = row
    return Acl(
        ResourceKind[kind.upper()],
        name,
        PatternType[pattern.upper()],
        principal,
        host,
        Operation[operation.upper()],
        Permission[permission.upper()],
    )


def _scram_row(credential: ScramCredential) -> StoredRow:
    user, mechanism, salt, stored_key, server_key, iterations = credential
    texts = (base64.b64encode(value).decode() for value in (salt, stored_key, server_key))
    return (user, mechanism, *texts, iterations)


def _scram(row: StoredRow) -> ScramCredential:
    user, mechanism, *texts, iterations = row
    salt, stored_key, server_key = (base64.b64decode(text, validate=True) for text in texts)
    return ScramCredential(user, mechanism, salt, stored_key, server_key, iterations)


def _task_row(task: UserTask) -> StoredRow:
    return (*task[:-3], int(task.executes), int(task.failed), task.result)


def _task(row: StoredRow) -> UserTask:
    task = UserTask(*row)
    return task._replace(executes=bool(task.executes), failed=bool(task.failed))


def _move_row(move: DiskMove) -> StoredRow:
    return (*move[:-2], move.stage.name.lower(), move.reason)


def _move(row: StoredRow) -> DiskMove:
    job, topic, partition, broker, source, target, size, stage, reason = row
    replica, dirs = (_same[topic], partition, broker), (_same[source], _same[target])
    return DiskMove(job, *replica, *dirs, size, MoveStage[stage.upper()], reason)


def _held_row(held: HeldRequest) -> StoredRow:
    return (*held[:7], held.state.value, *held[8:])


def _held(row: StoredRow) -> HeldRequest:
    held = HeldRequest(*row)
    return held._replace(state=HeldState(held.state))


FORMS: dict[type[Record], RecordForm] = {
    ControllerEpoch: RecordForm("controller", ("id", "epoch"), 1, lambda epoch: (0, epoch.epoch), _epoch),
    Broker: RecordForm(
        "brokers", ("id", "host", "port", "rack", "epoch"), 1, tuple, _broker, lambda key: (key,)
    ),
    Topic: RecordForm(
        "topics", ("name", "id", "deleting"), 1, _topic_row, _topic, lambda key: (key,), ordered=True
    ),
    Partition: RecordForm(
        "partitions",
        (
            "topic", "partition", "replicas", "isr", "leader", "leader_epoch", "partition_epoch",
            "adding", "removing",
        ),
        2,
        _partition_row,
        lambda row: _partitions((row,))[0],
        all_to_records=_partitions,
    ),
    Reassignment: RecordForm(
        "reassignments",
        ("topic", "partition", "original", "target", "job", "blocked"),
        2,
        _reassignment_row,
        lambda row: _reassignments((row,))[0],
        ordered=True,
        all_to_records=_reassignments,
    ),
    Config: RecordForm(
        "configs", ("resource", "name", "config", "value"), 3, _config_row, _config, _resource_key
    ),
    Job: RecordForm(
        "jobs",
        (
            "id", "kind", "created_ms", "principal", "client_id", "total", "priority", "paused", "ended_ms",
            "undoes", "throttle", "elects", "until_ms", "limits",
        ),
        1,
        _job_row,
        _job,
        lambda key: (key,),
        defaults={"elects": False, "until_ms": 0, "limits": ""},
    ),
    Finished: RecordForm(
        "finished",
        ("job", "topic", "partition", "original", "target", "ending", "taken_by"),
        3,
        _finished_row,
        _finished,
        lambda key: (key[0], *key[1]),
        ordered=True,
    ),
    Pending: RecordForm(
        "pending", ("topic", "partition", "target", "job"), 2, _pending_row, _pending, ordered=True
    ),
    Paused: RecordForm(
        "paused", ("id", "paused"), 1, lambda paused: (0, paused.paused), lambda row: Paused(bool(row[1]))
    ),
    UpstreamStep: RecordForm(
        "submissions",
        ("topic", "partition", "base", "following", "stage", "turned_from", "epoch"),
        2,
        _upstream_step_row,
        _upstream_step,
    ),
    ThrottleLease: RecordForm(
        "leases", ("resource", "name", "config", "ours", "found"), 3, _lease_row, _lease, _resource_key
    ),
    Acl: RecordForm(
        "acls",
        ("kind", "name", "pattern", "principal", "host", "operation", "permission"),
        7,
        _acl_row,
        _acl,
        _acl_row,
    ),
    ScramCredential: RecordForm(
        "scram_credentials",
        ("user", "mechanism", "salt", "stored_key", "server_key", "iterations"),
        2,
        _scram_row,
        _scram,
    ),
    UserTask: RecordForm(
        "user_tasks", UserTask._fields, 1, _task_row, _task, lambda key: (key,)
    ),
    DryRun: RecordForm(
        "dry_runs", DryRun._fields, 1, tuple, lambda row: DryRun(*row), lambda key: (key,)
    ),
    HeldRequest: RecordForm(
        "held_requests", HeldRequest._fields, 1, _held_row, _held, lambda key: (key,)
    ),
    LoadHours: RecordForm(
        "load_hours", LoadHours._fields, 1, tuple, lambda row: LoadHours(*row), lambda key: (key,)
    ),
    DiskMove: RecordForm(
        "disk_moves",
        DiskMove._fields,
        4,
        _move_row,
        _move,
        lambda key: (key[0], *key[1]),
        ordered=True,
    ),
}  # fmt: skip
"""Forms by kind of record, in the order of loading: topics before their partitions."""
