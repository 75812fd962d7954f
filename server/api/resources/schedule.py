"""`/v1/schedule`: the periods in which steps may start, and their throttles."""

from typing import Annotated

from msgspec import Meta, Struct

from common.clock import wall_clock
from controller.model.cluster import ResourceType
from controller.model.configs import SCHEDULE, ConfigChange, ConfigOp
from controller.schedule import periods
from controller.schedule.openings import ANY_TIME, Opening, closed_reason, opening_at
from controller.schedule.periods import DAYS, ScheduleError, clock, parse_schedule
from controller.state.settings import CLUSTER_DEFAULT
from server.api.shared.call import Call, Endpoint
from server.api.shared.cluster_configs import alter_cluster_configs
from server.api.shared.errors import HttpError

Throttle = Annotated[int | None, Meta(description="Bytes per second; null for none.")]


class SchedulePeriod(Struct):
    """A period in which steps may start. It begins on each of the days."""

    days: Annotated[list[str], Meta(description="Mon to Sun.")]
    start: Annotated[str, Meta(description="HH:MM")]
    end: Annotated[str, Meta(description="HH:MM. Not after `start`: on the next day.")]
    throttle: Throttle


class ScheduleState(Struct):
    """What the schedule permits now."""

    open: Annotated[bool, Meta(description="Whether steps may start.")]
    throttle: Annotated[
        int | None,
        Meta(
            description="Bytes per second. After a period, that of the period remains for the steps in "
            "flight."
        ),
    ]
    until_ms: Annotated[int | None, Meta(description="The next change; null if it is not known.")]
    reason: Annotated[str | None, Meta(description="Why steps do not start; null while they may.")]


class Schedule(Struct):
    """The schedule."""

    schedule: Annotated[str | None, Meta(description="`reassignment.schedule`; null without a schedule.")]
    time_zone: Annotated[str | None, Meta(description="Name in the IANA database.")]
    now: ScheduleState
    periods: list[SchedulePeriod]


class ScheduleChange(Struct, forbid_unknown_fields=True):
    """The new schedule."""

    schedule: Annotated[
        str | None,
        Meta(description="Such as `Mon-Fri 22:00-06:00 throttle=50MB; tz=Europe/Berlin`. Null for none."),
    ]


async def schedule(call: Call) -> Schedule:
    """Return the schedule, and what it permits now."""
    state = call.state
    text = state.settings.config(ResourceType.BROKER, CLUSTER_DEFAULT, SCHEDULE)
    return _shown(text, state.settings.schedule, state.settings.opening)


async def change(call: Call) -> Schedule:
    """Set the schedule, or remove it with null. Steps in flight are not affected, but their throttle is."""
    text = (await call.body(ScheduleChange)).schedule
    changed = ConfigChange(SCHEDULE, ConfigOp.DELETE if text is None else ConfigOp.SET, text)
    await alter_cluster_configs(call, [changed])
    return await schedule(call)


async def preview(call: Call) -> Schedule:
    """Return what a schedule would permit now. Nothing is changed."""
    text = (await call.body(ScheduleChange)).schedule
    if text is None or not text.strip():
        return _shown(None, None, ANY_TIME)
    try:
        parsed = parse_schedule(text, call.state.settings.zones)
    except ScheduleError as error:
        raise HttpError(400, str(error)) from error
    return _shown(text, parsed, opening_at(parsed, wall_clock()))


def state_of(parsed: periods.Schedule | None, opening: Opening) -> ScheduleState:
    """Return what the schedule permits as the API shows it."""
    reason = None if opening.is_open else closed_reason(parsed, opening)
    return ScheduleState(opening.is_open, opening.throttle, opening.until_ms or None, reason)


def _shown(text: str | None, parsed: periods.Schedule | None, opening: Opening) -> Schedule:
    rows = [
        SchedulePeriod([DAYS[day] for day in days], clock(start), clock(end, end=True), throttle)
        for days, start, end, throttle in (parsed.periods if parsed else ())
    ]
    zone = parsed.zone if parsed else None
    return Schedule(text if parsed else None, zone, state_of(parsed, opening), rows)


ENDPOINTS = (
    Endpoint("GET", "/v1/schedule", "Get the schedule, and what it permits now.", schedule, Schedule),
    Endpoint("PUT", "/v1/schedule", "Set or remove the schedule.", change, Schedule, ScheduleChange),
    Endpoint(
        "POST",
        "/v1/schedule/preview",
        "Check a schedule, and get what it would permit now.",
        preview,
        Schedule,
        ScheduleChange,
        changes_nothing=True,
    ),
)
