"""The models of `/v1/schedule`."""

from typing import Annotated

from msgspec import Meta, Struct

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
            description="Bytes per second. After a period, that of the period remains for the steps in flight."
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
