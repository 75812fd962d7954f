"""Bytes and time per wave and per broker, from steps that have their waves.

A wave takes as long as its busiest broker: the larger of what it receives and what it sends, over the bandwidth.
Run one after the other, waves take the sum of that; no order of the steps takes less than the busiest broker needs
for all of its own. A rolling window, which does not wait for a wave's slowest, comes in between.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from planner.schedule import Move
from planner.snapshot import Broker, Snapshot

if TYPE_CHECKING:
    import pyarrow as pa

LISTED = 1000
"""Maximum number of waiting partitions in a summary; all of them are counted."""

COUNTED = ("replicas_in", "replicas_out", "bytes_in", "bytes_out", "leaders_in", "leaders_out")


class Forecast(NamedTuple):
    """The content of summary.json. Times are in seconds, `bandwidth` in bytes per second."""

    limits: Mapping[str, int]
    bandwidth: int
    partitions: int
    unchanged: int
    steps: int
    waves: int
    replica_movements: int
    leader_movements: int
    bytes: int
    seconds: float
    least_seconds: float
    brokers: Sequence[Mapping[str, Any]]
    waiting_partitions: int
    waiting: Sequence[Mapping[str, Any]]


def forecast_of(
    moves: Sequence[Move],
    snapshot: Snapshot,
    limits: Mapping[str, int],
    bandwidth: int,
    steps: "pa.Table",
    waves: "pa.Table",
    waiting: Sequence[Mapping[str, Any]],
) -> Forecast:
    """Compute the totals. `waves` is the result of `wave_table` for the steps."""
    import pyarrow.compute as pc

    each = per_wave(waves)
    brokers = _brokers(snapshot, steps, waves, bandwidth)
    return Forecast(
        limits=limits,
        bandwidth=bandwidth,
        partitions=len(moves),
        unchanged=sum(move.current == move.target for move in moves),
        steps=steps.num_rows,
        waves=1 + (pc.max(steps["wave"]).as_py() if steps.num_rows else -1),
        replica_movements=pc.sum(each["replicas"]).as_py() or 0,
        leader_movements=pc.sum(steps["leader_movement"]).as_py() or 0,
        bytes=pc.sum(each["bytes"]).as_py() or 0,
        seconds=round(pc.sum(each["seconds"]).as_py() or 0.0, 3),
        least_seconds=round(max((broker["seconds"] for broker in brokers), default=0.0), 3),
        brokers=brokers,
        waiting_partitions=len(waiting),
        waiting=waiting[:LISTED],
    )


def wave_table(steps: "pa.Table", bandwidth: int) -> "pa.Table":
    """Return one row per wave and broker that takes part: `wave, broker`, the columns `COUNTED`, and `seconds`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    copied, led = _listed(steps, "adding"), steps.filter(steps["leader_movement"])
    parts = [
        _part(copied["wave"], copied["broker"], replicas_in=1, bytes_in=copied["replica_bytes"]),
        _part(copied["wave"], copied["source"], replicas_out=1, bytes_out=copied["replica_bytes"]),
        _part(led["wave"], led["leader"], leaders_in=1),
        _part(led["wave"], led["source"], leaders_out=1),
    ]
    waves = _sums(pa.concat_tables(parts), ["wave", "broker"])
    busiest = pc.cast(pc.max_element_wise(waves["bytes_in"], waves["bytes_out"]), pa.float64())
    waves = waves.append_column("seconds", pc.divide(busiest, float(bandwidth)))
    return waves.filter(pc.field("broker") >= 0).sort_by([("wave", "ascending"), ("broker", "ascending")])


def per_wave(waves: "pa.Table") -> "pa.Table":
    """Return one row per wave: `wave, bytes, replicas, seconds`."""
    sums = [("bytes_in", "sum"), ("replicas_in", "sum"), ("seconds", "max")]
    summed = waves.group_by("wave").aggregate(sums).select(["wave", *("_".join(each) for each in sums)])
    return summed.rename_columns(["wave", "bytes", "replicas", "seconds"]).sort_by("wave")


def _listed(steps: "pa.Table", column: str) -> "pa.Table":
    """Return one row per element of the list column, as `broker`, with the other values of the step."""
    import pyarrow.compute as pc

    rows = steps.select(["wave", "source", "replica_bytes"]).take(pc.list_parent_indices(steps[column]))
    return rows.append_column("broker", pc.list_flatten(steps[column]))


def _part(
    wave: "pa.ChunkedArray", broker: "pa.ChunkedArray", **counts: "int | pa.ChunkedArray"
) -> "pa.Table":
    """Return rows with these counts and 0 in the other columns of `COUNTED`."""
    import pyarrow as pa

    columns = {"wave": wave, "broker": broker}
    for name in COUNTED:
        count = counts.get(name, 0)
        columns[name] = (
            pa.repeat(pa.scalar(count, pa.int64()), len(wave)) if isinstance(count, int) else count
        )
    return pa.table(columns)


def _sums(table: "pa.Table", keys: list[str]) -> "pa.Table":
    summed = table.group_by(keys).aggregate([(name, "sum") for name in COUNTED])
    return summed.select([*keys, *(f"{name}_sum" for name in COUNTED)]).rename_columns([*keys, *COUNTED])


def _brokers(
    snapshot: Snapshot, steps: "pa.Table", waves: "pa.Table", bandwidth: int
) -> list[dict[str, Any]]:
    """Return one row per broker, by id: its load before and after, the traffic in and out, and the time."""
    before = _held(snapshot)
    dropped = (
        _listed(steps, "removing").group_by("broker").aggregate([("replica_bytes", "sum"), ([], "count_all")])
    )
    lost = {row["broker"]: (row["count_all"], row["replica_bytes_sum"]) for row in dropped.to_pylist()}
    totals = {row["broker"]: row for row in _sums(waves, ["broker"]).to_pylist()}
    rows = []
    for id_ in sorted({*snapshot.brokers, *before, *totals}):
        broker = snapshot.brokers.get(id_, Broker(id_, live=False))
        moved = totals.get(id_) or {"broker": id_, **dict.fromkeys(COUNTED, 0)}
        had, (gone, gone_bytes) = before.get(id_, Held()), lost.get(id_, (0, 0))
        after = Held(
            had.replicas + moved["replicas_in"] - gone,
            had.bytes + moved["bytes_in"] - gone_bytes,
            had.leaders + moved["leaders_in"] - moved["leaders_out"],
        )
        seconds = round(max(moved["bytes_in"], moved["bytes_out"]) / bandwidth, 3)
        about = {"rack": broker.rack, "live": broker.live, "before": had._asdict(), "after": after._asdict()}
        rows.append({**moved, "seconds": seconds, **about})
    return rows


class Held(NamedTuple):
    """The load of a broker."""

    replicas: int = 0
    bytes: int = 0
    leaders: int = 0


def _held(snapshot: Snapshot) -> dict[int, Held]:
    replicas, stored, leaders = Counter[int](), Counter[int](), Counter[int]()
    for partition in snapshot.partitions.values():
        leaders[partition.leader] += 1
        for broker in partition.replicas:
            replicas[broker] += 1
            stored[broker] += partition.bytes
    return {broker: Held(count, stored[broker], leaders[broker]) for broker, count in replicas.items()}
