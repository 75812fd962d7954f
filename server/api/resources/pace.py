"""`/v1/pace`: the latency of produces by broker, its target, and what pace does about it."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from controller.pace import pacer
from controller.pace.history import Sample
from controller.state.state import State
from server.api.shared.call import Call, Endpoint

Latency = Annotated[float | None, Meta(description="In ms; null while it is not known.")]
Effort = Annotated[
    float | None,
    Meta(
        description="Replicas that may move to the broker, and from it, at once; below 1 one in turns, "
        "or throttled."
    ),
]


class BrokerPace(Struct):
    """What pace does at a broker, and why."""

    id: int
    latency_ms: Annotated[
        float | None,
        Meta(description="The mean of the last seconds. Null while it is not known."),
    ]
    target_ms: Latency
    effort: Effort
    window: Annotated[
        int | None,
        Meta(description="Replicas to and from the broker that may start; null for no limit of pace."),
    ]
    throttle: Annotated[int | None, Meta(description="Of pace, in bytes per second; null for none.")]
    activity: Annotated[
        str, Meta(description="`learning`, `starting`, `growing`, `holding` or `backing off`.")
    ]
    reason: str


class PaceSample(Struct):
    """What was measured and done at a time."""

    time_ms: int
    brokers: Annotated[list[int], Meta(description="The other lists have a value for each of these brokers.")]
    latencies_ms: list[Latency]
    targets_ms: list[Latency]
    efforts: list[Effort]


class PaceState(Struct):
    """Whether pace is on, what it follows, and what it does."""

    mode: Literal["auto", "off"]
    target: Annotated[str | None, Meta(description="The target in words; null while pace is off.")]
    source: Annotated[
        str | None, Meta(description="What the latencies are those of; null while pace is off.")
    ]
    comparing: Annotated[
        bool, Meta(description="Whether little moves at present, to measure the latency without the move.")
    ]
    problem: Annotated[
        str | None, Meta(description="Why the target cannot be kept, or what cannot be measured.")
    ]
    brokers: list[BrokerPace]


class Pace(Struct):
    """The state of pace, and the samples of the last half hour."""

    now: PaceState
    samples: list[PaceSample]


class PaceQuery(Struct):
    """Parameters of `/v1/pace`."""

    since: Annotated[int, Meta(ge=0, description="Only samples after this time in milliseconds.")] = 0


async def pace(call: Call, query: PaceQuery) -> Pace:
    """Return the state of pace and its history."""
    samples = [_sample(each) for each in call.state.pace.history.samples(query.since)]
    return Pace(pace_state(call.state), samples)


def pace_state(state: State) -> PaceState:
    """Return what pace does now."""
    if state.pace.settings is None:
        return PaceState("off", None, None, False, None, [])
    following = state.pace.pacer
    return PaceState(
        "auto",
        state.pace.settings.text,
        following.source.value,
        following.comparing,
        following.problem or None,
        [_row(each) for each in following.brokers.values()],
    )


def _row(row: pacer.BrokerPace) -> BrokerPace:
    return BrokerPace(
        row.broker,
        _rounded(row.latency),
        _rounded(row.target),
        _rounded(row.effort),
        row.window,
        row.rate,
        row.activity.value,
        row.reason,
    )


def _sample(sample: Sample) -> PaceSample:
    rows = sample.rows
    return PaceSample(
        sample.time_ms,
        [row.broker for row in rows],
        [_rounded(row.latency) for row in rows],
        [_rounded(row.target) for row in rows],
        [_rounded(row.effort) for row in rows],
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)


ENDPOINTS = (
    Endpoint(
        "GET",
        "/v1/pace",
        "Get the latency of produces by broker, and what pace does about it.",
        pace,
        Pace,
        query=PaceQuery,
    ),
)
