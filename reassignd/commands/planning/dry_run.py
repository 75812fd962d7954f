"""`execute --dry-run`: forecast a plan under the limits and the throttle of the running server."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from common.counted import counted
from common.json.text import parse
from common.plan_errors import PlanError
from controller.model.plan import read_plan
from planner.forecast import Forecast
from planner.report.units import in_bytes
from reassignd.commands.options import JSON
from reassignd.commands.planning.cluster_source import read_server
from reassignd.commands.planning.forecast_text import (
    BANDWIDTH,
    Scheduled,
    forecast,
    forecast_lines,
    limits_of,
    schedule_lines,
    within_schedule,
)
from reassignd.commands.text import echo
from reassignd.errors import CommandError
from reassignd.printable import as_json

if TYPE_CHECKING:
    from reassignd.client import Client


class Rate(NamedTuple):
    """Bytes per second to and from each broker, and where they are known from."""

    bytes: int
    origin: str


def print_forecast(client: "Client", plan: bytes, throttle: object, output_format: str) -> int:
    """Print the forecast of the plan; nothing is submitted. Return the exit code. Raises CommandError."""
    limits, of_server = limits_of(client.get("/v1/limits"))
    rate = _rate(throttle, of_server, client.get("/v1/status"))
    try:
        targets = [((entry.topic, entry.partition), entry.replicas) for entry in read_plan(parse(plan))]
        result = forecast(targets, read_server(client), limits, rate.bytes)
    except PlanError as error:
        raise CommandError(str(error)) from error
    scheduled = within_schedule(client.get("/v1/schedule")["schedule"], result)
    if output_format == JSON:
        parts = {"forecast": result._asdict(), "rate": rate._asdict(), "scheduled": scheduled._asdict()}
        echo(as_json(parts))
    else:
        _print(result, rate, scheduled)
    return 0


def _rate(throttle: object, of_server: int | None, status: Mapping[str, Any]) -> Rate:
    """Return the rate of the option, of the server's throttle, as measured now, or an assumed one."""
    if isinstance(throttle, int):
        return Rate(throttle, "the given throttle")
    if of_server is not None:
        return Rate(of_server, "the throttle of the server")
    measured = [row["rate"] for row in status["incoming"] if row["rate"]]
    if measured:
        return Rate(max(measured), "the rate of the fastest broker now")
    return Rate(BANDWIDTH, "assumed, because nothing moves now")


def _print(result: Forecast, rate: Rate, scheduled: Scheduled) -> None:
    moving = result.partitions - result.unchanged
    echo(f"{counted(moving, 'partition')} to move, {result.unchanged:,} already at the target")
    for line in forecast_lines(result):
        echo(line)
    echo(f"rate: {in_bytes(rate.bytes)}/s to and from each broker, {rate.origin}")
    for line in schedule_lines(scheduled):
        echo(line)
    echo("Nothing was submitted.")
