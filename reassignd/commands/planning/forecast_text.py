"""The forecast of the planner for a plan that is not executed yet."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from common.counted import counted
from controller.scheduling.plan_limits import LETTERS, PlanLimits
from planner.forecast import Forecast
from planner.plan import Target, make_plan, moves_of
from planner.report.units import in_bytes, in_time
from planner.schedule import schedule
from planner.snapshot import Snapshot

BANDWIDTH = 100 * 1024 * 1024
"""Bytes per second into, and out of, each broker, if nothing else is known."""


def forecast(
    targets: Iterable[Target],
    cluster: Snapshot,
    limits: PlanLimits | None = None,
    bandwidth: int | None = None,
) -> Forecast:
    """Compute the forecast. Raises PlanError."""
    moves = moves_of(list(targets), cluster)
    return make_plan(moves, cluster, limits or PlanLimits(), bandwidth or BANDWIDTH, schedule).forecast


def copy_lines(result: Forecast) -> Iterator[str]:
    """Yield a line about steps and copies, and one about the time."""
    steps = f"{counted(result.steps, 'step')} in {counted(result.waves, 'wave')}"
    copies = f"{counted(result.replica_movements, 'replica')} ({in_bytes(result.bytes)}) to copy"
    yield f"{steps}: {copies}, {counted(result.leader_movements, 'leader movement')}"
    took, least = in_time(result.seconds), in_time(result.least_seconds)
    yield f"forecast: {took} at {in_bytes(result.bandwidth)}/s per broker, at least {least}"


def forecast_lines(result: Forecast) -> Iterator[str]:
    """Yield the lines of the forecast."""
    yield from copy_lines(result)
    if result.waiting_partitions:
        first = result.waiting[0]
        yield (
            f"waits: {counted(result.waiting_partitions, 'partition')}, "
            f"the first is {first['topic']}-{first['partition']}: {first['reason']}"
        )


def limits_of(answer: Mapping[str, Any]) -> tuple[PlanLimits, int | None]:
    """Return the limits of an answer of `/v1/limits`, and the throttle or, without one, the bandwidth of its brokers."""
    values = {row["name"]: row["limit"] for row in answer["limits"] if row["limit"] is not None}
    throttle: int | None = values.get("throttle") or answer.get("bandwidth")
    return PlanLimits(
        **{field: values[letter] for field, letter in LETTERS.items() if letter in values}
    ), throttle
