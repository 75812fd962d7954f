import json
import math
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyarrow.parquet import write_table

from common.plan_errors import PlanError
from planner import spark_snapshot
from planner.model.snapshot import parse_snapshot, write_snapshot
from planner.spark_snapshot import UnusualSnapshotError, snapshot_rows
from tests.planner.on_spark.clusters import random_cluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::ResourceWarning")]

BROKER = b'{"kind": "broker", "id": 1}'
PARTITION: dict[str, object] = {
    "kind": "partition",
    "topic": "foo",
    "partition": 0,
    "replicas": [1, 2],
    "isr": [1],
    "leader": 1,
}
VALID: list[dict[str, object]] = [
    {},
    {"isr": [], "leader": -1, "bytes": 2**40, "min_isr": 2, "target": [3]},
    {"bytes": None, "min_isr": None, "target": None, "more": 1},
    {"in": 0, "out": 2.5, "in_busy": 1e300, "out_busy": None},
    {"topic": "a.b_c-1", "partition": 2**31 - 1, "replicas": [0, 2**31 - 1]},
]
INVALID: dict[str, list[object]] = {
    "topic": [5, "", None, ["foo"]],
    "partition": [-1, 2**31, 1.0, "1", True, None],
    "replicas": [[], [1, 1], [1, -1], [1, None], [1.5], ["1"], [2**31], "[1]", None],
    "isr": [[1, 1], 1, None],
    "leader": [-2, 1.5, "1", None],
    "bytes": [-1, 1.5, "1", True],
    "min_isr": [0, -1, 1.5],
    "target": [[1, 1], [-1], 5],
    "in": [-0.5, "1", True, [1.0], math.nan, math.inf],
    "out_busy": ["NaN", "Infinity"],
    "kind": ["Partition"],
}
DISTORTED = [
    "{",
    "[]",
    "5",
    "{}",
    "nonsense",
    '{"kind": "partition"}',
    f"{json.dumps(PARTITION)} 5",
    '{"kind": 5}',
]


def accepted(text: str) -> bool:
    try:
        return bool(parse_snapshot("test", [BROKER, text.encode()]).partitions)
    except PlanError:
        return False


def test_rows_are_valid_where_the_python_reader_accepts_them(spark: "SparkSession", tmp_path: Path) -> None:
    invalid = [{field: value} for field, values in INVALID.items() for value in values]
    texts = [*(json.dumps(PARTITION | fields) for fields in (*VALID, *invalid)), *DISTORTED]
    path = tmp_path / "snapshot.jsonl"
    path.write_text("\n".join(["", "  ", *texts, ""]))
    found = snapshot_rows(spark, path).selectExpr("valid", "other").toArrow().to_pylist()
    verdicts = [row["valid"] and row["other"] is None for row in found]
    assert verdicts == list(map(accepted, texts))
    assert verdicts == [True] * len(VALID) + [False] * (len(invalid) + len(DISTORTED))


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_a_file_that_is_sent_has_the_same_rows(
    spark: "SparkSession", tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"snapshot.{suffix}"
    write_snapshot(random_cluster(1), path)
    read = snapshot_rows(spark, path).orderBy("topic", "partition").drop("other").toArrow()
    monkeypatch.setattr(spark_snapshot, "shares_files", lambda _: False)
    sent = snapshot_rows(spark, path).orderBy("topic", "partition").drop("other").toArrow()
    assert read.num_rows == 69
    assert sent.to_pylist() == read.to_pylist()


def test_columns_of_other_types_are_unusual(spark: "SparkSession", tmp_path: Path) -> None:
    path = tmp_path / "snapshot.parquet"
    write_table(pa.table({"kind": ["partition"], "topic": ["foo"], "partition": [0.0]}), path)
    with pytest.raises(UnusualSnapshotError, match="column partition has the type double"):
        snapshot_rows(spark, path)


def test_text_that_is_not_utf8_cannot_be_sent(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_snapshot, "shares_files", lambda _: False)
    (tmp_path / "other").write_bytes(b"\xff\xfe")
    with pytest.raises(UnusualSnapshotError):
        snapshot_rows(spark, tmp_path / "other")
