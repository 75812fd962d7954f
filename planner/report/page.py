"""The forecast as a self-contained HTML page."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from common.rates import in_rate
from common.units import in_bytes, in_time
from common.wording import counted
from controller.model.limits import UNLIMITED
from controller.scheduling.limits import LETTERED
from planner.model.forecast import Forecast, WaveRow, per_wave
from planner.report.charts import Bar, Cell, Pair, columns, heat_map, line, pairs

BINS = 80
"""Maximum number of waves in a chart; adjacent waves are combined."""

SHOWN = 40
"""Maximum number of brokers in a chart, the busiest ones. The table has all brokers."""

NAMED = 10
"""Maximum number of waiting partitions in the table."""

Broker = Mapping[str, Any]


def report(forecast: Forecast, waves: Sequence[WaveRow]) -> str:
    """Return the page."""
    style = files(__package__).joinpath("report.css").read_text("utf-8")
    busiest = sorted(forecast.brokers, key=_bytes_moved, reverse=True)
    shown = sorted(busiest[:SHOWN], key=lambda broker: broker["broker"])
    sections = (_waiting(forecast), _charts(forecast, waves, shown), _table(forecast.brokers))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"/>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>'
        f"<title>Reassignment plan</title><style>{style}</style></head><body><main>"
        f"{_head(forecast)}{''.join(sections)}</main></body></html>\n"
    )


def _head(forecast: Forecast) -> str:
    limits = [
        f"{limit.meaning}: {value:,}"
        for limit in LETTERED
        if (value := forecast.limits[limit.name.lower()]) < UNLIMITED
    ]
    moving = forecast.partitions - forecast.unchanged
    tiles = (
        (
            "Forecast",
            in_time(forecast.seconds),
            f"wave by wave; no less than {in_time(forecast.least_seconds)}",
        ),
        ("To copy", in_bytes(forecast.bytes), counted(forecast.replica_movements, "replica")),
        ("Partitions", f"{moving:,}", f"{forecast.unchanged:,} more are in place"),
        ("Steps", f"{forecast.steps:,}", f"in {counted(forecast.waves, 'wave')}"),
        ("Leader movements", f"{forecast.leader_movements:,}", "times that another broker takes over"),
        ("Waiting", f"{forecast.waiting_partitions:,}", "partitions that stop short of the target"),
    )
    drawn = "".join(
        f"<div><dt>{name}</dt><dd>{value}</dd><dd>{more}</dd></div>" for name, value, more in tiles
    )
    tiered = counted(forecast.tiered_partitions, "partition")
    local = (
        f" Of {tiered} in tiered topics, only the local part counts." if forecast.tiered_partitions else ""
    )
    return (
        "<header><h1>Reassignment plan</h1>"
        f"<p>At {in_rate(forecast.bandwidth)} into and out of each broker. "
        f"Limits: {'; '.join(limits) or 'none'}.{local}</p></header><dl>{drawn}</dl>"
    )


def _charts(forecast: Forecast, waves: Sequence[WaveRow], shown: Sequence[Broker]) -> str:
    bins = _Bins(forecast.waves)
    most = len(forecast.brokers) > len(shown)
    which = f"The {len(shown)} busiest of {len(forecast.brokers):,} brokers. " if most else ""
    flows = [_pair(each, each["bytes_in"], each["bytes_out"], "in", "out", in_bytes) for each in shown]
    leaders = [_before_after(each, "leaders", _count) for each in shown]
    stored = [_before_after(each, "bytes", in_bytes) for each in shown]
    return "".join(
        (
            _section("Progress", "Bytes copied over time, wave by wave.", _progress(waves)),
            _section("Bytes per wave", bins.note, _per_wave(waves, bins)),
            _section("Bytes per broker", which + _key("in", "out"), pairs(flows, in_bytes)),
            _section(
                "Brokers and waves",
                f"{which}{bins.note} The stronger the colour, the longer the broker is busy: the larger of"
                " what goes in and out.",
                _busy(waves, shown, bins),
            ),
            _section("Leaders per broker", which + _key("before", "after"), pairs(leaders, _count)),
            _section("Stored per broker", which + _key("before", "after"), pairs(stored, in_bytes)),
        )
    )


class _Bins:
    """Adjacent waves, combined for a chart."""

    def __init__(self, waves: int) -> None:
        self.size = max(1, -(-waves // BINS))
        self.count = -(-waves // self.size)
        self.note = f"{self.size:,} waves together in each column." if self.size > 1 else ""

    def label(self, number: int) -> str:
        return f"{number * self.size:,}"

    def name(self, number: int) -> str:
        first, last = number * self.size, (number + 1) * self.size - 1
        return f"wave {first:,}" if first == last else f"waves {first:,} to {last:,}"


def _progress(waves: Sequence[WaveRow]) -> str:
    elapsed, copied = 0.0, 0
    points = []
    for wave in per_wave(waves):
        elapsed += wave.seconds
        copied += wave.bytes
        points.append((elapsed, copied))
    every = max(1, len(points) // 400)
    return line([*points[:-1:every], *points[-1:]], in_time, in_bytes)


def _per_wave(waves: Sequence[WaveRow], bins: _Bins) -> str:
    copied, seconds = [0] * bins.count, [0.0] * bins.count
    for wave in per_wave(waves):
        copied[wave.number // bins.size] += wave.bytes
        seconds[wave.number // bins.size] += wave.seconds
    bars = [
        Bar(bins.label(number), size, f"{bins.name(number)}: {in_bytes(size)}, {in_time(seconds[number])}")
        for number, size in enumerate(copied)
    ]
    return columns(bars, in_bytes, "wave")


def _busy(waves: Sequence[WaveRow], shown: Sequence[Broker], bins: _Bins) -> str:
    rows = {broker["broker"]: index for index, broker in enumerate(shown)}
    spent: dict[tuple[int, int], list[float]] = {}
    for each in waves:
        if each.broker in rows:
            sums = spent.setdefault((rows[each.broker], each.wave // bins.size), [0.0, 0.0, 0.0])
            amounts = (each.bytes_in, each.bytes_out, each.seconds)
            sums[:] = map(sum, zip(sums, amounts, strict=True))
    longest = max((sums[2] for sums in spent.values()), default=0.0) or 1.0
    cells = [
        Cell(
            row,
            column,
            seconds / longest,
            f"broker {shown[row]['broker']}, {bins.name(column)}: {in_bytes(incoming)} in,"
            f" {in_bytes(outgoing)} out, {in_time(seconds)}",
        )
        for (row, column), (incoming, outgoing, seconds) in spent.items()
    ]
    labels = [bins.label(number) for number in range(bins.count)]
    return heat_map([_label(broker) for broker in shown], labels, cells, "wave")


def _before_after(broker: Broker, what: str, form: Callable[[int], str]) -> Pair:
    return _pair(broker, broker["before"][what], broker["after"][what], "before", "after", form)


def _pair(
    broker: Broker, first: int, second: int, first_name: str, second_name: str, form: Callable[[int], str]
) -> Pair:
    title = f"broker {broker['broker']}: {form(first)} {first_name}, {form(second)} {second_name}"
    return Pair(_label(broker), first, second, title)


def _label(broker: Broker) -> str:
    return f"broker {broker['broker']}"


def _count(number: float) -> str:
    return f"{number:,.0f}"


def _bytes_moved(broker: Broker) -> int:
    moved: int = max(broker["bytes_in"], broker["bytes_out"])
    return moved


def _key(first: str, second: str) -> str:
    return f'<i class="first"></i> {first} <i class="second"></i> {second}'


def _section(title: str, text: str, chart: str) -> str:
    return f'<section><h2>{title}</h2><p>{text}</p><figure aria-label="{title}">{chart}</figure></section>'


def _waiting(forecast: Forecast) -> str:
    if not forecast.waiting:
        return ""
    rows = (
        (f"{each['topic']}-{each['partition']}", ", ".join(map(str, each["replicas"])), each["reason"])
        for each in forecast.waiting[:NAMED]
    )
    text = f"Short of the target: {counted(forecast.waiting_partitions, 'partition')}."
    if forecast.waiting_partitions > NAMED:
        text += f" The first {NAMED} are here, summary.json has more."
    return _section("Waiting", text, _rows(("partition", "gets as far as", "why"), rows, "words"))


def _table(brokers: Sequence[Broker]) -> str:
    rows = (
        (
            str(each["broker"]),
            each["rack"] or "",
            "yes" if each["live"] else "no",
            in_bytes(each["bytes_in"]),
            in_bytes(each["bytes_out"]),
            in_time(each["seconds"]),
            *(f"{each[when]['replicas']:,}" for when in ("before", "after")),
            *(f"{each[when]['leaders']:,}" for when in ("before", "after")),
        )
        for each in brokers
    )
    names = ("broker", "rack", "live", "in", "out", "busy", "replicas", "after", "leaders", "after")
    return _section("Brokers", "", _rows(names, rows))


def _rows(names: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "numbers") -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return (
        '<div class="scroll"><table'
        f' class="{kind}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    )
