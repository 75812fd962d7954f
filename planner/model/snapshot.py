"""Snapshots of a cluster: brokers and partitions, as JSON lines or Parquet (docs/planner.md).

Both hold the same rows: of kind `cluster`, `broker` and `partition`. In Parquet the columns of the other
kinds are null.
"""

import json
import math
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeGuard

from msgspec.json import decode, encode

from common.plan_errors import PlanError
from controller.model.replicas import Replicas

TableRow = Mapping[str, Any]

PARQUET_MAGIC = b"PAR1"
TOPIC_PARTITION = tuple[str, int]
DIRS = "dirs"


class LogDir(NamedTuple):
    """A log directory of a broker: the bytes of its volume and those that are free.

    Both are None if the broker does not report them. A `cordoned` one gets no new replica (KIP-1066).
    """

    total: int | None = None
    usable: int | None = None
    cordoned: bool = False


class Broker(NamedTuple):
    """A broker.

    `rack` is None if it is not configured, `disk_bytes` if the size of its disks is not known, `dirs` if its
    log directories are not known.
    """

    id: int
    rack: str | None = None
    live: bool = True
    host: str | None = None
    port: int | None = None
    disk_bytes: int | None = None
    dirs: Mapping[str, LogDir] | None = None
    """By path."""
    excluded: bool = False
    """It is to get no new replicas, until it is added again or allowed to get some."""
    cordoned: bool = False
    """None of its directories gets new replicas (KIP-1066), also where they are not known."""

    @property
    def is_cordoned(self) -> bool:
        """Whether no directory gets new replicas."""
        dirs = (self.dirs or {}).values()
        return self.cordoned or (bool(dirs) and all(each.cordoned for each in dirs))


class Load(NamedTuple):
    """What clients write to a partition and read from it, in bytes per second; None where it is not known.

    The first two are those of the last minutes, then those of the busy hour of the cluster, then the means
    over the hours of the day. What followers read is not part of them.
    """

    bytes_in: float | None = None
    bytes_out: float | None = None
    busy_in: float | None = None
    busy_out: float | None = None
    mean_in: float | None = None
    mean_out: float | None = None


LOAD_COLUMNS = ("in", "out", "in_busy", "out_busy", "in_mean", "out_mean")
"""The columns of the fields of `Load`."""


Packed: TypeAlias = bytes
"""Sizes of replicas, each as an integer of eight bytes in the byte order of this machine. A tuple of integers
would take three times the memory."""
UNKNOWN_SIZE = -1
"""What a size that is not known is packed as."""


def packed(sizes: Sequence[int | None] | None) -> Packed | None:
    """Pack sizes of replicas."""
    if sizes is None:
        return None
    return array("q", [UNKNOWN_SIZE if size is None else size for size in sizes]).tobytes()


def _unpacked(sizes: Packed) -> memoryview:
    return memoryview(sizes).cast("q")


