"""`/v1/plans/review`: what a plan would do, before it is submitted."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from common.plan_errors import Faults
from controller.model.cluster import TopicPartition
from controller.model.limits import UNLIMITED
from controller.model.plan import Entries, Entry, Plan, examine_plan
from controller.state.state import State
from controller.views.jobs import obstacles
from controller.views.reassignments import is_under_way
from server.api.resources.snapshot import rows
from server.api.shared.answers import encoded_lines
from server.api.shared.call import Call, Endpoint
from server.api.shared.errors import HttpError
from server.api.shared.forecasts import (
    ForecastRate,
    applying_rates,
    by_rate,
    forecast_rate,
    scheduled_seconds,
)
from server.api.shared.models import (
    Obstacles,
    OutpacedBrokers,
    RateOrigin,
    ThrottledBrokers,
    TieredPartitions,
    WaitingPartition,
)
from server.api.shared.plans import checked
from server.api.shared.proposals import ProposedLoad


class ReviewOptions(Struct, forbid_unknown_fields=True):
    """Query parameters of a review."""

    throttle: (
        Annotated[
            int,
            Meta(
                ge=1,
                le=2**63 - 1,
                description="Bytes per second to and from each broker, for the job of the plan. A lower"
                " throttle of the cluster or another job, or a lower pace, counts instead (`rate_origin`).",
            ),
        ]
        | UnsetType
    ) = UNSET


class ReviewedBroker(Struct):
    """A broker before and after the plan."""

    broker: int
    rack: str | None
    live: bool
    before: ProposedLoad
    after: ProposedLoad
    gains: Annotated[int, Meta(description="Replicas that are copied to it.")]
    losses: Annotated[int, Meta(description="Replicas that it drops.")]
    bytes_in: int
    bytes_out: int
    seconds: Annotated[float, Meta(description="Time that its traffic takes at the bandwidth.")]


class Review(Struct):
    """What a plan would do under the limits in force. Nothing moves."""

    partitions: Annotated[int, Meta(description="Entries of the plan.")]
    unchanged: Annotated[int, Meta(description="Partitions that have the target replicas.")]
    under_way: Annotated[
        int,
        Meta(description="Partitions that are being reassigned or queued; the plan changes their target."),
    ]
    steps: int
    waves: int
    replica_movements: int
    leader_movements: int
    bytes: Annotated[int, Meta(description="Bytes to copy.")]
    bandwidth: Annotated[int, Meta(description="Bytes per second into, and out of, each broker.")]
    rate_origin: RateOrigin
    set_by_others: Annotated[
        list[ThrottledBrokers],
        Meta(description="Rates that others have set at brokers, and that the forecast uses there."),
    ]
    obstacles: Obstacles
    seconds: Annotated[float, Meta(description="Time that the waves take, one after the other.")]
    scheduled_seconds: Annotated[
        float | None,
        Meta(
            description="Time from now on, if the waves run in the periods of the schedule, with their "
            "throttles; `seconds` without a schedule, null for more than 90 days."
        ),
    ]
    least_seconds: Annotated[float, Meta(description="Time that the busiest broker needs in any case.")]
    limits: Annotated[dict[str, int], Meta(description="The limits in force, by letter.")]
    waiting_partitions: int
    waiting: Annotated[list[WaitingPartition], Meta(description="The first 100 of them.")]
    brokers: list[ReviewedBroker]
    tiered_partitions: TieredPartitions = 0
    outpaced_brokers: OutpacedBrokers = 0


MAX_ENTRIES = 50_000
"""Larger plans are forecast by `reassignd plan`, with Spark."""

MAX_BYTES = 16 * 1024 * 1024
"""Bytes of a plan: MAX_ENTRIES with long names and ten replicas each."""


async def review(call: Call, options: ReviewOptions) -> Review:
    """Forecast a plan under the limits in force. One invalid entry refuses the whole plan."""

    def read(value: object) -> tuple[Entries, Faults]:
        entries, faults = examine_plan(value)
        check_size(len(entries))
        return entries, faults

    async def entries() -> Sequence[Entry]:
        return await checked(call, *await call.read_body(read, MAX_BYTES))

    return await reviewed(call, entries, options)


def check_size(entries: int) -> None:
    """Refuse a plan that is too large to be forecast here. Raises HttpError."""
    if entries > MAX_ENTRIES:
        raise HttpError(
            422, f"the plan has {entries:,} entries: `reassignd plan` forecasts more than {MAX_ENTRIES:,}"
        )


async def reviewed(
    call: Call,
    read: Callable[[], Awaitable[Sequence[Entry]]],
    options: ReviewOptions,
    *,
    elects: bool = False,
) -> Review:
    """Forecast the entries that `read` returns, once there is a place for the review. Raises HttpError.

    `elects`: the job elects the preferred leaders, which limit L counts.
    """
    reviews = call.services.reviews
    if reviews is None:
        raise HttpError(501, "This server reviews no plans.")
    bandwidth, origin = _rate(call, options.throttle, reviews.bandwidth())
    rates = applying_rates(call.state, origin)
    slots = reviews.of(call.identity.role)
    with slots.opened():
        entries = await read()
        head = await call.compute(len(entries), _head, call.state, entries, bandwidth, rates, elects)
        answer = await call.while_connected(slots.forecast(lambda: _request(call, head)))
    keys = (TopicPartition(entry.topic, entry.partition) for entry in entries)
    under_way = sum(is_under_way(call.state, key) for key in keys)
    changed = {
        "brokers": [_broker(row) for row in answer["brokers"]],
        "limits": {name.upper(): limit for name, limit in answer["limits"].items() if limit < UNLIMITED},
        "under_way": under_way,
        "rate_origin": origin,
        "set_by_others": by_rate(rates),
        "obstacles": obstacles(call.state),
        "scheduled_seconds": scheduled_seconds(
            call.state, answer["seconds"] * bandwidth, bandwidth, answer["seconds"]
        ),
    }
    return msgspec.convert(answer | changed, Review)


def _rate(call: Call, given: int | UnsetType, unthrottled: int) -> ForecastRate:
    """Return the given rate, unless what applies to all jobs is lower: the lowest one is in force.

    Without pace, the throttles of the schedule's periods are in `scheduled_seconds` only.
    """
    others = forecast_rate(call.state, call.services.progress, unthrottled)
    if given is UNSET or (others.origin is RateOrigin.PACED and others.bytes < given):
        return others
    lowest = min(call.state.throttle.rates.values(), default=given)
    if lowest < given:
        return ForecastRate(lowest, RateOrigin.THROTTLE)
    return ForecastRate(given, RateOrigin.GIVEN)


def _head(
    state: State, entries: Sequence[Entry], bandwidth: int, rates: Mapping[int, int], elects: bool
) -> bytes:
    limits = state.backlog.usage.limits._asdict()
    targets = [entry[:3] for entry in entries]
    request = {
        "targets": targets,
        "limits": limits,
        "bandwidth": bandwidth,
        "rates": list(rates.items()),
        "elects": elects,
    }
    return msgspec.json.encode(request) + b"\n"


async def _request(call: Call, head: bytes) -> AsyncIterator[bytes]:
    yield head
    services = call.services
    cluster = rows(services.cluster_id(), call.state, services.sizes, services.load)
    async for piece in encoded_lines(cluster):
        yield piece


def _broker(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row of a broker with the replicas that it gains and loses."""
    gains = row["replicas_in"]
    losses = row["before"]["replicas"] + gains - row["after"]["replicas"]
    return row | {"gains": gains, "losses": losses}


ENDPOINTS = (
    Endpoint(
        "POST",
        "/v1/plans/review",
        "Forecast a plan: brokers before and after, steps, bytes and time. Nothing moves.",
        review,
        Review,
        Plan,
        ReviewOptions,
        changes_nothing=True,
    ),
)
