"""`/v1/schedule`: the periods in which steps may start, and their throttles."""

from common.clock import wall_clock
from controller.configs.names import SCHEDULE
from controller.configs.values import CLUSTER_DEFAULT
from controller.messages.events import AlterConfigs, ResourceChanges
from controller.model.cluster import ResourceType
from controller.model.configs import ConfigChange, ConfigOp
from controller.schedule import periods
from controller.schedule.openings import ANY_TIME, Opening, closed_reason, opening_at
from controller.schedule.periods import DAYS, ScheduleError, clock, parse_schedule
from server.api.call import Call
from server.api.errors import HttpError, require
from server.api.models.schedule import Schedule, ScheduleChange, SchedulePeriod, ScheduleState
from server.api.table import Endpoint


async def schedule(call: Call) -> Schedule:
    """Return the schedule, and what it permits now."""
    state = call.state
    text = state.config(ResourceType.BROKER, CLUSTER_DEFAULT, SCHEDULE)
    return _shown(text, state.schedule, state.opening)


async def change(call: Call) -> Schedule:
    """Set the schedule, or remove it with null. Steps in flight are not affected, but their throttle is."""
    text = (await call.body(ScheduleChange)).schedule
    changed = ConfigChange(SCHEDULE, ConfigOp.DELETE if text is None else ConfigOp.SET, text)
    resource = ResourceChanges(ResourceType.BROKER, CLUSTER_DEFAULT, [changed])
    [outcome] = await call.submit(AlterConfigs([resource], requester=call.requester))
    require(outcome)
    return await schedule(call)


async def preview(call: Call) -> Schedule:
    """Return what a schedule would permit now. Nothing is changed."""
    text = (await call.body(ScheduleChange)).schedule
    if text is None or not text.strip():
        return _shown(None, None, ANY_TIME)
    try:
        parsed = parse_schedule(text)
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
