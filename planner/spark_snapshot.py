"""Snapshots that Spark reads: parsed and validated by SQL, from JSON lines or Parquet, into columns of numpy.

The checks are those of `planner.model.snapshot`. They are strict: a row that is unusual is not valid here,
although it may be valid there. So the reader in Python has the last word, and writes the message.

Spark parses, validates and counts, without Python workers. The driver gets the topics with their number of
partitions, and of each partition its row, leader, replicas and which of them are in the ISR, their sizes, and
min.insync.replicas: 28 bytes for the partition and 13 for each replica. The row follows from the topics, so
the order in which Spark delivers partitions does not matter.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from common.plan_errors import PlanError
from planner.model.snapshot import LOAD_COLUMNS, Broker, Snapshot, is_parquet, parse_snapshot
from planner.proposals.problem.arrays import Ints, Rates
from planner.proposals.problem.table import Columns
from planner.spark import shares_files

if TYPE_CHECKING:
    import pyarrow as pa
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
    "sizes": "array<bigint>",
    "log_dirs": "array<string>",
    "tiered": "boolean",
    "failed": "array<int>",
    **dict.fromkeys(LOAD_COLUMNS, "double"),
}
"""The columns of a partition that are read, and their SQL types."""

UNUSUAL = "_unusual"
"""Column of JSON text that does not have these types."""

_SCHEMA = ", ".join(f"`{name}` {kind}" for name, kind in {**TYPES, UNUSUAL: "string"}.items())
_OPTIONS = (
    f"map('mode', 'PERMISSIVE', 'columnNameOfCorruptRecord', '{UNUSUAL}', 'allowSingleQuotes', 'false')"
)

_FLAT = (
    r"""value rlike '^\\s*\\{[^{}]*\\}\\s*$' and value rlike '"topic"\\s*:\\s*"'"""
    r""" and not contains(value, '\uFFFD')"""
)
"""One object without nested ones, whose topic is a text, in valid UTF-8. Spark would also take a number for a
text."""


_RATES = (
    f"if(coalesce({', '.join(f'`{name}`' for name in LOAD_COLUMNS)}) is null, null,"
    f" array({', '.join(f'`{name}`' for name in LOAD_COLUMNS)})) as rates"
)


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
        "coalesce(size(sizes), size(replicas)) = size(replicas)",
        "coalesce(size(log_dirs), size(replicas)) = size(replicas)",
        "forall(coalesce(sizes, array()), each -> coalesce(each, 0) >= 0)",
        "coalesce(min_isr, 1) >= 1",
        # Spark takes a NaN for the largest number.
        *(f"coalesce(`{name}`, 0) >= 0 and coalesce(`{name}`, 0) < double('inf')" for name in LOAD_COLUMNS),
        # Python reads a cluster with failed directories, too.
        "(failed is null or size(failed) = 0)",
        # That of a topic that waits for its deletion is empty: Python reads such a cluster.
        f"(target is null or (size(target) > 0 and {_distinct_ids('target')}))",
    ]
)

COLUMNS = (
    "topic",
    "partition",
    "replicas",
    "in_isr",
    "leader",
    "bytes",
    "sizes",
    "min_isr",
    "tiered",
    "moving",
    "rates",
    "valid",
    "other",
)
"""Of the result. `other` is the JSON text of a row that is not a partition; then the other columns have no
meaning."""


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
        f"try_cast({f'`{name}`' if name in present else 'null'} as {kind}) as `{name}`"
        for name, kind in TYPES.items()
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
        "leader",
        "coalesce(bytes, array_max(sizes), 0) as bytes",
        "coalesce(transform(sizes, each -> coalesce(each, -1L)), transform(replicas, id -> -1L)) as sizes",
        "coalesce(min_isr, 1) as min_isr",
        "coalesce(tiered, false) as tiered",
        "target is not null as moving",
        _RATES,
        f"coalesce(usual and {_VALID}, false) as valid",
        "if(kind = 'partition', null, value) as other",
    )


MOST_OTHERS = 100_000
"""Most rows that are not partitions: a cluster and its brokers."""

TOPICS = """
    select topic, count(*) as partitions, max(partition) as highest, bool_and(valid) as valid
    from {rows} where other is null group by topic
"""
OTHERS = "select other from {rows} where other is not null limit {most}"
PARTITIONS = """
    select /*+ broadcast(topics) */ first + partition as row, replicas, in_isr, leader, bytes, sizes, min_isr,
        tiered, moving, rates
    from {rows} join {topics} as topics using (topic) where other is null
