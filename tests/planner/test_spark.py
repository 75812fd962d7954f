"""The Spark form of the rules against the Python form, on the same random partitions."""

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pyarrow as pa
import pytest
from pyarrow.parquet import read_table

from common.plan_errors import PlanError
from controller.model.limits import UNLIMITED
from controller.scheduling.steps import next_step
from planner.model.snapshot import write_snapshot
from planner.model.step_table import SCHEDULED, Move, Schedule, schedule
from planner.spark import (
    MOVES,
    moves_frame,
    next_steps,
    obstacle,
    running,
    schedule_of,
    session,
    shares_files,
)
from tests.planner.builders import cluster, partition, random_move

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BROKERS = range(1, 13)
NEEDS = "install reassignd[spark] and Java 17 or later"
LIMITS = (1, 2, 3, UNLIMITED)

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings(
        "ignore::ResourceWarning"
    ),  # PySpark leaves its socket to the JVM to be collected
]


@pytest.fixture(scope="module")
def spark() -> Iterator["SparkSession"]:
    with running("local[2]") as spark:
        yield spark


def moves(count: int, seed: int) -> list[Move]:
    rng = random.Random(seed)
    return [random_move(rng, BROKERS) for _ in range(count)]


def said(told: Schedule) -> list[object]:
    return [[[*map(plain, row)] for row in told.steps.rows(*SCHEDULED)], told.waiting]


def plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


@pytest.mark.tour
def test_the_next_step_is_that_of_the_python_form(spark: "SparkSession") -> None:
    rng = random.Random(1)
    rows = moves(4000, seed=2)
    offline = [tuple(b for b in BROKERS if rng.random() < 0.15) for _ in rows]
    limits = [rng.choice(LIMITS) for _ in rows]
    own = {"id": range(len(rows)), "offline": pa.array(offline, pa.list_(pa.int32())), "max_step": limits}
    frame = (
        moves_frame(spark, rows, ())
        .drop("offline", "max_step")
        .join(spark.createDataFrame(pa.table(own)), "id")
    )
    got = next_steps(frame.select(*MOVES)).toArrow().sort_by("id")["next"].to_pylist()
    for move, gone, limit, following in zip(rows, offline, limits, got, strict=True):
        assert (None if following is None else tuple(following)) == next_step(
            move.current,
            move.target,
            isr=move.isr,
            live=set(BROKERS) - {*gone},
            leader=move.leader,
            original=move.original or move.current,
            min_isr=move.min_isr,
            limit=limit,
        )


@pytest.mark.parametrize("limit", LIMITS)
def test_whole_schedules_are_those_of_the_python_form(spark: "SparkSession", limit: int) -> None:
    rows = moves(1000, seed=limit)
    rows += [move._replace(isr=move.current, leader=move.current[-1], min_isr=1) for move in rows]
    assert said(schedule_of(spark)(rows, {2, 5}, limit)) == said(schedule(rows, {2, 5}, limit))


def test_the_closed_form_has_the_same_steps_as_the_iteration(spark: "SparkSession") -> None:
    rows = [
        move._replace(isr=move.current, leader=move.current[0], min_isr=1) for move in moves(2000, seed=3)
    ]
    for limit in LIMITS:
        assert said(schedule_of(spark)(rows, (), limit)) == said(schedule(rows, (), limit))


def test_no_moves_are_no_steps(spark: "SparkSession") -> None:
    steps, waiting = schedule_of(spark)([], (), 1)
    assert (len(steps), waiting) == (0, [])


@pytest.mark.parametrize(
    ("url", "message"),
    [("sc://127.0.0.1:1", "no Spark at sc://127.0.0.1:1: "), ("http://somewhere", "expected sc://HOST:PORT")],
)
def test_a_connect_server_out_of_reach_is_named(url: str, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        session(remote=url)


def test_pyspark_is_imported_only_when_it_is_needed() -> None:
    code = "import sys, planner.spark, reassignd.commands.plan; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0  # noqa: S603 - our own


def test_a_failure_of_spark_is_one_line_and_the_session_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark.errors import PySparkException

    stopped = Mock()
    monkeypatch.setattr("planner.spark.session", lambda *_: stopped)
    with pytest.raises(PlanError, match=r"^Spark gave up: no space$"), running():
        raise PySparkException("no space\n\tat a.b.C")
    stopped.stop.assert_called_once()


def test_without_pyspark_the_error_names_the_package_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.errors", None)
    with pytest.raises(PlanError, match="plan needs PySpark: "):
        session()


def test_missing_packages_are_found_without_starting_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    assert obstacle("local") is None
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    monkeypatch.setattr("planner.spark._wheel", lambda: None)
    assert (obstacle("local"), obstacle("sc://there")) == (NEEDS, None)
    monkeypatch.setitem(sys.modules, "pyspark", None)
    assert obstacle("sc://there") == NEEDS


def test_a_connect_server_computes_the_same_plan_as_python(connect_server: str, tmp_path: Path) -> None:
    write_snapshot(cluster(*(partition("orders", n, (1, 2, 3)) for n in range(20))), tmp_path / "snapshot")
    rows = [{"topic": "orders", "partition": n, "replicas": [4, 5, 1 + n % 3]} for n in range(20)]
    (tmp_path / "plan").write_text(json.dumps({"partitions": rows}))
    files = ["--reassignment-json-file", f"{tmp_path}/plan", "--snapshot", f"{tmp_path}/snapshot"]
    plans = []
    for folder, where in (("inline", []), ("remote", ["--remote", connect_server])):
        options = [*files, "--limits", "r=1,p=4", "--output", f"{tmp_path}/{folder}", *where]
        subprocess.run([sys.executable, "-m", "reassignd", "plan", *options], check=True)  # noqa: S603 - our own
        plans.append(read_table(tmp_path / folder / "steps.parquet").to_pylist())
    assert plans[0] == plans[1]


@pytest.mark.parametrize(("master", "local"), [("local[2]", True), ("spark://there:7077", False)])
def test_only_a_local_session_reads_the_same_files(master: str, local: bool) -> None:
    assert shares_files(Mock(sparkContext=Mock(master=master))) == local
    assert not shares_files(Mock(spec=[]))
