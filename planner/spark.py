"""Compute the steps of millions of partitions with Spark SQL, without Python workers (KIP-435).

The rules are SQL, in `planner.expressions`. Whole schedules have two ways: a closed form for partitions that nothing can
hold up, and for the others the next step, again and again.
Nothing outside of this file knows pyspark, which is imported when it is needed.
"""

import importlib.util
import os
import socket
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from common.plan_errors import PlanError
from controller.scheduling.steps import UNLIMITED
from planner.expressions import AFTER, CALM, CLOSED_FORM, NEXT_STEP, NO_LEADER_WAITS, SWAPS, Stage
from planner.java import MIN_VERSION, java_for_spark, locate
from planner.schedule import STEPS, Move, Schedule, Scheduler

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# The steps compile to methods that Java would otherwise only interpret, which takes four times as long.
JAVA_OPTIONS = "-XX:-DontCompileHugeMethods"

SETTINGS = {
    "spark.driver.extraJavaOptions": JAVA_OPTIONS,
    "spark.executor.extraJavaOptions": JAVA_OPTIONS,
    "spark.driver.memory": "4g",
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": "8",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
"""Settings for a Spark session that reassignd starts."""

LOCAL = "local[*]"
CONNECT = "sc://"
CONNECT_PORT = 15002
REACH_SECONDS = 5.0

MOVES = ("id", "current", "target", "isr", "leader", "min_isr", "offline", "max_step")


def moves_frame(
    spark: "SparkSession", moves: Sequence[Move], offline: Collection[int], limit: int = UNLIMITED
) -> "DataFrame":
    """Return a data frame with the columns `MOVES`; `id` numbers the moves from 0."""
    import pyarrow as pa
    from pyspark.sql import functions as f

    ids = pa.list_(pa.int32())
    table = pa.table(
        {
            "id": pa.array(range(len(moves)), pa.int64()),
            "current": pa.array([each.current for each in moves], ids),
            "target": pa.array([each.target for each in moves], ids),
            "isr": pa.array([each.isr for each in moves], ids),
            "leader": pa.array([each.leader for each in moves], pa.int32()),
            "min_isr": pa.array([each.min_isr for each in moves], pa.int32()),
        }
    )
    brokers = ",".join(map(str, sorted(offline)))
    return spark.createDataFrame(table).withColumns(
        {"offline": f.expr(f"cast(array({brokers}) as array<int>)"), "max_step": f.lit(limit)}
    )


def next_steps(moves: "DataFrame") -> "DataFrame":
    """Return a data frame with the columns `MOVES` and `next`."""
    return _through(NEXT_STEP, moves).select(*MOVES, "next")


def schedule(moves: "DataFrame") -> Schedule:
    """Compute all steps of the partitions that have not reached their target; tables are sorted by `id` and `step`."""
    import pyarrow as pa

    moves = moves.where("current != target")
    calm = _closed_form(moves.where(CALM)).toArrow()
    odd, waiting = _iterated(moves.where(f"not ({CALM})"))
    steps = pa.concat_tables([calm, *(each.toArrow() for each in odd)])
    stuck = pa.concat_tables([each.toArrow() for each in waiting])
    return Schedule(steps.sort_by([("id", "ascending"), ("step", "ascending")]), stuck.sort_by("id"))


def _iterated(moves: "DataFrame") -> tuple[list["DataFrame"], list["DataFrame"]]:
    """Yield for each step number the rows of that step, and the rows of partitions that wait after it."""
    state = moves.selectExpr(*MOVES, "0 as step")
    taken: list[DataFrame] = []
    stuck: list[DataFrame] = []
    while True:
        # The checkpoint keeps Spark from computing the steps before once more for each step.
        state = (
            _through((*NEXT_STEP, NO_LEADER_WAITS), state).select(*MOVES, "step", "next").localCheckpoint()
        )
        stuck.append(state.where("next is null").select("id", "current"))
        state = _through(AFTER, state.where("next is not null"))
        if state.isEmpty():
            return taken, stuck
        taken.append(state.selectExpr("id", "step + 1 as step", "next as replicas", *STEPS[3:]))
        state = state.selectExpr(*_as_is(MOVES, current="next", isr="in_sync"), "step + 1 as step")
        state = state.where("current != target")


def _as_is(columns: Sequence[str], **changed: str) -> list[str]:
    return [f"{changed.get(name, name)} as {name}" for name in columns]


def _closed_form(moves: "DataFrame") -> "DataFrame":
    rows = _through(SWAPS, moves).selectExpr("*", "explode(sequence(1, n)) as step")
    return _through(CLOSED_FORM, rows).select(*STEPS)


def _through(stages: Sequence[Stage], rows: "DataFrame") -> "DataFrame":
    from pyspark.sql import functions as f

    for stage in stages:
        rows = rows.withColumns({name: f.expr(sql) for name, sql in stage.items()})
    return rows


def schedule_of(spark: "SparkSession") -> Scheduler:
    """Return a `Scheduler` that uses the session."""

    def schedule_moves(moves: Sequence[Move], offline: Collection[int], limit: int) -> Schedule:
        return schedule(moves_frame(spark, moves, offline, limit))

    return schedule_moves


def obstacle(url: str) -> str | None:
    """Return what is not installed but required for a session at this URL, or None. Does not start anything."""
    packages = all(importlib.util.find_spec(name) for name in ("pyspark", "pyarrow"))
    if packages and (url.startswith(CONNECT) or locate() is not None):
        return None
    return f"install reassignd[spark] and Java {MIN_VERSION} or later"


def submitted() -> bool:
    """Whether this process was started by spark-submit."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


@contextmanager
def running(master: str | None = None, remote: str | None = None) -> Iterator["SparkSession"]:
    """Open a session and stop it at the end. Raises like `session`, and PlanError if Spark fails."""
    spark = session(master, remote)
    from pyspark.errors import PySparkException

    try:
        yield spark
    except PySparkException as error:
        raise PlanError(f"Spark gave up: {_first_line(error)}") from error
    finally:
        spark.stop()


def session(master: str | None = None, remote: str | None = None) -> "SparkSession":
    """Return a session at a Spark Connect server (`remote`), at a master, or in this process on all cores.

    Under spark-submit the settings given there count. Raises PlanError when something is missing or out of reach.
    """
    try:
        from pyspark.errors import PySparkException
    except ImportError as error:
        raise PlanError("PySpark is not installed: pip install 'pyspark>=4.0'") from error
    try:
        return _classic(master or LOCAL) if remote is None else _connect(remote)
    except PySparkException as error:
        raise PlanError(f"no Spark at {remote or master or LOCAL}: {_first_line(error)}") from error


def _classic(master: str) -> "SparkSession":
    from py4j.protocol import Py4JError
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("reassignd plan")
    if submitted():
        return builder.getOrCreate()
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        with java_for_spark():
            return builder.master(master).getOrCreate()
    except Py4JError as error:
        raise PlanError(f"no Spark at {master}: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def _connect(url: str) -> "SparkSession":
    from pyspark.sql import SparkSession

    _reach(url)
    try:
        connected = SparkSession.builder.remote(url).getOrCreate()
    except ImportError as error:
        raise PlanError(f"--remote needs more packages: pip install 'pyspark[connect]' ({error})") from error
    connected.range(1).isEmpty()
    return connected


def _reach(url: str) -> None:
    """Raises PlanError when nobody listens there; Spark's client would try for minutes."""
    parts = urlsplit(url)
    try:
        if parts.scheme != "sc" or parts.hostname is None:
            raise PlanError(f"--remote {url}: expected sc://HOST:PORT")
        socket.create_connection((parts.hostname, parts.port or CONNECT_PORT), REACH_SECONDS).close()
    except (OSError, ValueError) as error:
        raise PlanError(f"no Spark at {url}: {error}") from error
