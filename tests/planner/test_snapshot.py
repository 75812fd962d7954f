import json
import os
import threading
from pathlib import Path

import pytest

from common.plan_errors import PlanError
from planner.model.snapshot import (
    Broker,
    Load,
    LogDir,
    Partition,
    Snapshot,
    has_more_rows,
    packed,
    read_snapshot,
    write_snapshot,
)

CLUSTER = Snapshot(
    {
        1: Broker(1, "a", True, "kafka-1", 9092, 9, {"/a": LogDir(9, 5, True), "/b": LogDir()}),
        2: Broker(2, disk_bytes=10**13, excluded=True),
        3: Broker(3, live=False, cordoned=True),
    },
    {
        ("orders", 0): Partition("orders", 0, (1, 2), (1,), 1, 10**12, 2),
        ("clicks", 7): Partition("clicks", 7, (2, 3), (), -1, target=(3, 1)),
        ("views", 0): Partition(
            "views",
            0,
            (1, 2),
            (1, 2),
            1,
            9,
            packed_sizes=packed((9, None)),
            log_dirs=("/a", None),
            tiered=True,
            next_dirs=("/b", None),
        ),
        ("hot", 0): Partition("hot", 0, (1,), (1,), 1, load=Load(1.5, None, 0.0, 1e12)),
    },
    "cluster-1",
)

CLUSTER_ROW = '{"kind": "cluster", "cluster_id": "cluster-1"}'
BROKER = '{"kind": "broker", "id": 1}'
PARTITION = {"kind": "partition", "topic": "orders", "partition": 0, "replicas": [1], "isr": [1], "leader": 1}


@pytest.mark.parametrize("name", ["snapshot.jsonl", "snapshot.parquet"])
def test_a_written_snapshot_is_read_unchanged(tmp_path: Path, name: str) -> None:
    write_snapshot(CLUSTER, tmp_path / name)
    assert read_snapshot(tmp_path / name) == CLUSTER


def test_a_folder_of_parquet_files_is_a_snapshot(tmp_path: Path) -> None:
    write_snapshot(CLUSTER, tmp_path / "part-0.parquet")
    assert read_snapshot(tmp_path) == CLUSTER


def test_missing_fields_have_defaults(tmp_path: Path) -> None:
    path = tmp_path / "snapshot.jsonl"
    path.write_text(f"{BROKER}\n\n{json.dumps(PARTITION)}\n")
    partition = read_snapshot(path).partitions["orders", 0]
    assert (partition.bytes, partition.size, partition.min_isr) == (None, 0, 1)
    assert (partition.sizes, partition.log_dirs, partition.tiered) == (None, None, False)
    assert partition.load is None


def test_a_replica_of_unknown_size_counts_as_its_leaders() -> None:
    row = Partition("foo", 0, (1, 2, 3), (1, 2, 3), 1, 10, packed_sizes=packed((12, None, 0)))
    assert [row.size_on(broker) for broker in (1, 2, 3, 4)] == [12, 10, 0, 10]


