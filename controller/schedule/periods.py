"""The text of a schedule: `Mon-Fri 22:00-06:00 throttle=50MB; Sat,Sun 00:00-24:00; tz=Europe/Berlin`."""

import re
from collections.abc import Callable
from datetime import UTC, tzinfo
from typing import NamedTuple

from common.rates import read_rate

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
DAY = 24 * 60
"""Minutes of a day on the clock."""
MAX_PERIODS = 50
MAX_RATE = 2**63 - 1
EXAMPLE = "Mon-Fri 22:00-06:00 throttle=50MB; Sat,Sun 00:00-24:00; tz=Europe/Berlin"

_ENTRY = re.compile(
    r"(?:(?P<days>[^\d=]*[^\d=\s])\s+)?(?P<start>\d\d?:\d\d)\s*-\s*(?P<end>\d\d?:\d\d)(?:\s+throttle\s*=(?P<rate>.*))?",
    re.IGNORECASE | re.ASCII,
)
_NUMBER_OF_DAY = {name.lower(): number for number, name in enumerate(DAYS)}


Zones = Callable[[str], tzinfo | None]
"""Port: return the zone of the IANA database that has this name; None if the host does not know it."""


def no_zones(name: str) -> None:
    """Know no zone, as a host without zone data. Schedules in UTC need none."""


class ScheduleError(ValueError):
    """The text is not a schedule. The message names the entry and what is allowed."""


class Period(NamedTuple):
    """A period of a day, in minutes after midnight. It begins on each of `days` (0 is Monday).

    `end` is greater than `start`; it is greater than `DAY` if the period ends on the next day.
    """

    days: tuple[int, ...]
    start: int
    end: int
    throttle: int | None
    """Bytes per second; None for no throttle of its own."""


class Schedule(NamedTuple):
    """Steps may start in the periods only. `problem` is set instead of periods if the text is not valid."""

    periods: tuple[Period, ...]
    zone: str = "UTC"
    """As the text names it."""
    problem: str = ""
    tz: tzinfo = UTC
    """The zone itself."""


def parse_schedule(text: str, zones: Zones) -> Schedule:
    """Return the schedule. Entries are separated by `;`, their order has no meaning. Raises ScheduleError."""
    periods: list[Period] = []
    names: list[str] = []
    for entry in filter(None, map(str.strip, text.split(";"))):
        setting, equals, value = entry.partition("=")
        if equals and setting.strip().lower() == "tz":
            names.append(value.strip())
        else:
            periods.append(_period(entry))
    if len(names) > 1:
        raise ScheduleError(f"'tz={names[1]}': there is one time zone for the whole schedule")
    if not periods:
        raise ScheduleError("there is no period: expected at least one, such as Mon-Fri 22:00-06:00")
    if len(periods) > MAX_PERIODS:
        raise ScheduleError(f"there are {len(periods)} periods: expected at most {MAX_PERIODS}")
    name = names[0] if names else "UTC"
    return Schedule(tuple(periods), name, tz=_zone_of(name, zones))


def read_schedule(text: str, zones: Zones) -> Schedule:
    """Return the stored schedule. One that is not valid, for instance without zone data, has no periods."""
    try:
        return parse_schedule(text, zones)
    except ScheduleError as error:
        return Schedule((), problem=str(error))


def clock(minutes: int, *, end: bool = False) -> str:
    """Return the time of day; with `end`, midnight is 24:00."""
    shown = minutes if end and minutes == DAY else minutes % DAY
    return f"{shown // 60:02}:{shown % 60:02}"


def _zone_of(name: str, zones: Zones) -> tzinfo:
    if name.upper() in {"UTC", "Z"}:
        return UTC
    zone = zones(name)
    if zone is not None:
        return zone
    if zones("Europe/Berlin") is None:
        raise ScheduleError(
            f"'tz={name[:60]}': this system has no zone data: install tzdata, or use UTC, the only zone"
            " without it"
        )
    raise ScheduleError(f"'tz={name[:60]}' is not a time zone: expected a name such as Europe/Berlin or UTC")


def _period(entry: str) -> Period:
    match = _ENTRY.fullmatch(entry)
    if match is None:
        raise ScheduleError(f"'{entry[:60]}': expected [DAYS] HH:MM-HH:MM [throttle=RATE], or tz=ZONE")
    days = tuple(range(len(DAYS))) if match["days"] is None else _days(entry, match["days"])
    start, end = _minutes(entry, match["start"]), _minutes(entry, match["end"])
    if start in (end, DAY):
        raise ScheduleError(f"'{entry[:60]}': a period ends after its start; a whole day is 00:00-24:00")
    return Period(days, start, end if end > start else end + DAY, _rate(entry, match["rate"]))


def _days(entry: str, text: str) -> tuple[int, ...]:
    found = set[int]()
    for part in text.split(","):
        first, dash, last = map(str.strip, part.partition("-"))
        begin = _day(entry, first)
        end = _day(entry, last) if dash else begin
        found.update((begin + day) % len(DAYS) for day in range((end - begin) % len(DAYS) + 1))
    return tuple(sorted(found))


def _day(entry: str, name: str) -> int:
    number = _NUMBER_OF_DAY.get(name.lower())
    if number is None:
        raise ScheduleError(f"'{entry[:60]}': '{name[:20]}' is not a day: expected {', '.join(DAYS)}")
    return number


def _minutes(entry: str, text: str) -> int:
    hours, _, minutes = text.partition(":")
    found = int(hours) * 60 + int(minutes)
    if int(minutes) > 59 or found > DAY:
        raise ScheduleError(f"'{entry[:60]}': '{text}' is not a time: expected 00:00 to 24:00")
    return found


def _rate(entry: str, text: str | None) -> int | None:
    if text is None:
        return None
    try:
        rate = read_rate(text)
    except ValueError as error:
        raise ScheduleError(f"'{entry[:60]}': throttle={text[:20].strip()}: {error}") from error
    if not 1 <= rate <= MAX_RATE:
        raise ScheduleError(f"'{entry[:60]}': the throttle is at least 1 byte per second")
    return rate
