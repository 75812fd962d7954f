from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from pyarrow.parquet import read_table, write_table

from planner import spark_snapshot
from planner.model.snapshot import Snapshot, write_snapshot
from planner.proposals.problem.table import Columns, columns_of
from planner.spark_snapshot import UnusualSnapshotError, read_cluster
from tests.planner.on_spark.clusters import random_cluster, shuffled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::ResourceWarning")]


def as_lists(read: Columns) -> list[list[object]]:
    rates = None if read.rates is None else np.nan_to_num(read.rates, nan=-1)
    return [np.asarray(column).tolist() for column in read._replace(rates=rates)]


@pytest.mark.parametrize("name", ["snapshot.jsonl", "snapshot.parquet"])
def test_columns_are_those_of_the_python_reader_in_any_order(
    spark: "SparkSession", tmp_path: Path, name: str
) -> None:
    snapshot, path = random_cluster(1), tmp_path / name
    snapshot.partitions["topic-0", 1] = snapshot.partitions["topic-0", 1]._replace(target=(1,))
    for seed in range(3):
        write_snapshot(shuffled(snapshot, seed), path)
        cluster = read_cluster(spark, path)
        assert (cluster.brokers, cluster.cluster_id) == (snapshot.brokers, "some-id")
        assert as_lists(cluster.columns) == as_lists(columns_of(snapshot, {("topic-0", 1)}))


def test_a_folder_of_files_is_one_snapshot(spark: "SparkSession", tmp_path: Path) -> None:
    snapshot, folder = random_cluster(2), tmp_path / "snapshot"
    write_snapshot(snapshot, tmp_path / "whole.parquet")
    whole: pa.Table = read_table(tmp_path / "whole.parquet")
    folder.mkdir()
    for part in range(5):
        write_table(whole.take(list(range(part, whole.num_rows, 5))), folder / f"{9 - part}.parquet")
    assert as_lists(read_cluster(spark, folder).columns) == as_lists(columns_of(snapshot, ()))


def without_one(snapshot: Snapshot) -> list[dict[str, object]]:
    return [row._asdict() for row in snapshot.partitions.values()][1:]


def with_one_twice(snapshot: Snapshot) -> list[dict[str, object]]:
    rows = [row._asdict() for row in snapshot.partitions.values()]
    return [*rows, rows[0]]


def with_one_instead_of_another(snapshot: Snapshot) -> list[dict[str, object]]:
    rows = [row._asdict() for row in snapshot.partitions.values()]
    return [rows[7], *rows[1:]]


@pytest.mark.parametrize("changed", [without_one, with_one_twice, with_one_instead_of_another])
def test_partitions_that_are_missing_or_there_twice_are_unusual(
    spark: "SparkSession", tmp_path: Path, changed: Callable[[Snapshot], list[dict[str, object]]]
) -> None:
    snapshot, path = random_cluster(3), tmp_path / "snapshot.parquet"
    brokers = [{"kind": "broker", "id": each, "live": True} for each in snapshot.brokers]
    partitions = [{"kind": "partition", **row} for row in changed(snapshot)]
    write_table(pa.Table.from_pylist([*partitions, *brokers], _schema(tmp_path, snapshot)), path)
    with pytest.raises(UnusualSnapshotError, match=r"missing|twice"):
        read_cluster(spark, path)


def _schema(tmp_path: Path, snapshot: Snapshot) -> pa.Schema:
    write_snapshot(snapshot, tmp_path / "other.parquet")
    schema: pa.Schema = read_table(tmp_path / "other.parquet").schema
    return schema


def test_too_many_other_rows_are_unusual(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_snapshot, "MOST_OTHERS", 8)
    write_snapshot(random_cluster(4), tmp_path / "snapshot")
    with pytest.raises(UnusualSnapshotError, match="more than 8 rows are not partitions"):
        read_cluster(spark, tmp_path / "snapshot")