@pytest.mark.parametrize("name", ["snapshot.jsonl", "snapshot.parquet"])
def test_a_size_that_is_not_known_differs_from_an_empty_partition(tmp_path: Path, name: str) -> None:
    sizes = {0: None, 1: 0}
    rows = {("foo", number): Partition("foo", number, (1,), (1,), 1, size) for number, size in sizes.items()}
    write_snapshot(Snapshot({1: Broker(1)}, rows), tmp_path / name)
    read = read_snapshot(tmp_path / name).partitions
    assert {number: row.bytes for (_, number), row in read.items()} == sizes


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", ":2: not JSON: "),
        ("[]", ":2: expected an object of kind 'cluster', 'broker' or 'partition'"),
        ('{"kind": "topic"}', ":2: expected an object of kind"),
        ('{"kind": []}', ":2: expected an object of kind"),
        ("[" * 100_000, ":2: lists or objects are nested too deeply"),
        (BROKER, ":2: broker 1 is there twice"),
        ('{"kind": "broker"}', ":2: 'id' is null, expected a number"),
        ('{"kind": "broker", "id": true}', ":2: 'id' is true, expected a number"),
        ('{"kind": "broker", "id": 2, "live": "no"}', """:2: 'live' is "no", expected true or false"""),
        (json.dumps(PARTITION | {"replicas": []}), ":2: 'replicas' is [], expected a list of different"),
        (
            json.dumps(PARTITION | {"replicas": [1, 1]}),
            ":2: 'replicas' is [1, 1], expected a list of different",
        ),
        (json.dumps(PARTITION | {"target": 1}), ":2: 'target' is 1, expected a list of different broker ids"),
        ('{"kind": "cluster"}', ":2: 'cluster_id' is null, expected the id of a cluster"),
        (f"{CLUSTER_ROW}\n{CLUSTER_ROW}", ":3: the cluster is there twice"),
        (json.dumps(PARTITION | {"bytes": -1}), ":2: 'bytes' is -1, expected a number from 0"),
        (json.dumps(PARTITION | {"min_isr": 0}), ":2: 'min_isr' is 0, expected a number from 1"),
        (json.dumps(PARTITION | {"sizes": [1, 2]}), ":2: 'sizes' has 2 entries for 1 replica"),
        (json.dumps(PARTITION | {"sizes": [-1]}), ":2: 'sizes' is [-1], expected a list of numbers from 0"),
        (
            json.dumps(PARTITION | {"next_dirs": ["/a", "/b"]}),
            ":2: 'next_dirs' has 2 entries for 1 replica",
        ),
        (json.dumps(PARTITION | {"log_dirs": [1]}), ":2: 'log_dirs' is [1], expected a list of paths"),
        (json.dumps(PARTITION | {"tiered": 1}), ":2: 'tiered' is 1, expected true or false"),
        (
            '{"kind": "broker", "id": 2, "dirs": {"/a": {"total": "much"}}}',
            ':2: \'dirs\' is {"/a": {"total": "much"}}, expected an object of log directories',
        ),
        (json.dumps(PARTITION | {"in": -0.5}), ":2: 'in' is -0.5, expected bytes per second from 0"),
        (json.dumps(PARTITION | {"out_busy": "1"}), """:2: 'out_busy' is "1", expected bytes per second"""),
        (json.dumps(PARTITION | {"in": True}), ":2: 'in' is true, expected bytes per second from 0"),
        (json.dumps(PARTITION | {"leader": 1.5}), ":2: 'leader' is 1.5, expected a broker id, or -1"),
        (f"{json.dumps(PARTITION)}\n{json.dumps(PARTITION)}", ":3: partition orders-0 is there twice"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "snapshot.jsonl"
    path.write_text(f"{BROKER}\n{line}\n")
    with pytest.raises(PlanError) as raised:
        read_snapshot(path)
    assert f"{path}{message}" in str(raised.value)


def test_the_first_missing_partition_is_found() -> None:
    def having(*numbers: int) -> Snapshot:
        rows = {("foo", number): Partition("foo", number, (1,), (1,), 1) for number in numbers}
        return Snapshot({1: Broker(1)}, rows)

    assert having(0, 1, 2).hole() is None
    assert having(0, 3, 1).hole() == ("foo", 2)
    assert Snapshot({1: Broker(1)}, {}).hole() is None


def test_a_missing_file_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"cannot read .*: No such file"):
        read_snapshot(tmp_path / "nothing")


def test_a_file_without_brokers_is_no_snapshot(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("")
    with pytest.raises(PlanError, match="names no broker"):
        read_snapshot(tmp_path / "empty")


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"\xff\xfe\x00", "neither Parquet nor UTF-8"), (b"PAR1 but not really", "cannot read")],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "other").write_bytes(content)
    with pytest.raises(PlanError, match=message):
        read_snapshot(tmp_path / "other")


def test_a_snapshot_can_come_from_a_pipe(tmp_path: Path) -> None:
    write_snapshot(CLUSTER, tmp_path / "file")
    os.mkfifo(tmp_path / "pipe")
    content = (tmp_path / "file").read_bytes()
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(content,))
    writer.start()
    assert read_snapshot(tmp_path / "pipe") == read_snapshot(tmp_path / "file")
    writer.join()


@pytest.mark.parametrize("name", ["snapshot.jsonl", "snapshot.parquet"])
def test_rows_of_a_file_are_counted_up_to_a_limit(tmp_path: Path, name: str) -> None:
    rows = {("foo", number): Partition("foo", number, (1,), (1,), 1) for number in range(3)}
    write_snapshot(Snapshot({1: Broker(1)}, rows), tmp_path / name)
    assert [has_more_rows(tmp_path / name, most) for most in (0, 3, 4)] == [True, True, False]


def test_a_file_that_cannot_be_read_has_no_more_rows(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"PAR1 but not really")
    assert not has_more_rows(tmp_path / "other", 0)
    assert not has_more_rows(tmp_path / "nothing", 0)
