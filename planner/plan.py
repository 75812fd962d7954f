"""Compute the steps of a plan, their waves, and a forecast, from the plan and a snapshot (docs/planner.md).

The plan has the format of `kafka-reassign-partitions --execute`. The scheduler is a parameter, so that this
module does not need Spark.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import NamedTuple

from common.json.text import parse
from common.plan_errors import Faults, PlanError
from controller.model.limits import PlanLimits
from controller.model.plan import read_plan
from controller.model.replicas import Replicas
from controller.scheduling.limits import by_letter
from controller.scheduling.steps import why_short
from planner.arrow_tables import write_parquet
from planner.model.forecast import NO_RATES, Forecast, WaveRow, forecast_of, wave_rows, written_to
from planner.model.snapshot import TOPIC_PARTITION, Snapshot
from planner.model.step_table import PLANNED, Move, Scheduler, StepTable, schedule_electing
from planner.model.step_table import schedule as schedule_moves
from planner.report.page import report
from planner.waves import Load, first_fit

Target = tuple[TOPIC_PARTITION, Replicas]

BANDWIDTH = 100_000_000
"""Bytes per second into, and out of, each broker, if nothing else is known."""

TABLES = ("steps.parquet", "waves.parquet", "steps.jsonl", "waves.jsonl")
"""The files of `write_plan` that depend on the installed packages."""


def read_targets(path: Path) -> list[Target]:
    """Return the partitions of a plan and their target replicas.

    Raises PlanError, which names an invalid entry.
    """
    try:
        entries = read_plan(parse(path.read_bytes()))
    except OSError as error:
        raise PlanError(f"cannot read {path}: {error.strerror}") from error
    except PlanError as error:
        raise PlanError(f"{path}: {error}", error.faults) from error
    return [((topic, partition), replicas) for topic, partition, replicas, _ in entries]


def moves_of(targets: Sequence[Target], snapshot: Snapshot) -> list[Move]:
    """Return the moves, repairs first, then in the order of the plan.

    Raises PlanError for what is not in the snapshot.
    """
    topics = {topic for topic, _ in snapshot.partitions}
    moves, faults = [], Faults()
    for number, (key, target) in enumerate(targets):
        if fault := _fault(key, target, snapshot, topics):
            faults.add(number, str, fault)
        else:
            moves.append(_move(key, target, snapshot))
    faults.check()
    return repairs_first(moves, {broker.id for broker in snapshot.brokers.values() if broker.live})


def repairs_first(moves: Iterable[Move], live: Set[int]) -> list[Move]:
    """Return the moves of partitions that lack a replica, then the others, each in their order."""
    return sorted(moves, key=lambda move: len(move.isr) == len(move.current) and live >= {*move.current})


def _fault(key: TOPIC_PARTITION, target: Replicas, snapshot: Snapshot, topics: Collection[str]) -> str:
    """Return what the snapshot lacks of a move; empty if it has all."""
    partition = snapshot.partitions.get(key)
    if partition is not None and partition.deleting:
        return f"topic '{key[0]}' of the plan waits for its deletion"
    if partition is None:
        what = f"partition {_name(key)}" if key[0] in topics else f"topic '{key[0]}'"
        return f"{what} of the plan is not in the snapshot"
    for broker in target:
        if broker not in snapshot.brokers:
            return f"broker {broker}, a target of {_name(key)}, is not in the snapshot"
    return ""


def _move(key: TOPIC_PARTITION, target: Replicas, snapshot: Snapshot) -> Move:
    partition = snapshot.partitions[key]
    return Move(
        *key,
        partition.replicas,
        target,
        partition.isr,
        partition.leader,
        partition.min_isr,
        partition.size,
    )


def _name(key: TOPIC_PARTITION) -> str:
    return f"{key[0]}-{key[1]}"


class Plan(NamedTuple):
    """Steps with the columns PLANNED by waves, the work of each broker in each wave, and the forecast."""

    steps: StepTable
    waves: Sequence[WaveRow]
    forecast: Forecast


def make_plan(
    moves: Sequence[Move],
    snapshot: Snapshot,
    limits: PlanLimits,
    bandwidth: int,
    scheduler: Scheduler,
    rates: Mapping[int, int] = NO_RATES,
) -> Plan:
    """Compute the plan. `bandwidth` is the rate of each broker, in each direction, in bytes per second.

    `rates` has those of brokers that have another one.
    """
    live = {broker.id for broker in snapshot.brokers.values() if broker.live}
    used = {broker for move in moves for broker in (*move.current, *move.target)}
    schedule = scheduler(moves, used - live, limits.step)
    steps = schedule.steps.in_waves(moves, first_fit(_loads(schedule.steps), limits))
    waves = list(wave_rows(steps, bandwidth, rates, written_to(moves, snapshot)))
    waiting = [_waiting(moves[number], reached, live) for number, reached in schedule.waiting]
    forecast = forecast_of(moves, snapshot, by_letter(limits), bandwidth, steps, waves, waiting, rates)
    return Plan(steps, waves, forecast)


def forecast(
    targets: Iterable[Target],
    cluster: Snapshot,
    limits: PlanLimits | None = None,
    bandwidth: int | None = None,
    rates: Mapping[int, int] = NO_RATES,
    *,
    elects: bool = False,
) -> Forecast:
    """Compute the forecast. `rates` has those of brokers with another one. Raises PlanError.

    `elects`: the job elects the preferred leaders, which limit L counts.
    """
    moves = moves_of(list(targets), cluster)
    rate, limits = bandwidth or BANDWIDTH, limits or PlanLimits()
    scheduler = schedule_electing if elects else schedule_moves
    return make_plan(moves, cluster, limits, rate, scheduler, rates).forecast


def _loads(steps: StepTable) -> Iterator[Load]:
    for number, adding, source, leader in steps.rows("id", "adding", "source", "leader"):
        yield Load(number, adding, source, leader != source)


def _waiting(move: Move, reached: Replicas, live: Collection[int]) -> dict[str, object]:
    reason = why_short(move.target, live=live, leader=move.leader)
    return {"topic": move.topic, "partition": move.partition, "replicas": list(reached), "reason": reason}


JSON_COLUMNS = PLANNED[:8]


def json_lines(plan: Plan) -> Iterator[str]:
    """Yield each step as a JSON object, in the order of waves."""
    return _json_lines(plan.steps, JSON_COLUMNS)


def _json_lines(steps: StepTable, names: Sequence[str]) -> Iterator[str]:
    for row in steps.rows(*names):
        yield json.dumps(dict(zip(names, row, strict=True)))


def write_plan(plan: Plan, directory: Path) -> None:
    """Write steps, waves, `summary.json` and `report.html`; existing files are replaced.

    Steps and waves are Parquet files, or JSON lines if pyarrow is not installed. Raises PlanError.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for old in TABLES:
            (directory / old).unlink(missing_ok=True)
        try:
            write_parquet(plan.steps, plan.waves, directory)
        except ModuleNotFoundError:
            _write_json_lines(plan, directory)
        summary = json.dumps(plan.forecast._asdict(), indent=2)
        (directory / "summary.json").write_text(summary + "\n", encoding="utf-8")
        (directory / "report.html").write_text(report(plan.forecast, plan.waves), encoding="utf-8")
    except OSError as error:
        raise PlanError(f"cannot write to {directory}: {error.strerror or error}") from error


def _write_json_lines(plan: Plan, directory: Path) -> None:
    with (directory / "steps.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in _json_lines(plan.steps, PLANNED))
    with (directory / "waves.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(row._asdict())}\n" for row in plan.waves)
