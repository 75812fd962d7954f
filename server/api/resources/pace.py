"""`/v1/pace`: the latency of produces by broker, its target, and what pace does about it."""

from controller.pace import pacer
from controller.pace.history import Sample
from controller.state.state import State
from server.api.call import Call
from server.api.models.pace import BrokerPace, Pace, PaceQuery, PaceSample, PaceState
from server.api.table import Endpoint


async def pace(call: Call, query: PaceQuery) -> Pace:
    """Return the state of pace and its history."""
    samples = [_sample(each) for each in call.state.pace_history.samples(query.since)]
    return Pace(pace_state(call.state), samples)


def pace_state(state: State) -> PaceState:
    """Return what pace does now."""
    if state.pace is None:
        return PaceState("off", None, None, False, None, [])
    following = state.pacer
    return PaceState(
        "auto",
        state.pace.text,
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