"""


class Cluster(NamedTuple):
    """A snapshot whose partitions are columns."""

    brokers: Mapping[int, Broker]
    cluster_id: str | None
    columns: Columns


def read_cluster(spark: "SparkSession", path: Path) -> Cluster:
    """Read a snapshot file. Raises UnusualSnapshotError if it is not valid or has holes; OSError."""
    rows = snapshot_rows(spark, path).persist()
    try:
        topics = _topics(spark, rows)
        head = _head(spark.sql(OTHERS, rows=rows, most=MOST_OTHERS + 1).toArrow())
        return Cluster(head.brokers, head.cluster_id, _columns(spark, rows, topics))
    finally:
        rows.unpersist()


def _head(others: "pa.Table") -> Snapshot:
    """Return the brokers and the id of the cluster, read from the JSON text of their rows."""
    if others.num_rows > MOST_OTHERS:
        raise UnusualSnapshotError(f"more than {MOST_OTHERS} rows are not partitions")
    try:
        head = parse_snapshot("the snapshot", (text.encode() for text in others["other"].to_pylist()))
    except PlanError as error:
        raise UnusualSnapshotError(str(error)) from error
    if head.partitions:
        raise UnusualSnapshotError("a row is not as it seems")
    return head


def _topics(spark: "SparkSession", rows: "DataFrame") -> "pa.Table":
    """Return the name of each topic and its number of partitions, in order of name."""
    topics = spark.sql(TOPICS, rows=rows).toArrow().sort_by("topic")
    if not all(topics["valid"].to_pylist()):
        raise UnusualSnapshotError("a partition is not valid")
    if topics["partitions"].to_pylist() != [highest + 1 for highest in topics["highest"].to_pylist()]:
        raise UnusualSnapshotError("partitions are missing, or are there twice")
    return topics.select(["topic", "partitions"])


def _columns(spark: "SparkSession", rows: "DataFrame", topics: "pa.Table") -> Columns:
    import pyarrow as pa
    import pyarrow.compute as pc

    counts = topics["partitions"].to_numpy()
    first = np.cumsum(counts) - counts
    numbered = spark.createDataFrame(pa.table({"topic": topics["topic"], "first": first}))
    read = spark.sql(PARTITIONS, rows=rows, topics=numbered).toArrow()
    at, total = read["row"].to_numpy(), int(counts.sum())
    if len(at) != total or (np.bincount(at, minlength=total) != 1).any():
        raise UnusualSnapshotError("a partition is there twice")
    order = np.argsort(at)
    lengths = pc.list_value_length(read["replicas"]).to_numpy()
    return Columns(
        topics["topic"].to_pylist(),
        np.repeat(np.arange(len(counts), dtype=np.int32), counts),
        (np.arange(total) - np.repeat(first, counts)).astype(np.int32),
        lengths[order],
        _reordered(pc.list_flatten(read["replicas"]).to_numpy(), lengths, order),
        _reordered(pc.list_flatten(read["in_isr"]).to_numpy(), lengths, order),
        read["bytes"].to_numpy()[order],
        _reordered(pc.list_flatten(read["sizes"]).to_numpy(), lengths, order),
        read["min_isr"].to_numpy()[order],
        read["tiered"].to_numpy()[order],
        read["moving"].to_numpy()[order],
        read["leader"].to_numpy()[order],
        _rates(read["rates"], order),
    )


def _rates(rows: "pa.ChunkedArray", order: Ints) -> Rates | None:
    """Return the columns of `Load` in this order; None if none of them is known."""
    import pyarrow.compute as pc

    if rows.null_count == len(rows):
        return None
    known = rows.is_valid().to_numpy()
    rates = np.full((len(rows), len(LOAD_COLUMNS)), np.nan)
    values = pc.list_flatten(rows.drop_null()).cast("float64").to_numpy(zero_copy_only=False)
    rates[known] = values.reshape(-1, len(LOAD_COLUMNS))
    result: Rates = rates[order]
    return result


def _reordered(values: Ints, lengths: Ints, order: Ints) -> Ints:
    """Return the values of lists that are stored one after the other, with the lists in this order."""
    starts = (np.cumsum(lengths) - lengths)[order]
    lengths = lengths[order]
    within = np.arange(len(values)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    result: Ints = values[np.repeat(starts, lengths) + within]
    return result
