"""`execute --dry-run`: forecast a plan under the limits and the throttle of the running server."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from common.json.text import parse
from common.rates import in_rate
from common.wording import as_json, counted
from controller.model.plan import read_plan
from controller.model.replicas import Replicas
from planner.model.forecast import Forecast
from planner.model.snapshot import TOPIC_PARTITION, Snapshot
from planner.plan import forecast
from reassignd.commands.cluster_source import read_server
from reassignd.commands.forecast_text import (
    Rate,
    Scheduled,
    circumstance_lines,
    forecast_lines,
    limits_of,
    rate_of,
    schedule_lines,
    within_schedule,
)
from reassignd.commands.options import JSON
from reassignd.commands.output import echo

if TYPE_CHECKING:
    from reassignd.client import Client


def print_forecast(client: "Client", plan: bytes, options: Mapping[str, Any], output_format: str) -> int:
    """Print the forecast of the plan; nothing is submitted. Return the exit code. Raises PlanError."""
    answer = client.get("/v1/limits")
    limits = limits_of(answer, options["limits"])
    rate = rate_of(answer, options["throttle"])
    targets = [((entry.topic, entry.partition), entry.replicas) for entry in read_plan(parse(plan))]
    cluster = read_server(client)
    result = forecast(targets, cluster, limits, rate.bytes, rate.of_others)
    unknown = sum(_copies_unknown(cluster, *target) for target in targets)
    scheduled = within_schedule(client.get("/v1/schedule")["schedule"], result)
    if output_format == JSON:
        parts = {"forecast": result._asdict(), "rate": rate._asdict(), "scheduled": scheduled._asdict()}
        echo(as_json(parts | {"obstacles": answer["obstacles"]}))
    else:
        _print(result, rate, scheduled, unknown, answer)
    return 0


def _copies_unknown(cluster: Snapshot, key: TOPIC_PARTITION, target: Replicas) -> bool:
    """Return whether the partition gets new replicas whose size is not known."""
    partition = cluster.partitions[key]
    return partition.bytes is None and not set(target) <= set(partition.replicas)


def _print(
    result: Forecast, rate: Rate, scheduled: Scheduled, unknown: int, limits: Mapping[str, Any]
) -> None:
    moving = result.partitions - result.unchanged
    echo(f"{counted(moving, 'partition')} to move, {result.unchanged:,} already at the target")
    for line in forecast_lines(result):
        echo(line)
    if unknown:
        echo(
            f"sizes: not known for {counted(unknown, 'partition')} to copy, counted as 0 bytes;"
            " a gateway reads sizes once a minute"
        )
    echo(f"rate: {in_rate(rate.bytes)} to and from each broker, {rate.origin}")
    for line in circumstance_lines(rate, limits):
        echo(line)
    for line in schedule_lines(scheduled):
        echo(line)
    echo("Nothing was submitted.")