class Partition(NamedTuple):
    """A partition.

    `bytes` is the size of the leader's replica, which is what a copy has; None if it is not known. `sizes`
    and `log_dirs` have what the broker of each replica reports for its own one, None where it is not known.
    Replicas differ in size: each broker deletes old segments on its own. A `tiered` partition has a part of
    its log in remote storage, which no size counts. `leader` is -1 if there is none.

    While it is being reassigned, or is queued, `target` has its replicas afterwards, and `replicas` does not
    contain those that are being added. It is empty if the topic waits for its deletion. Otherwise `target` is
    None. `meanwhile` has the other brokers that hold a replica, or get one, until then: those of a step that
    is being undone, and of a rollback that a queued plan waits for.
    """

    topic: str
    partition: int
    replicas: Replicas
    isr: Replicas
    leader: int
    bytes: int | None = None
    min_isr: int = 1
    target: Replicas | None = None
    packed_sizes: Packed | None = None
    """What `packed` makes of `sizes`."""
    log_dirs: tuple[str | None, ...] | None = None
    """The log directory of each of `replicas`; None if none of them is known."""
    tiered: bool = False
    meanwhile: Replicas = ()
    failed: Replicas = ()
    """Those of `replicas` whose log directory has failed, although their broker is live."""
    load: Load | None = None
    """None if nothing of it is known."""
    next_dirs: tuple[str | None, ...] = ()
    """The directory to which each of `replicas` moves on its broker, None where it stays; empty: all stay."""

    @property
    def sizes(self) -> tuple[int | None, ...] | None:
        """Bytes of each of `replicas`; None if none of them is known."""
        if self.packed_sizes is None:
            return None
        sizes = _unpacked(self.packed_sizes)
        return tuple(None if size == UNKNOWN_SIZE else size for size in sizes)

    @property
    def holders(self) -> set[int]:
        """The brokers that hold a replica, or get one by an ongoing or queued reassignment."""
        return {*self.replicas, *(self.target or ()), *self.meanwhile}

    @property
    def settled(self) -> bool:
        """Whether no reassignment, undoing of one, or deletion is under way or queued."""
        return self.target is None and not self.meanwhile

    @property
    def deleting(self) -> bool:
        """Whether the topic waits for its deletion."""
        return self.target == ()

    @property
    def size(self) -> int:
        """The bytes of a copy to count with.

        If the leader's are not known, they are those of the largest known replica, or 0.
        """
        if self.bytes is not None:
            return self.bytes
        return max((each for each in self.sizes or () if each is not None), default=0)

    def size_on(self, broker: int) -> int:
        """Return the bytes to count with on a broker: those of its replica, else what a copy has."""
        if self.packed_sizes is None or broker not in self.replicas:
            return self.size
        known = _unpacked(self.packed_sizes)[self.replicas.index(broker)]
        return self.size if known == UNKNOWN_SIZE else known


