"""Snapshots of a cluster: brokers and partitions, as JSON lines or Parquet (docs/planner.md).

Both hold the same rows: of kind `cluster`, `broker` and `partition`. In Parquet the columns of the other
kinds are null.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

from common.plan_errors import PlanError
from controller.model.replicas import Replicas

TableRow = Mapping[str, Any]

PARQUET_MAGIC = b"PAR1"
TOPIC_PARTITION = tuple[str, int]


class Broker(NamedTuple):
    """A broker.

    `rack` is None if it is not configured, `disk_bytes` if the size of its disks is not known.
    """

    id: int
    rack: str | None = None
    live: bool = True
    host: str | None = None
    port: int | None = None
    disk_bytes: int | None = None


class Partition(NamedTuple):
    """A partition.

    `bytes` is the size of one replica, None if it is not known; `leader` is -1 if there is none.

    While it is being reassigned, or is queued, `target` has its replicas afterwards, and `replicas` does not
    contain those that are being added. It is empty if the topic waits for its deletion. Otherwise `target` is
    None.
    """

    topic: str
    partition: int
    replicas: Replicas
    isr: Replicas
    leader: int
    bytes: int | None = None
    min_isr: int = 1
    target: Replicas | None = None

    @property
    def deleting(self) -> bool:
        """Whether the topic waits for its deletion."""
        return self.target == ()

    @property
    def size(self) -> int:
        """The bytes to count with: 0 if they are not known."""
        return self.bytes or 0


class Snapshot(NamedTuple):
    """The state of a cluster at one moment."""

    brokers: dict[int, Broker]
    partitions: dict[TOPIC_PARTITION, Partition]
    cluster_id: str | None = None
    """None if the snapshot does not tell."""

    def hole(self) -> TOPIC_PARTITION | None:
        """Return the first partition that is missing below the highest number of its topic, or None."""
        highest: dict[str, int] = {}
        for topic, number in self.partitions:
            highest[topic] = max(number, highest.get(topic, 0))
        if sum(highest.values()) + len(highest) == len(self.partitions):
            return None
        missing = (
            (topic, number)
            for topic in sorted(highest)
            for number in range(highest[topic])
            if (topic, number) not in self.partitions
        )
        return next(missing, None)


def read_snapshot(path: Path) -> Snapshot:
    """Read a snapshot from a file or a folder of Parquet files.

    Raises PlanError, which names the first invalid row.
    """
    try:
        return _collect(path, _parquet_rows(path) if is_parquet(path) else _file_rows(path))
    except OSError as error:
        raise PlanError(f"cannot read {path}: {error.strerror or error}") from error


def is_parquet(path: Path) -> bool:
    """Whether the file is Parquet, or a folder of Parquet files. Raises OSError."""
    if not path.is_file():
        # What is read from a pipe, such as the output of a command, cannot be read again.
        return path.is_dir()
    with path.open("rb") as file:
        return file.read(len(PARQUET_MAGIC)) == PARQUET_MAGIC


def has_more_rows(path: Path, most: int) -> bool:
    """Whether a snapshot file has more rows than this. False if it cannot be read: the reader says why."""
    try:
        if not is_parquet(path):
            with path.open("rb") as lines:
                return next(islice(lines, most, None), None) is not None
        from pyarrow.dataset import dataset

        return bool(dataset(path, format="parquet").count_rows() > most)
    except (OSError, ValueError):  # those of pyarrow included
        return False


def parse_snapshot(name: str, lines: Iterable[bytes]) -> Snapshot:
    """Read a snapshot from JSON lines. Raises PlanError with `name` and the number of the first bad line."""
    path = Path(name)
    return _collect(path, _json_rows(path, (line.decode("utf-8") for line in lines)))


def write_snapshot(snapshot: Snapshot, path: Path) -> None:
    """Write a snapshot: Parquet when the name ends with `.parquet`, else JSON lines."""
    if path.suffix == ".parquet":
        _write_parquet(list(_rows_of(snapshot)), path)
        return
    with path.open("wb") as file:
        file.writelines(lines(snapshot))


def lines(snapshot: Snapshot) -> Iterator[bytes]:
    """Yield the snapshot as JSON lines."""
    return (json.dumps(row).encode() + b"\n" for row in _rows_of(snapshot))


def is_integer(value: object, least: int = 0) -> TypeGuard[int]:
    """Whether the value is an integer (not a boolean) from `least` to the maximum of its type in Kafka."""
    return type(value) is int and least <= value < 2**63


def is_replicas(value: object) -> TypeGuard[list[int]]:
    """Whether the value is a list of different broker ids."""
    return (
        isinstance(value, list)
        and all(type(each) is int and 0 <= each < 2**31 for each in value)
        and len(set(value)) == len(value)
    )


def _text_or_none(value: object) -> bool:
    return value is None or isinstance(value, str)


Check = tuple[Callable[[object], bool], str]

_ID: Check = (lambda value: is_integer(value) and value < 2**31, "a number from 0 to 2147483647")
_REPLICAS: Check = (is_replicas, "a list of different broker ids")
_TEXT: Check = (_text_or_none, "a text")

BROKER_FIELDS: Mapping[str, Check] = {
    "id": _ID,
    "rack": _TEXT,
    "live": (lambda value: isinstance(value, bool), "true or false"),
    "host": _TEXT,
    "port": (lambda value: value is None or is_integer(value), "a number"),
    "disk_bytes": (lambda value: value is None or is_integer(value), "a number from 0"),
}
PARTITION_FIELDS: Mapping[str, Check] = {
    "topic": (lambda value: isinstance(value, str) and value != "", "a topic's name"),
    "partition": _ID,
    "replicas": (lambda value: is_replicas(value) and value != [], "a list of different broker ids"),
    "isr": _REPLICAS,
    "leader": (lambda value: is_integer(value, -1), "a broker id, or -1"),
    "bytes": (lambda value: value is None or is_integer(value), "a number from 0"),
    "min_isr": (lambda value: is_integer(value, 1) and value < 2**31, "a number from 1"),
    "target": (lambda value: value is None or is_replicas(value), "a list of different broker ids"),
}
CLUSTER_FIELDS: Mapping[str, Check] = {
    "cluster_id": (lambda value: isinstance(value, str), "the id of a cluster"),
}
KINDS = {"cluster", "broker", "partition"}


def _collect(path: Path, rows: Iterator[tuple[int, object]]) -> Snapshot:
    snapshot = Snapshot({}, {})
    for number, row in rows:
        try:
            snapshot = _added(snapshot, row)
        except (ValueError, RecursionError) as error:
            raise PlanError(f"{path}:{number}: {error}") from error
    if not snapshot.brokers:
        raise PlanError(f"{path} names no broker: not a snapshot of a cluster")
    return snapshot


def _added(snapshot: Snapshot, row: object) -> Snapshot:
    """Return the snapshot with the row. Raises ValueError for a row that is not right."""
    kind = row.get("kind") if isinstance(row, dict) else None
    if not isinstance(row, dict) or not isinstance(kind, str) or kind not in KINDS:
        raise ValueError("expected an object of kind 'cluster', 'broker' or 'partition'")
    if kind == "cluster":
        if snapshot.cluster_id is not None:
            raise ValueError("the cluster is there twice")
        return snapshot._replace(**_checked(row, CLUSTER_FIELDS, {}))
    if kind == "broker":
        broker = Broker(**_checked(row, BROKER_FIELDS, Broker._field_defaults))
        if snapshot.brokers.setdefault(broker.id, broker) is not broker:
            raise ValueError(f"broker {broker.id} is there twice")
        return snapshot
    values = _checked(row, PARTITION_FIELDS, Partition._field_defaults)
    for name in ("replicas", "isr", "target"):
        values[name] = None if values[name] is None else tuple(values[name])
    partition = Partition(**values)
    key = (partition.topic, partition.partition)
    if snapshot.partitions.setdefault(key, partition) is not partition:
        raise ValueError(f"partition {partition.topic}-{partition.partition} is there twice")
    return snapshot


def _checked(row: TableRow, fields: Mapping[str, Check], defaults: TableRow) -> dict[str, Any]:
    values = {}
    for name, (valid, expected) in fields.items():
        value = row.get(name)
        if value is None and name in defaults:
            value = defaults[name]
        if not valid(value):
            raise ValueError(f"'{name}' is {json.dumps(value, default=str)[:60]}, expected {expected}")
        values[name] = value
    return values


def _file_rows(path: Path) -> Iterator[tuple[int, object]]:
    with path.open(encoding="utf-8") as file:
        yield from _json_rows(path, file)


def _json_rows(path: Path, lines: Iterable[str]) -> Iterator[tuple[int, object]]:
    try:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield number, _parse(path, number, line)
    except UnicodeDecodeError as error:
        raise PlanError(f"{path} is neither Parquet nor UTF-8 text") from error


def _parse(path: Path, number: int, line: str) -> object:
    try:
        return json.loads(line)
    except ValueError as error:
        raise PlanError(f"{path}:{number}: not JSON: {error}") from error
    except RecursionError as error:
        raise PlanError(f"{path}:{number}: lists or objects are nested too deeply") from error


def _parquet_rows(path: Path) -> Iterator[tuple[int, object]]:
    from pyarrow import ArrowException
    from pyarrow.parquet import read_table

    try:
        table = read_table(path)
    except ArrowException as error:
        raise PlanError(f"cannot read {path}: {error}") from error
    columns = [column.to_pylist() for column in table.columns]
    for number, values in enumerate(zip(*columns, strict=True), 1):
        yield number, dict(zip(table.column_names, values, strict=True))


def _rows_of(snapshot: Snapshot) -> Iterator[dict[str, Any]]:
    if snapshot.cluster_id is not None:
        yield {"kind": "cluster", "cluster_id": snapshot.cluster_id}
    for broker in snapshot.brokers.values():
        yield {"kind": "broker", **broker._asdict()}
    for partition in snapshot.partitions.values():
        yield {"kind": "partition", **partition._asdict()}


def _write_parquet(rows: list[dict[str, Any]], path: Path) -> None:
    import pyarrow as pa
    from pyarrow.parquet import write_table

    numbers = pa.list_(pa.int32())
    kinds = {
        **dict.fromkeys(("kind", "cluster_id", "rack", "host", "topic"), pa.string()),
        **dict.fromkeys(("id", "port", "partition", "leader", "min_isr"), pa.int32()),
        **dict.fromkeys(("replicas", "isr", "target"), numbers),
        "live": pa.bool_(),
        **dict.fromkeys(("bytes", "disk_bytes"), pa.int64()),
    }
    columns = {name: pa.array([row.get(name) for row in rows], kind) for name, kind in kinds.items()}
    write_table(pa.table(columns), path)
