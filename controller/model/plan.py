"""Plans in the JSON of kafka-reassign-partitions (Kafka: ReassignPartitionsCommand)."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

import msgspec
from msgspec import Meta, Struct

from common.json.models import convert_model, explain
from common.plan_errors import Faults, PlanError
from common.wording import counted
from controller.model.replicas import MAX_REPLICAS, Replicas, display_name

INT_MAX = 2**31 - 1

TopicName = Annotated[str, Meta(min_length=1, extra={"expected": "a topic's name"})]
PartitionNumber = Annotated[int, Meta(ge=0, le=INT_MAX)]
BrokerId = Annotated[int, Meta(ge=0, le=INT_MAX, extra={"expected": f"a broker id from 0 to {INT_MAX}"})]
ReplicaList = Annotated[
    tuple[BrokerId, ...],
    Meta(
        min_length=1,
        max_length=MAX_REPLICAS,
        description="Broker ids, the preferred leader first.",
        extra={"expected": f"a list of 1 to {MAX_REPLICAS} broker ids"},
    ),
]
PLAN_SHAPE = '{"version":1,"partitions":[...]}'
"""What a plan looks like, in error messages."""

ANY = "any"
"""Stands for the directory that the broker chooses."""

LogDir = Annotated[
    str,
    Meta(min_length=1, extra={"expected": '"any" or the directory where the replica is'}),
]


class _Topic(Struct, frozen=True):
    topic: TopicName


class PartitionName(_Topic, frozen=True):
    """A partition by topic and number. Other keys are ignored."""

    partition: PartitionNumber


class PlanRow(PartitionName, frozen=True, omit_defaults=True):
    """One partition of a plan and its target replicas. Other keys are ignored.

    It is written without `log_dirs` if it has none: Kafka's tool refuses null.
    """

    replicas: ReplicaList
    log_dirs: list[LogDir] | None = None


class Plan(Struct, frozen=True, kw_only=True):
    """A plan of target replicas, as kafka-reassign-partitions reads and writes it."""

    version: Literal[1] = 1
    partitions: list[PlanRow]


class Entry(NamedTuple):
    """One partition of a plan and its target replicas."""

    topic: str
    partition: int
    replicas: Replicas
    log_dirs: tuple[str, ...] = ()
    """The directory of each replica, or ANY; empty if it names none."""


Entries = list[Entry | None]
"""The entries of a plan, in order; None for each that is wrong."""


def read_plan(value: object) -> list[Entry]:
    """Return the entries of a parsed plan, in order. Raises PlanError that names the invalid entries."""
    entries, faults = examine_plan(value)
    faults.check()
    return list(filter(None, entries))


def examine_plan(value: object) -> tuple[Entries, Faults]:
    """Return the entries of a parsed plan, and what is wrong with their form.

    Raises PlanError for what is not a plan.
    """
    if not isinstance(value, dict) or not isinstance(rows := value.get("partitions"), list):
        raise PlanError(f"not a plan: expected {PLAN_SHAPE}")
    convert_model({**value, "partitions": []}, Plan)
    if not rows:
        raise PlanError("the plan has no partitions")
    seen: dict[tuple[str, int], int] = {}
    faults, entries = Faults(), Entries()
    for number, value_of_row in enumerate(rows):
        try:
            row = msgspec.convert(value_of_row, PlanRow)
        except msgspec.ValidationError as error:
            faults.add(number, _explained, error, value_of_row, PlanRow, number)
            entries.append(None)
            continue
        first = seen.setdefault((row.topic, row.partition), number)
        fault = _fault(row)
        if first != number:
            faults.add(number, "{} is there twice, first in partitions[{}]".format, place(row, number), first)
        elif fault:
            faults.add(number, "{}: {}".format, place(row, number), fault)
        is_wrong = first != number or fault
        entries.append(None if is_wrong else Entry(row.topic, row.partition, row.replicas, _log_dirs(row)))
    return entries, faults


def plan_of(entries: Iterable[Entry]) -> dict[str, Any]:
    """Return the JSON value of a plan with these entries."""
    return {"version": 1, "partitions": [_row(each) for each in entries]}


def _row(entry: Entry) -> dict[str, Any]:
    row: dict[str, Any] = {
        "topic": entry.topic,
        "partition": entry.partition,
        "replicas": list(entry.replicas),
    }
    if entry.log_dirs:
        row["log_dirs"] = list(entry.log_dirs)
    return row


AnyRow = TypeVar("AnyRow", bound=PartitionName)


def read_row(value: object, model: type[AnyRow], number: int) -> AnyRow:
    """Return element `number` of a list of partitions. Raises PlanError.

    Lists are converted row by row: msgspec holds the interpreter's lock for as long as one conversion takes.
    """
    try:
        return msgspec.convert(value, model)
    except msgspec.ValidationError as error:
        raise PlanError(_explained(error, value, model, number)) from None


def _explained(error: msgspec.ValidationError, value: object, model: object, number: int) -> str:
    where = f"partitions[{number}]"
    return explain(error, value, model, where, _prefix(value, where))


def _fault(row: PlanRow) -> str:
    """Return what the declaration of `PlanRow` cannot refuse; empty for a valid row."""
    replicas, log_dirs = row.replicas, row.log_dirs
    if len(set(replicas)) != len(replicas):
        twice = next(broker for place, broker in enumerate(replicas) if broker in replicas[:place])
        return f"broker {twice} is in 'replicas' more than once"
    if log_dirs is not None and len(log_dirs) != len(replicas):
        return (
            f"'log_dirs' has {counted(len(log_dirs), 'path')}, and 'replicas' has"
            f" {counted(len(replicas), 'broker')}: expected one path for each broker"
        )
    return ""


def _log_dirs(row: PlanRow) -> tuple[str, ...]:
    return tuple(row.log_dirs) if row.log_dirs and any(each != ANY for each in row.log_dirs) else ()


def place(row: PartitionName | Entry, number: int) -> str:
    """Return the name of an entry in messages."""
    return f"partitions[{number}] ({display_name(row.topic)}-{row.partition})"


def _prefix(value: object, where: str) -> str:
    """Return the row's place and the valid part of its name, for example `partitions[0] (orders-3): `."""
    try:
        topic = display_name(msgspec.convert(value, _Topic).topic)
    except msgspec.ValidationError:
        return f"{where}: "
    try:
        return f"{where} ({topic}-{msgspec.convert(value, PartitionName).partition}): "
    except msgspec.ValidationError:
        return f"{where} ({topic}): "