class Snapshot(NamedTuple):
    """The state of a cluster at one moment."""

    brokers: dict[int, Broker]
    partitions: dict[TOPIC_PARTITION, Partition]
    cluster_id: str | None = None
    """None if the snapshot does not tell."""

    def hole(self) -> TOPIC_PARTITION | None:
        """Return the first partition that is missing below the highest number of its topic, or None."""
        counts = Counter(map(itemgetter(0), self.partitions))
        if all(number < counts[topic] for topic, number in self.partitions):
            return None
        missing = (
            (topic, number)
            for topic in sorted(counts)
            for number in range(counts[topic])
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
    return (encode(row) + b"\n" for row in _rows_of(snapshot))


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


def is_rate(value: object) -> TypeGuard[float]:
    """Whether the value is a finite number from 0, not a boolean."""
    return type(value) in {int, float} and isinstance(value, int | float) and 0 <= value < math.inf


def _text_or_none(value: object) -> bool:
    return value is None or isinstance(value, str)


def _count_or_none(value: object) -> bool:
    return value is None or is_integer(value)


def _are_counts(value: object) -> bool:
    return isinstance(value, list) and all(
        each is None or (type(each) is int and 0 <= each < 2**63) for each in value
    )


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(map(_text_or_none, value))


def _are_dirs(value: object) -> bool:
    """Whether the value is an object of log directories by path."""
    return value is None or (
        isinstance(value, dict)
        and all(
            isinstance(each, dict)
            and _count_or_none(each.get("total"))
            and _count_or_none(each.get("usable"))
            and isinstance(each.get("cordoned", False), bool)
            for each in value.values()
        )
    )


Check = tuple[Callable[[object], bool], str]

_ID: Check = (lambda value: is_integer(value) and value < 2**31, "a number from 0 to 2147483647")
_REPLICAS: Check = (is_replicas, "a list of different broker ids")
_TEXT: Check = (_text_or_none, "a text")
_FLAG: Check = (lambda value: isinstance(value, bool), "true or false")

BROKER_FIELDS: Mapping[str, Check] = {
    "id": _ID,
    "rack": _TEXT,
    "live": _FLAG,
    "host": _TEXT,
    "port": (_count_or_none, "a number"),
    "disk_bytes": (_count_or_none, "a number from 0"),
    "dirs": (_are_dirs, "an object of log directories with total, usable and cordoned"),
    "excluded": _FLAG,
    "cordoned": _FLAG,
}
PARTITION_FIELDS: Mapping[str, Check] = {
    "topic": (lambda value: isinstance(value, str) and value != "", "a topic's name"),
    "partition": _ID,
    "replicas": (lambda value: is_replicas(value) and value != [], "a list of different broker ids"),
    "isr": _REPLICAS,
    "leader": (lambda value: is_integer(value, -1), "a broker id, or -1"),
    "bytes": (_count_or_none, "a number from 0"),
    "min_isr": (lambda value: is_integer(value, 1) and value < 2**31, "a number from 1"),
    "target": (lambda value: value is None or is_replicas(value), "a list of different broker ids"),
    "sizes": (_are_counts, "a list of numbers from 0, or null"),
    "log_dirs": (_are_texts, "a list of paths, or null"),
    "tiered": _FLAG,
    "meanwhile": _REPLICAS,
    "failed": _REPLICAS,
    "next_dirs": (_are_texts, "a list of paths, or null"),
}
PARTITION_DEFAULTS: TableRow = {**Partition._field_defaults, "sizes": None}
CLUSTER_FIELDS: Mapping[str, Check] = {
    "cluster_id": (lambda value: isinstance(value, str), "the id of a cluster"),
}
KINDS = {"cluster", "broker", "partition"}


def _collect(path: Path, rows: Iterator[tuple[int, object]]) -> Snapshot:
    reading = _Reading()
    for number, row in rows:
        try:
            reading.add(row)
        except (ValueError, RecursionError) as error:
            raise PlanError(f"{path}:{number}: {error}") from error
    if not reading.brokers:
        raise PlanError(f"{path} names no broker: not a snapshot of a cluster")
    return Snapshot(reading.brokers, reading.partitions, reading.cluster_id)


class _Reading:
    """The rows so far. Equal texts and lists of different rows become one object, which saves memory."""

    def __init__(self) -> None:
        self.brokers: dict[int, Broker] = {}
        self.partitions: dict[TOPIC_PARTITION, Partition] = {}
        self.cluster_id: str | None = None
        self._shared: dict[object, Any] = {}

    def add(self, row: object) -> None:
        """Raises ValueError for a row that is not right."""
        kind = row.get("kind") if isinstance(row, dict) else None
        if not isinstance(row, dict) or not isinstance(kind, str) or kind not in KINDS:
            raise ValueError("expected an object of kind 'cluster', 'broker' or 'partition'")
        if kind == "partition":
            self._add_partition(row)
        elif kind == "broker":
            broker = _broker(_checked(row, BROKER_FIELDS, Broker._field_defaults))
            if self.brokers.setdefault(broker.id, broker) is not broker:
                raise ValueError(f"broker {broker.id} is there twice")
        elif self.cluster_id is not None:
            raise ValueError("the cluster is there twice")
        else:
            self.cluster_id = _checked(row, CLUSTER_FIELDS, {})["cluster_id"]

    def _add_partition(self, row: TableRow) -> None:
        values = _checked(row, PARTITION_FIELDS, PARTITION_DEFAULTS)
        shared = self._shared
        topic = values["topic"] = shared.setdefault(values["topic"], values["topic"])
        for name in ("replicas", "isr", "target", "log_dirs", "meanwhile", "failed", "next_dirs"):
            if (value := values[name]) is not None:
                value = tuple(value)
                values[name] = shared.setdefault(value, value)
        for name in ("sizes", "log_dirs", "next_dirs"):
            if (value := values[name]) not in (None, ()) and len(value) != len(values["replicas"]):
                raise ValueError(f"'{name}' has {len(value)} entries for {len(values['replicas'])} replicas")
        sizes = packed(values.pop("sizes"))
        partition = Partition(**values, packed_sizes=sizes, load=_load(row))
        key = (topic, partition.partition)
        if self.partitions.setdefault(key, partition) is not partition:
            raise ValueError(f"partition {topic}-{partition.partition} is there twice")


def _load(row: TableRow) -> Load | None:
    if row.keys().isdisjoint(LOAD_COLUMNS):
        return None
    values = [row.get(name) for name in LOAD_COLUMNS]
    for name, value in zip(LOAD_COLUMNS, values, strict=True):
        if value is not None and not is_rate(value):
            raise ValueError(_unexpected(name, value, "bytes per second from 0"))
    return Load(*values) if any(value is not None for value in values) else None


def _broker(values: dict[str, Any]) -> Broker:
    if (dirs := values["dirs"]) is not None:
        values["dirs"] = {
            path: LogDir(each.get("total"), each.get("usable"), each.get("cordoned", False))
            for path, each in dirs.items()
        }
    return Broker(**values)


def _checked(row: TableRow, fields: Mapping[str, Check], defaults: TableRow) -> dict[str, Any]:
    """Return the values of these fields. A null is the default, where there is one."""
    values = {}
    for name, (valid, expected) in fields.items():
        value = row.get(name)
        if value is None and name in defaults:
            value = defaults[name]
        elif not valid(value):
            raise ValueError(_unexpected(name, value, expected))
        values[name] = value
    return values


def _unexpected(name: str, value: object, expected: str) -> str:
    return f"'{name}' is {json.dumps(value, default=str)[:60]}, expected {expected}"


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
        value: object = decode(line)
        return value
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
    if DIRS in table.column_names:  # a map is a list of pairs
        at = table.column_names.index(DIRS)
        columns[at] = [None if pairs is None else dict(pairs) for pairs in columns[at]]
    for number, values in enumerate(zip(*columns, strict=True), 1):
        yield number, dict(zip(table.column_names, values, strict=True))


def _rows_of(snapshot: Snapshot) -> Iterator[dict[str, Any]]:
    if snapshot.cluster_id is not None:
        yield {"kind": "cluster", "cluster_id": snapshot.cluster_id}
    for broker in snapshot.brokers.values():
        dirs = None if broker.dirs is None else {path: each._asdict() for path, each in broker.dirs.items()}
        yield {"kind": "broker", **broker._asdict(), DIRS: dirs}
    for partition in snapshot.partitions.values():
        row = {"kind": "partition", **partition._asdict(), "sizes": partition.sizes}
        del row["packed_sizes"]
        if (load := row.pop("load")) is not None:
            row.update(zip(LOAD_COLUMNS, load, strict=True))
        for name in ("meanwhile", "failed", "next_dirs"):
            if not row[name]:
                del row[name]
        yield row


def _write_parquet(rows: list[dict[str, Any]], path: Path) -> None:
    import pyarrow as pa
    from pyarrow.parquet import write_table

    numbers = pa.list_(pa.int32())
    log_dir = pa.struct([("total", pa.int64()), ("usable", pa.int64()), ("cordoned", pa.bool_())])
    kinds = {
        **dict.fromkeys(("kind", "cluster_id", "rack", "host", "topic"), pa.string()),
        **dict.fromkeys(("id", "port", "partition", "leader", "min_isr"), pa.int32()),
        **dict.fromkeys(("replicas", "isr", "target", "meanwhile", "failed"), numbers),
        **dict.fromkeys(("live", "excluded", "cordoned", "tiered"), pa.bool_()),
        **dict.fromkeys(("bytes", "disk_bytes"), pa.int64()),
        **dict.fromkeys(LOAD_COLUMNS, pa.float64()),
        "sizes": pa.list_(pa.int64()),
        **dict.fromkeys(("log_dirs", "next_dirs"), pa.list_(pa.string())),
    }
    columns = {name: pa.array([row.get(name) for row in rows], kind) for name, kind in kinds.items()}
    dirs = (row.get(DIRS) for row in rows)
    pairs = [None if each is None else list(each.items()) for each in dirs]
    columns[DIRS] = pa.array(pairs, pa.map_(pa.string(), log_dir))
    write_table(pa.table(columns), path)
