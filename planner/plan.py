"""Compute the steps of a plan, their waves, and a forecast, from the plan and a snapshot (docs/planner.md).

The plan has the format of `kafka-reassign-partitions --execute`. The scheduler is a parameter, so that this module
does not need Spark.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from common.json_text import parse
from common.plan_errors import PlanError
from controller.model.plan import read_plan
from controller.scheduling.plan_limits import PlanLimits
from controller.scheduling.steps import NO_LEADER, Replicas
from planner.forecast import Forecast, forecast_of, wave_table
from planner.report.page import report
from planner.schedule import Move, Scheduler
from planner.snapshot import TOPIC_PARTITION, Snapshot
from planner.waves import Load, first_fit

if TYPE_CHECKING:
    import pyarrow as pa

Target = tuple[TOPIC_PARTITION, Replicas]


def read_targets(path: Path) -> list[Target]:
    """Return the partitions of a plan and their target replicas. Raises PlanError, which names an invalid entry."""
    try:
        entries = read_plan(parse(path.read_bytes()))
    except OSError as error:
        raise PlanError(f"cannot read {path}: {error.strerror}") from error
    except PlanError as error:
        raise PlanError(f"{path}: {error}") from error
    return [((topic, partition), replicas) for topic, partition, replicas in entries]


def moves_of(targets: Sequence[Target], snapshot: Snapshot) -> list[Move]:
    """Return the moves, repairs first, then in the order of the plan. Raises PlanError for what is not in the snapshot."""
    topics = {topic for topic, _ in snapshot.partitions}
    moves = [_move(key, target, snapshot, topics) for key, target in targets]
    return repairs_first(moves, {broker.id for broker in snapshot.brokers.values() if broker.live})


def repairs_first(moves: Iterable[Move], live: Set[int]) -> list[Move]:
    """Return the moves of partitions that lack a replica, then the others, each in their order."""
    return sorted(moves, key=lambda move: len(move.isr) == len(move.current) and live >= {*move.current})


def _move(key: TOPIC_PARTITION, target: Replicas, snapshot: Snapshot, topics: Collection[str]) -> Move:
    partition = snapshot.partitions.get(key)
    if partition is None:
        what = f"partition {_name(key)}" if key[0] in topics else f"topic '{key[0]}'"
        raise PlanError(f"{what} of the plan is not in the snapshot")
    for broker in target:
        if broker not in snapshot.brokers:
            raise PlanError(f"broker {broker}, a target of {_name(key)}, is not in the snapshot")
    return Move(
        *key,
        partition.replicas,
        target,
        partition.isr,
        partition.leader,
        partition.min_isr,
        partition.bytes,
    )


def _name(key: TOPIC_PARTITION) -> str:
    return f"{key[0]}-{key[1]}"


class Plan(NamedTuple):
    """Arrow tables of steps and of waves, in the order of waves, and the forecast."""

    steps: "pa.Table"
    waves: "pa.Table"
    forecast: Forecast


def make_plan(
    moves: Sequence[Move], snapshot: Snapshot, limits: PlanLimits, bandwidth: int, scheduler: Scheduler
) -> Plan:
    """Compute the plan. `bandwidth` is the rate of each broker, in each direction, in bytes per second."""
    live = {broker.id for broker in snapshot.brokers.values() if broker.live}
    used = {broker for move in moves for broker in (*move.current, *move.target)}
    schedule = scheduler(moves, used - live, limits.step)
    steps = _in_waves(schedule.steps, moves, limits)
    waves = wave_table(steps, bandwidth)
    waiting = [_waiting(moves[row["id"]], row["current"], live) for row in schedule.waiting.to_pylist()]
    forecast = forecast_of(moves, snapshot, limits.by_letter(), bandwidth, steps, waves, waiting)
    return Plan(steps, waves, forecast)


def _in_waves(steps: "pa.Table", moves: Sequence[Move], limits: PlanLimits) -> "pa.Table":
    """Add topics, sizes and waves to the steps, and sort them by wave."""
    import pyarrow as pa
    import pyarrow.compute as pc

    waves = first_fit(_loads(steps), limits)
    topics = pa.array([move.topic for move in moves], pa.string()).dictionary_encode()
    partitions = pa.array([move.partition for move in moves], pa.int32())
    sizes = pa.array([move.bytes for move in moves], pa.int64())
    ids = steps["id"]
    columns = {
        "topic": topics.take(ids),
        "partition": partitions.take(ids),
        "step": steps["step"],
        "replicas": steps["replicas"],
        "adding": steps["adding"],
        "removing": steps["removing"],
        "leader_movement": pc.not_equal(steps["source"], steps["leader"]),
        "wave": pa.array(waves, pa.int32()),
        "source": steps["source"],
        "leader": steps["leader"],
        "replica_bytes": sizes.take(ids),
        "id": ids,
    }
    return pa.table(columns).sort_by([("wave", "ascending"), ("id", "ascending")]).drop_columns("id")


def _loads(steps: "pa.Table") -> Iterator[Load]:
    import pyarrow.compute as pc

    added = pc.list_flatten(steps["adding"]).to_pylist()
    amounts = pc.list_value_length(steps["adding"]).to_pylist()
    sources, leaders = steps["source"].to_pylist(), steps["leader"].to_pylist()
    first = 0
    for id_, amount, source, leader in zip(steps["id"].to_pylist(), amounts, sources, leaders, strict=True):
        yield Load(id_, added[first : first + amount], source, leader != source)
        first += amount


def _waiting(move: Move, reached: Sequence[int], live: Collection[int]) -> dict[str, object]:
    offline = [broker for broker in move.target if broker not in reached and broker not in live]
    if offline:
        reason = "offline: " + ", ".join(f"broker {broker}" for broker in offline)
    elif move.leader == NO_LEADER:
        reason = "the partition has no leader"
    else:
        reason = "too few replicas would be in sync"
    return {"topic": move.topic, "partition": move.partition, "replicas": list(reached), "reason": reason}


JSON_COLUMNS = ["topic", "partition", "step", "replicas", "adding", "removing", "leader_movement", "wave"]


def json_lines(plan: Plan) -> Iterator[str]:
    """Yield each step as a JSON object, in the order of waves."""
    for batch in plan.steps.select(JSON_COLUMNS).to_batches(max_chunksize=10_000):
        yield from map(json.dumps, batch.to_pylist())


def write_plan(plan: Plan, directory: Path) -> None:
    """Write `steps.parquet`, `waves.parquet`, `summary.json` and `report.html`; existing files are replaced."""
    from pyarrow.parquet import write_table

    try:
        directory.mkdir(parents=True, exist_ok=True)
        write_table(plan.steps, directory / "steps.parquet")
        write_table(plan.waves, directory / "waves.parquet")
        summary = json.dumps(plan.forecast._asdict(), indent=2)
        (directory / "summary.json").write_text(summary + "\n", encoding="utf-8")
        (directory / "report.html").write_text(report(plan.forecast, plan.waves), encoding="utf-8")
    except OSError as error:
        raise PlanError(f"cannot write to {directory}: {error.strerror or error}") from error
