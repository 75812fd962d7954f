"""`execute --dry-run`: forecast a plan under the limits and the throttle of the running server."""

from collections.abc import Mapping
from time import time_ns
from typing import TYPE_CHECKING, Any, NamedTuple

from common.counted import counted
from common.json.text import parse
from common.plan_errors import PlanError
from controller.model.plan import read_plan
from controller.schedule.openings import seconds_until_done
from controller.schedule.periods import read_schedule
from planner.forecast import Forecast
from planner.report.units import in_bytes, in_time
from reassignd.commands.options import JSON
from reassignd.commands.planning.cluster_source import read_server
from reassignd.commands.planning.forecast_text import BANDWIDTH, forecast, forecast_lines, limits_of
from reassignd.commands.text import echo
from reassignd.errors import CommandError
from reassignd.printable import as_json

if TYPE_CHECKING:
    from reassignd.client import Client


class Rate(NamedTuple):
    """Bytes per second to and from each broker, and where they are known from."""

    bytes: int
    origin: str


class Scheduled(NamedTuple):
    """The time that the plan takes from now on if it runs in the periods of the schedule only.

    `schedule` is None without a schedule, `seconds` is None for more than 90 days.
    """

    schedule: str | None
    seconds: float | None


def print_forecast(client: "Client", plan: bytes, throttle: object, output_format: str) -> int:
    """Print the forecast of the plan; nothing is submitted. Return the exit code. Raises CommandError."""
    limits, of_server = limits_of(client.get("/v1/limits"))
    rate = _rate(throttle, of_server, client.get("/v1/status"))
    try:
        targets = [((entry.topic, entry.partition), entry.replicas) for entry in read_plan(parse(plan))]
        result = forecast(targets, read_server(client), limits, rate.bytes)
    except PlanError as error:
        raise CommandError(str(error)) from error
    scheduled = _scheduled(client.get("/v1/schedule")["schedule"], result)
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


def _scheduled(text: str | None, result: Forecast) -> Scheduled:
    """Return the time with the schedule, if the plan starts now."""
    if text is None:
        return Scheduled(None, result.seconds)
    schedule = read_schedule(text)
    if schedule.problem:
        raise CommandError(f"the schedule of the server cannot be read here: {schedule.problem}")
    size = result.seconds * result.bandwidth
    return Scheduled(text, seconds_until_done(schedule, time_ns() // 1_000_000, size, result.bandwidth))


def _print(result: Forecast, rate: Rate, scheduled: Scheduled) -> None:
    moving = result.partitions - result.unchanged
    echo(f"{counted(moving, 'partition')} to move, {result.unchanged:,} already at the target")
    for line in forecast_lines(result):
        echo(line)
    echo(f"rate: {in_bytes(rate.bytes)}/s to and from each broker, {rate.origin}")
    if scheduled.schedule is not None:
        took = "more than 90 days" if scheduled.seconds is None else in_time(scheduled.seconds)
        echo(f"within the schedule: {took} from now")
    echo("Nothing was submitted.")
