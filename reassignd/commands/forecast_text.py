"""The forecast of the planner for a plan that is not executed yet."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from common.clock import wall_clock
from common.lists import grouped
from common.rates import in_rate
from common.units import in_bytes, in_time
from common.wording import counted, some
from common.zones import host_zone
from controller.model.limits import PlanLimits
from controller.schedule.openings import seconds_until_done
from controller.schedule.periods import read_schedule
from controller.scheduling.limits import LIMITS, parse_limits
from planner.model.forecast import NO_RATES, Forecast
from planner.plan import BANDWIDTH
from reassignd.commands.output import waiting_lines
from reassignd.config.errors import CommandError

ORIGINS = {
    "throttle": "the throttle of the server",
    "measured": "the rate of the fastest broker now",
    "paced": "what pace permits now, or has permitted in the last half hour",
    "assumed": "assumed, because nothing moves now",
    "unpaced": (
        "assumed, because pace has permitted nothing in the last half hour; with producers it takes longer"
    ),
}
"""What the rates of `/v1/limits` are, by `rate_origin`."""

THROTTLED = ("throttle", "paced")
"""Those with which the lists of KIP-73 are set, so that the rates that others have set at brokers apply."""

NAMED = 10
"""Brokers that a line names."""


class Rate(NamedTuple):
    """Bytes per second to and from each broker, and where they are known from."""

    bytes: int
    origin: str
    of_others: Mapping[int, int] = NO_RATES
    """By broker the rates that others have set, and that apply there instead."""


class Scheduled(NamedTuple):
    """The time that the plan takes from now on if it runs in the periods of the schedule only.

    `schedule` is None without a schedule, `seconds` is None for more than 90 days.
    """

    schedule: str | None
    seconds: float | None


def copy_lines(result: Forecast) -> Iterator[str]:
    """Yield a line about steps and copies, and one about the time."""
    steps = f"{counted(result.steps, 'step')} in {counted(result.waves, 'wave')}"
    copies = f"{counted(result.replica_movements, 'replica')} ({in_bytes(result.bytes)}) to copy"
    yield f"{steps}: {copies}, {counted(result.leader_movements, 'leader movement')}"
    if result.tiered_partitions:
        tiered = counted(result.tiered_partitions, "partition")
        yield f"{tiered} in tiered topics: only the local part counts and is copied"
    took, least = in_time(result.seconds), in_time(result.least_seconds)
    yield f"forecast: {took} at {in_rate(result.bandwidth)} per broker, at least {least}"
    if result.outpaced_brokers:
        yield outpaced_line(result.outpaced_brokers)


def outpaced_line(brokers: int) -> str:
    """Return the line about brokers that copy no faster than producers write."""
    who = counted(brokers, "broker")
    return f"{who} would copy no faster than producers write to the same partitions: that does not end"


def forecast_lines(result: Forecast) -> Iterator[str]:
    """Yield the lines of the forecast."""
    yield from copy_lines(result)
    yield from waiting_lines(result.waiting_partitions, result.waiting)


def within_schedule(text: str | None, result: Forecast) -> Scheduled:
    """Return the time with `reassignment.schedule`, if the plan starts now. Raises CommandError."""
    if text is None:
        return Scheduled(None, result.seconds)
    schedule = read_schedule(text, host_zone)
    if schedule.problem:
        raise CommandError(f"the schedule of the server cannot be read here: {schedule.problem}")
    size = result.seconds * result.bandwidth
    return Scheduled(text, seconds_until_done(schedule, wall_clock(), size, result.bandwidth))


def schedule_lines(scheduled: Scheduled) -> Iterator[str]:
    """Yield a line about the time with the schedule, if there is one."""
    if scheduled.schedule is not None:
        took = "more than 90 days" if scheduled.seconds is None else in_time(scheduled.seconds)
        yield f"within the schedule: {took} from now"


def limits_of(answer: Mapping[str, Any], own: str | None = None) -> PlanLimits:
    """Return the limits of an answer of `/v1/limits`, or a job's `own` ones, such as `P=20`, where lower."""
    values = {row["name"]: row["limit"] for row in answer["limits"] if row["limit"] is not None}
    limits = PlanLimits(**{limit.field: values[limit.name] for limit in LIMITS if limit.name in values})
    return limits.lower(parse_limits(own or ""))


def rate_of(answer: Mapping[str, Any], throttle: int | None = None) -> Rate:
    """Return the rate that an answer of `/v1/limits` expects of a job with this throttle."""
    others = {broker: row["bytes_per_second"] for row in answer["set_by_others"] for broker in row["brokers"]}
    if throttle is not None:
        return Rate(throttle, "the given throttle", others)
    if answer["bandwidth"] is None:
        return Rate(BANDWIDTH, "assumed, because the server expects none")
    origin = answer["rate_origin"]
    return Rate(answer["bandwidth"], ORIGINS[origin], others if origin in THROTTLED else NO_RATES)


def circumstance_lines(rate: Rate, answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for what slows or holds the plan now, from an answer of `/v1/limits`."""
    for value, brokers in sorted(_by_rate(rate.of_others).items()):
        yield f"rate set by others: {in_rate(value)} to and from {_named(brokers)}, in place of that"
    for obstacle in answer["obstacles"]:
        yield f"now: {obstacle}"


def _by_rate(rates: Mapping[int, int]) -> dict[int, list[int]]:
    return grouped((rate, broker) for broker, rate in sorted(rates.items()))


def _named(brokers: Sequence[int]) -> str:
    return f"broker{'s' * (len(brokers) > 1)} {some(brokers, NAMED)}"
