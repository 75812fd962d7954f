"""From the rows of a snapshot on Spark to columns of numpy.

Spark parses, validates and counts. The driver gets the topics with their number of partitions, and of each
partition its row, replicas and which of them are in the ISR, bytes and min.insync.replicas: 24 bytes for the
partition and 5 for each replica. The row follows from the topics, so the order in which Spark delivers
partitions does not matter.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from common.plan_errors import PlanError
from planner.on_spark.rows import UnusualSnapshotError, snapshot_rows
from planner.proposals.problem.arrays import Ints
from planner.proposals.problem.columns import Columns
from planner.snapshot import Broker, Snapshot, parse_snapshot

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

MOST_OTHERS = 100_000
"""Most rows that are not partitions: a cluster and its brokers."""

TOPICS = """
    select topic, count(*) as partitions, max(partition) as highest, bool_and(valid) as valid
    from {rows} where other is null group by topic
"""
OTHERS = "select other from {rows} where other is not null limit {most}"
PARTITIONS = """
    select /*+ broadcast(topics) */ first + partition as row, replicas, in_isr, bytes, min_isr, moving
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
        read["min_isr"].to_numpy()[order],
        read["moving"].to_numpy()[order],
    )


def _reordered(values: Ints, lengths: Ints, order: Ints) -> Ints:
    """Return the values of lists that are stored one after the other, with the lists in this order."""
    starts = (np.cumsum(lengths) - lengths)[order]
    lengths = lengths[order]
    within = np.arange(len(values)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    result: Ints = values[np.repeat(starts, lengths) + within]
    return result
