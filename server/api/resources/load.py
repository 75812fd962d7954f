"""`/v1/load`: what producers write and consumers read, by broker, topic or partition (docs/load.md)."""

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct, field

from controller.model.configs import (
    LOAD_METRICS_TOPIC,
    LOAD_PROMETHEUS,
    LOAD_PROMETHEUS_BROKERS,
    LOAD_SAMPLING,
    ConfigChange,
    ConfigOp,
)
from controller.model.load import LoadRow, LoadSort, LoadSummary, LoadUnit, Quality, Rates
from server.api.shared.call import Call, Endpoint
from server.api.shared.cluster_configs import alter_cluster_configs
from server.api.shared.errors import HttpError
from server.api.shared.models import Page

Rate: TypeAlias = Annotated[float | None, Meta(description="Bytes per second; null if it is not known.")]


class LoadRates(Struct):
    """Bytes per second: of the last minutes, in the busy hour of the cluster, and in a mean hour. Null is not known."""  # noqa: E501 (part of the OpenAPI document)

    bytes_in: Annotated[float | None, Meta(description="What producers write.")] = field(name="in")
    bytes_out: Annotated[float | None, Meta(description="What consumers read at least.")] = field(name="out")
    busy_in: Annotated[float | None, Meta(description="`in` during the busy hour.")] = field(name="in_busy")
    busy_out: Annotated[float | None, Meta(description="`out` during the busy hour.")] = field(
        name="out_busy"
    )
    mean_in: Annotated[float | None, Meta(description="Mean of `in` over the hours of the day.")] = field(
        name="in_mean"
    )
    mean_out: Annotated[float | None, Meta(description="Mean of `out` over the hours of the day.")] = field(
        name="out_mean"
    )


class Hour(Struct):
    """All partitions together in one hour of the day, as a mean over about seven days."""

    bytes_in: Rate = field(name="in")
    bytes_out: Rate = field(name="out")


class Load(Struct):
    """The load of a broker as the leader of its partitions, of a topic, or of a partition."""

    broker: Annotated[int | None, Meta(description="With `by=partition` its leader; null for a topic.")]
    topic: str | None
    partition: int | None
    rates: LoadRates
    replication_in: Annotated[
        float | None, Meta(description="What the followers on a broker fetch; null for others.")
    ]
    replication_out: Annotated[
        float | None, Meta(description="What followers elsewhere fetch from a broker; null for others.")
    ]
    quality: Annotated[
        Quality,
        Meta(
            description="How `in` was found: by the growth of logs (exact), for a part by the number of "
            "records and their mean size (estimated), or not at all (unknown)."
        ),
    ]
    coverage: Annotated[
        float, Meta(description="Fraction of its partitions whose `in` is known, from 0 to 1.")
    ]
    measured_ms: Annotated[
        int | None, Meta(description="When a broker has answered last; null for others, and before that.")
    ]
    cpu: Annotated[
        float | None,
        Meta(
            description="The fraction of a broker's CPU in use, by a Prometheus or Cruise Control's metrics"
            " topic; null if it is not known."
        ),
    ]


class LoadAnswer(Struct):
    """The measured load."""

    sampling: Annotated[bool, Meta(description="`reassignment.load.sampling` is on.")]
    problems: Annotated[list[str], Meta(description="Why figures are missing, one line each.")]
    measured_ms: Annotated[
        int | None, Meta(description="When the last round has ended; null before the first one.")
    ]
    coverage: Annotated[
        float, Meta(description="Fraction of all partitions whose `in` is known, from 0 to 1.")
    ]
    all: Annotated[LoadRates, Meta(description="All partitions together, as far as they are known.")]
    busy_hour: Annotated[
        int | None, Meta(description="The hour of the day, in UTC, in which producers write most.")
    ]
    hours: Annotated[list[Hour], Meta(description="The 24 hours of the day in UTC; none before a round.")]
    matched: Annotated[
        list[str],
        Meta(description="Figures that are not from the protocol, with their sources, one line each."),
    ]
    total: Annotated[int, Meta(description="Number of rows of all pages.")]
    rows: list[Load]
    next: Annotated[int | None, Meta(description="The `offset` of the next page.")]


