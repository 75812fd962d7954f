"""Metrics of pace. Without pace there are none by broker."""

from collections.abc import Callable

from controller.pace.pacer import BrokerPace
from server.metrics.metric import Metric, Samples, gauge
from server.metrics.sources import Scrape


def _by_broker(read: Callable[[BrokerPace], float | None]) -> Callable[[Scrape], Samples]:
    def samples(scrape: Scrape) -> Samples:
        state = scrape.state
        for row in state.pacer.brokers.values() if state.pace is not None else ():
            value = read(row)
            if value is not None:
                yield (str(row.broker),), value

    return samples


def _seconds(ms: float | None) -> float | None:
    return None if ms is None else ms / 1000


PACE_METRICS = (
    gauge("reassignd_pace_on", lambda r: r.state.pace is not None, "Whether `reassignment.pace` is `auto`."),
    gauge(
        "reassignd_pace_comparing",
        lambda r: r.state.pacer.comparing,
        "Whether little moves at present, to measure the latency without the move.",
    ),
    gauge(
        "reassignd_pace_problem",
        lambda r: bool(r.state.pacer.problem),
        "Whether the target of pace cannot be kept, or the canary is not used; `reassignd status` tells why.",
    ),
    Metric(
        "reassignd_pace_latency_seconds",
        "gauge",
        ("broker",),
        _by_broker(lambda row: _seconds(row.latency)),
        "Latency that the canary has measured in the last seconds; three of four produces were faster.",
    ),
    Metric(
        "reassignd_pace_target_seconds",
        "gauge",
        ("broker",),
        _by_broker(lambda row: _seconds(row.target)),
        "Latency up to which pace lets more move.",
    ),
    Metric(
        "reassignd_pace_effort",
        "gauge",
        ("broker",),
        _by_broker(lambda row: row.effort),
        "Replicas that may move to the broker, and from it, at once; below 1 one in turns, or throttled.",
    ),
    Metric(
        "reassignd_pace_throttle_bytes_per_second",
        "gauge",
        ("broker",),
        _by_broker(lambda row: row.rate),
        "Throttle that pace has set; absent without one.",
    ),
)
