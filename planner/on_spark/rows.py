"""The rows of a snapshot as a data frame: parsed and validated by SQL, from JSON lines or Parquet.

The checks are those of `planner.snapshot`. They are strict: a row that is unusual is not valid here, although it may be valid
there. So the reader in Python has the last word, and writes the message.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from planner.snapshot import is_parquet
from planner.spark import shares_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

INTEGERS = {"tinyint", "smallint", "int", "bigint"}

TYPES: Mapping[str, str] = {
    "kind": "string",
    "topic": "string",
    "partition": "int",
    "replicas": "array<int>",
    "isr": "array<int>",
    "leader": "int",
    "bytes": "bigint",
    "min_isr": "int",
    "target": "array<int>",
}
"""The columns of a partition that are read, and their SQL types."""

UNUSUAL = "_unusual"
"""Column of JSON text that does not have these types."""

_SCHEMA = ", ".join(f"`{name}` {kind}" for name, kind in {**TYPES, UNUSUAL: "string"}.items())
_OPTIONS = (
    f"map('mode', 'PERMISSIVE', 'columnNameOfCorruptRecord', '{UNUSUAL}', 'allowSingleQuotes', 'false')"
)

_FLAT = r"""value rlike '^\\s*\\{[^{}]*\\}\\s*$' and value rlike '"topic"\\s*:\\s*"' and not contains(value, '\uFFFD')"""
"""One object without nested ones, whose topic is a text, in valid UTF-8. Spark would also take a number for a text."""


def _distinct_ids(column: str) -> str:
    """SQL: a list of different broker ids."""
    return f"forall({column}, id -> id >= 0) and size(array_distinct({column})) = size({column})"


_VALID = " and ".join(
    [
        "kind = 'partition'",
        "topic != ''",
        "partition >= 0",
        "size(replicas) > 0",
        _distinct_ids("replicas"),
        _distinct_ids("isr"),
        "leader >= -1",
        "coalesce(bytes, 0) >= 0",
        "coalesce(min_isr, 1) >= 1",
        # That of a topic that waits for its deletion is empty: Python reads such a cluster.
        f"(target is null or (size(target) > 0 and {_distinct_ids('target')}))",
    ]
)

COLUMNS = ("topic", "partition", "replicas", "in_isr", "bytes", "min_isr", "moving", "valid", "other")
"""Of the result. `other` is the JSON text of a row that is not a partition; then the other columns have no meaning."""


class UnusualSnapshotError(Exception):
    """The snapshot is not valid, or only the reader in Python can tell."""


def snapshot_rows(spark: "SparkSession", path: Path) -> "DataFrame":
    """Return the rows of a snapshot file with the columns `COLUMNS`. Raises UnusualSnapshotError, OSError.

    Spark reads the file itself if it runs on this machine. Otherwise the content is sent.
    """
    return _of_parquet(spark, path) if is_parquet(path) else _of_json(spark, path)


def _of_json(spark: "SparkSession", path: Path) -> "DataFrame":
    lines = spark.read.text(str(path)) if shares_files(spark) else _sent_lines(spark, path)
    rows = lines.where(r"value rlike '\\S'")
    rows = rows.selectExpr("value", f"from_json(value, '{_SCHEMA}', {_OPTIONS}) as row")
    return _selected(rows.selectExpr("value", "row.*", f"{_FLAT} and row.{UNUSUAL} is null as usual"))


def _sent_lines(spark: "SparkSession", path: Path) -> "DataFrame":
    import pyarrow as pa

    try:
        return spark.createDataFrame(pa.table({"value": path.read_text("utf-8").split("\n")}))
    except UnicodeDecodeError as error:
        raise UnusualSnapshotError(str(error)) from error


def _of_parquet(spark: "SparkSession", path: Path) -> "DataFrame":
    rows = spark.read.parquet(str(path)) if shares_files(spark) else _sent_table(spark, path)
    present = dict(rows.dtypes)
    for name, kind in TYPES.items():
        if present.get(name, kind) not in _compatible(kind):
            raise UnusualSnapshotError(f"column {name} has the type {present[name]}")
    typed = (
        f"try_cast({name if name in present else 'null'} as {kind}) as {name}" for name, kind in TYPES.items()
    )
    return _selected(rows.selectExpr(*typed, "to_json(struct(*)) as value", "true as usual"))


def _sent_table(spark: "SparkSession", path: Path) -> "DataFrame":
    from pyarrow import ArrowException
    from pyarrow.parquet import read_table

    try:
        return spark.createDataFrame(read_table(path))
    except ArrowException as error:
        raise UnusualSnapshotError(str(error)) from error


def _compatible(kind: str) -> set[str]:
    """Return the types whose values can be cast to this one: those out of range become null."""
    return {kind, *(kind.replace("bigint", "int").replace("int", each) for each in INTEGERS)}


def _selected(rows: "DataFrame") -> "DataFrame":
    return rows.selectExpr(
        "topic",
        "partition",
        "replicas",
        "transform(replicas, id -> array_contains(isr, id)) as in_isr",
        "coalesce(bytes, 0) as bytes",
        "coalesce(min_isr, 1) as min_isr",
        "target is not null as moving",
        f"coalesce(usual and {_VALID}, false) as valid",
        "if(kind = 'partition', null, value) as other",
    )