class LoadPageQuery(Page, forbid_unknown_fields=True):
    """Which rows to return."""

    by: Annotated[LoadUnit, Meta(description="What a row is about.")] = LoadUnit.BROKER
    sort: Annotated[LoadSort, Meta(description="By what rows are in descending order.")] = LoadSort.IN


class LoadChange(Struct, forbid_unknown_fields=True):
    """What is to change. What is left out stays as it is."""

    sampling: Annotated[bool | None, Meta(description="`reassignment.load.sampling`.")] = None
    prometheus: Annotated[
        str | None, Meta(description='`reassignment.load.prometheus.url`; "" for none.')
    ] = None
    prometheus_brokers: Annotated[
        str | None, Meta(description='`reassignment.load.prometheus.brokers`; "" for none.')
    ] = None
    metrics_topic: Annotated[
        str | None, Meta(description='`reassignment.load.metrics.topic`; "" for none.')
    ] = None


async def load(call: Call, query: LoadPageQuery) -> LoadAnswer:
    """Return the rows with the most load first."""
    loads = call.services.load
    if loads is None:
        return _answer(LoadSummary(False), [], 0, None)
    summary = loads.summary()
    page = await call.off_loop.run(loads.page, query.by, query.sort, query.offset, query.limit)
    rows = [_row(each) for each in page.rows]
    return _answer(summary, rows, page.total, query.next(len(rows), page.total))


async def change(call: Call) -> LoadAnswer:
    """Switch sampling on or off, or take another source of bytes out and CPU. It is durable."""
    change = await call.body(LoadChange)
    values = {
        LOAD_PROMETHEUS: change.prometheus,
        LOAD_PROMETHEUS_BROKERS: change.prometheus_brokers,
        LOAD_METRICS_TOPIC: change.metrics_topic,
    }
    if change.sampling is not None:
        values[LOAD_SAMPLING] = _sampling(call, change.sampling)
    changes = [_change(key, value) for key, value in values.items() if value is not None]
    if not changes:
        raise HttpError(400, f"name what is to change: {', '.join(LoadChange.__struct_fields__)}")
    await alter_cluster_configs(call, changes)
    return await load(call, LoadPageQuery())


async def alter_sampling(call: Call, on: bool) -> None:
    """Switch sampling on or off. It is durable. Raises HttpError."""
    await alter_cluster_configs(call, [_change(LOAD_SAMPLING, _sampling(call, on))])


def _sampling(call: Call, on: bool) -> str:
    """Return the value of the config; empty for none.

    Where nothing else says on, no value is left: old tools of Kafka stumble over configs that brokers do not
    know.
    """
    elsewhere = call.state.settings.static_configs.get(LOAD_SAMPLING)
    return "on" if on else "off" if elsewhere == "on" else ""


def _change(key: str, value: str) -> ConfigChange:
    return ConfigChange(key, ConfigOp.SET if value else ConfigOp.DELETE, value or None)


def _answer(summary: LoadSummary, rows: list[Load], total: int, following: int | None) -> LoadAnswer:
    return LoadAnswer(
        summary.sampling,
        list(summary.problems),
        summary.measured_ms,
        summary.coverage,
        _rates(summary.rates),
        summary.busy_hour,
        [Hour(each.bytes_in, each.bytes_out) for each in summary.hours],
        list(summary.matched),
        total,
        rows,
        following,
    )


def _row(row: LoadRow) -> Load:
    return Load(
        row.broker,
        row.topic,
        row.partition,
        _rates(row.rates),
        row.replication_in,
        row.replication_out,
        row.quality,
        row.coverage,
        row.measured_ms,
        row.cpu,
    )


def _rates(rates: Rates) -> LoadRates:
    return LoadRates(*rates)


ENDPOINTS = (
    Endpoint(
        "GET",
        "/v1/load",
        "Get what producers write and consumers read, by broker, topic or partition, the most first.",
        load,
        LoadAnswer,
        query=LoadPageQuery,
        shared=True,
    ),
    Endpoint(
        "POST",
        "/v1/load",
        "Measure load, or end that, and set the source of bytes out and CPU.",
        change,
        LoadAnswer,
        LoadChange,
    ),
)
