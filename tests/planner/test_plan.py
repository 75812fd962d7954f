import json
import sys
from pathlib import Path
from typing import Any

import pytest
from pyarrow.parquet import read_table

from common.plan_errors import PlanError
from controller.model.limits import PlanLimits
from controller.scheduling.limits import parse_limits
from planner.model.snapshot import Snapshot
from planner.model.step_table import schedule
from planner.plan import (
    Plan,
    json_lines,
    make_plan,
    moves_of,
    read_targets,
    write_plan,
)
from tests.planner.builders import cluster, partition

ENTRY = {"topic": "orders", "partition": 0, "replicas": [3, 4]}
ORDERS = [(("orders", 0), (3, 4)), (("orders", 1), (3, 5)), (("orders", 2), (1, 2))]


def written(path: Path, plan: object) -> Path:
    file = path / "plan.json"
    file.write_text(plan if isinstance(plan, str) else json.dumps(plan))
    return file


def orders(**fields: Any) -> Snapshot:
    return cluster(*(partition("orders", number, (1, 2)) for number in range(3)), **fields)


def planned(limits: str = "r=1,p=1", **fields: Any) -> Plan:
    snapshot = orders(**fields)
    return make_plan(moves_of(ORDERS, snapshot), snapshot, parse_limits(limits), 100, schedule)


def test_the_stock_tools_plan_is_read(tmp_path: Path) -> None:
    entry = ENTRY | {"log_dirs": ["any", "any"]}
    file = written(tmp_path, {"version": 1, "partitions": [entry]})
    assert read_targets(file) == [(("orders", 0), (3, 4))]


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ("{", ": not JSON: Expecting"),
        ([], ": not a plan: expected"),
        ({"partitions": [ENTRY, 7]}, ": partitions[1] is 7, expected an object"),
    ],
)
def test_a_bad_plan_is_refused_and_its_entry_named(tmp_path: Path, plan: object, message: str) -> None:
    file = written(tmp_path, plan)
    with pytest.raises(PlanError) as raised:
        read_targets(file)
    assert f"{file}{message}" in str(raised.value)


def test_a_plan_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"cannot read .*plan\.json: No such file"):
        read_targets(tmp_path / "plan.json")
    (tmp_path / "plan.json").write_bytes(b"\xff")
    with pytest.raises(PlanError, match=r"plan\.json: not JSON: byte 0 is not UTF-8 text"):
        read_targets(tmp_path / "plan.json")


@pytest.mark.parametrize(
    ("key", "target", "message"),
    [
        (("clicks", 0), (1,), "topic 'clicks' of the plan is not in the snapshot"),
        (("orders", 9), (1,), "partition orders-9 of the plan is not in the snapshot"),
        (("orders", 0), (1, 99), "broker 99, a target of orders-0, is not in the snapshot"),
    ],
)
def test_partitions_and_brokers_missing_in_the_snapshot_are_named(
    key: tuple[str, int], target: tuple[int, ...], message: str
) -> None:
    with pytest.raises(PlanError, match=message):
        moves_of([(key, target)], orders())


def test_repairs_go_first_and_the_rest_in_the_plans_order() -> None:
    snapshot = cluster(
        partition("orders", 0, (1, 2)),
        partition("orders", 1, (1, 2)),
        partition("orders", 2, (1, 2), isr=(1,)),
    )
    assert [move.partition for move in moves_of(ORDERS, snapshot)] == [2, 0, 1]


def test_every_step_is_a_line_of_json_wave_by_wave() -> None:
    lines = [json.loads(line) for line in json_lines(planned())]
    assert [(each["partition"], each["step"], each["wave"]) for each in lines] == [
        (0, 1, 0),
        (0, 2, 1),  # a pure drop, beside which another partition may start
        (1, 1, 1),
        (0, 3, 2),
        (1, 2, 2),
        (1, 3, 3),
    ]
    assert lines[0] == {
        "topic": "orders",
        "partition": 0,
        "step": 1,
        "replicas": [3, 1, 2],
        "adding": [3],
        "removing": [],
        "leader_movement": True,
        "wave": 0,
    }


def test_the_forecast_counts_the_remaining_work() -> None:
    forecast = planned().forecast
    assert (forecast.partitions, forecast.unchanged, forecast.waiting_partitions) == (3, 1, 0)
    assert (forecast.replica_movements, forecast.bytes, forecast.leader_movements) == (4, 4000, 2)


def test_partitions_that_do_not_reach_their_target_have_a_reason() -> None:
    (waiting,) = planned(dead={5}).forecast.waiting
    assert waiting["partition"] == 1
    assert waiting["reason"] == "offline: broker 5"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"leader": -1, "isr": ()}, "the partition has no leader"),
        ({"isr": ()}, "too few replicas would be in sync"),
    ],
)
def test_other_reasons_to_stop_short(fields: dict[str, Any], reason: str) -> None:
    snapshot = cluster(partition("orders", 0, (1, 2, 3), **fields))
    limits = PlanLimits(per_partition=1)
    plan = make_plan(moves_of([(("orders", 0), (1,))], snapshot), snapshot, limits, 100, schedule)
    assert [each["reason"] for each in plan.forecast.waiting] == [reason]


def test_a_broker_that_the_snapshot_lacks_is_offline() -> None:
    snapshot = cluster(partition("orders", 0, (9, 1), isr=(1,), leader=1))
    plan = make_plan(moves_of([(("orders", 0), (2, 1))], snapshot), snapshot, PlanLimits(), 100, schedule)
    assert plan.forecast.steps == 1
    assert not next(each for each in plan.forecast.brokers if each["broker"] == 9)["live"]


def test_a_topic_that_waits_for_its_deletion_is_refused() -> None:
    snapshot = cluster(partition("orders", 0, (1, 2), target=()))
    with pytest.raises(PlanError, match="topic 'orders' of the plan waits for its deletion"):
        moves_of([(("orders", 0), (2, 1))], snapshot)


def test_a_plan_without_work_is_a_plan() -> None:
    snapshot = orders()
    plan = make_plan([], snapshot, PlanLimits(), 100, schedule)
    assert (plan.forecast.steps, plan.forecast.waves, plan.forecast.seconds) == (0, 0, 0)


def test_all_is_written_and_an_earlier_plan_replaced(tmp_path: Path) -> None:
    plan = planned()
    for _ in range(2):
        write_plan(plan, tmp_path / "new" / "folder")
    folder = tmp_path / "new" / "folder"
    assert read_table(folder / "steps.parquet").num_rows == plan.forecast.steps
    assert read_table(folder / "waves.parquet").to_pylist() == [row._asdict() for row in plan.waves]
    assert json.loads((folder / "summary.json").read_text())["bytes"] == 4000
    assert (folder / "report.html").read_text().startswith("<!doctype html>")


def test_without_pyarrow_the_same_rows_are_json_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_plan(planned(), tmp_path / "with")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    write_plan(planned(), tmp_path / "without")
    for name in ("steps", "waves"):
        lines = (tmp_path / "without" / f"{name}.jsonl").read_text().splitlines()
        assert [json.loads(line) for line in lines] == read_table(
            tmp_path / "with" / f"{name}.parquet"
        ).to_pylist()
        assert not (tmp_path / "without" / f"{name}.parquet").exists()


def test_a_place_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PlanError, match="cannot write to"):
        write_plan(planned(), tmp_path / "file")
