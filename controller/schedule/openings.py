"""When the periods of a schedule begin and end, in milliseconds since 1970.

The times of a period are on the clock of the schedule's zone. A time that the clock skips counts as the
moment of the jump, and a time that occurs twice counts at its first occurrence. So periods that adjoin on the
clock adjoin in time, and a period that lies in a skipped hour does not take place.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache
from itertools import groupby, takewhile
from operator import itemgetter
from typing import NamedTuple

from controller.schedule.periods import DAYS, Schedule

REACHES = (timedelta(days=4), timedelta(days=22))
"""How far around a time changes are searched; further if none is found. Each period takes place at least
every other week."""
MARGIN_DAYS = 3
"""A period of one day can end on the next, and a zone can be a day ahead."""
DAY_MS = 24 * 60 * 60 * 1000
CYCLE_MS = 146_097 * DAY_MS
"""400 years: a whole number of weeks."""
LATEST_MS = 253_370_764_800_000
"""The begin of the year 9999."""
LONGEST = timedelta(days=90)
"""How far a forecast looks."""


class Opening(NamedTuple):
    """What the schedule permits from `since_ms` until `until_ms`."""

    is_open: bool
    """Whether steps may start."""
    throttle: int | None
    """Bytes per second: the lowest throttle of the present periods. Between two periods, that of the last one
    remains for the steps in flight."""
    since_ms: int = 0
    until_ms: int | None = None
    """None: there is no next change."""

    def holds_at(self, now_ms: int) -> bool:
        """Return whether this is what the schedule permits at that time."""
        return self.since_ms <= now_ms and (self.until_ms is None or now_ms < self.until_ms)


ANY_TIME = Opening(is_open=True, throttle=None)
"""Without a schedule."""
STALE = Opening(is_open=False, throttle=None, until_ms=0)
"""The schedule was set, and has not been followed yet. Holds at no time."""


def opening_at(schedule: Schedule, now_ms: int) -> Opening:
    """Return what the schedule permits at that time, and until when."""
    if schedule.problem:
        return Opening(is_open=False, throttle=None)
    if shift := _shift(now_ms):
        opening = opening_at(schedule, now_ms - shift)
        until_ms = None if opening.until_ms is None else opening.until_ms + shift
        return opening._replace(since_ms=opening.since_ms + shift, until_ms=until_ms)
    present = Opening(is_open=False, throttle=None, since_ms=now_ms)
    for reach in REACHES:
        following = _openings_from(schedule, now_ms, reach)
        if len(following) > 1:
            return following[0]
        present = following[0] if following else present
    # Always the same: look again next week.
    return present._replace(until_ms=now_ms + 7 * DAY_MS)


def _openings_from(schedule: Schedule, now_ms: int, reach: timedelta) -> list[Opening]:
    """Return what the schedule permits from now until `reach` after it.

    Nothing if the change before now is not found.
    """
    found = list(openings(schedule, now_ms, reach))
    present = sum(opening.since_ms <= now_ms for opening in found) - 1
    if present < 0:
        return []
    ends = [opening.since_ms for opening in found[present + 1 :]]
    ends.append(now_ms + reach // timedelta(milliseconds=1))
    return [opening._replace(until_ms=end) for opening, end in zip(found[present:], ends, strict=True)]


def openings(schedule: Schedule, now_ms: int, reach: timedelta) -> Iterator[Opening]:
    """Yield changes in order of time, from `reach` (at most 22 days) before now until `reach` after it."""
    today = datetime.fromtimestamp(now_ms / 1000, schedule.tz).date()
    end = now_ms + reach / timedelta(milliseconds=1)
    return takewhile(lambda opening: opening.since_ms <= end, _openings_around(schedule, today, reach))


@lru_cache(maxsize=8)
def _openings_around(schedule: Schedule, today: date, reach: timedelta) -> Sequence[Opening]:
    """Return the changes around a day.

    They are the same all day: the time until jobs are done is computed often.

    The search begins MARGIN_DAYS earlier than needed. There, periods that began before are not known, so that
    the throttle of the last period may be wrong.
    """
    found: list[Opening] = []
    running = Counter[int | None]()
    for at_ms, group in groupby(sorted(_edges(schedule, today, reach), key=itemgetter(0)), itemgetter(0)):
        ending = list[int | None]()
        for _, change, throttle in group:
            running[throttle] += change
            if change < 0:
                ending.append(throttle)
        running = +running
        throttles: Iterable[int | None] = running or ending
        opening = Opening(bool(running), min(filter(None, throttles), default=None), at_ms)
        if not found or opening[:2] != found[-1][:2]:
            found.append(opening)
    first = _ms(datetime.combine(today - _before(reach), time.min, UTC))
    known = [opening for opening in found if opening.since_ms >= first - DAY_MS]
    earlier = found[: len(found) - len(known)][-1:]
    return [opening for opening in earlier if opening.is_open] + known


def _before(reach: timedelta) -> timedelta:
    """Return how far before a day changes are searched."""
    return min(reach, REACHES[-1])


def seconds_until_done(schedule: Schedule, now_ms: int, size: float, rate: float) -> float | None:
    """Return how long it takes from now to copy `size` bytes in the periods only, at `rate` bytes per second.

    The throttle of a period applies if it is lower. None: longer than `LONGEST`, or never.
    """
    now_ms -= _shift(now_ms)
    for reach in (*REACHES, LONGEST):
        at, left = now_ms, size
        for opening in _openings_from(schedule, now_ms, reach):
            end = opening.until_ms or at
            speed = min(rate, opening.throttle or rate) if opening.is_open else 0.0
            if speed and left / speed <= (end - at) / 1000:
                return (at - now_ms) / 1000 + left / speed
            left -= speed * (end - at) / 1000
            at = end
    return None


def closed_reason(schedule: Schedule | None, opening: Opening) -> str:
    """Return why no step may start. A time that is more than a day after the last period has its day."""
    if schedule is None or opening.until_ms is None:
        return f"the schedule is not valid: {schedule.problem}" if schedule else "outside of the schedule"
    until_ms = opening.until_ms - _shift(opening.until_ms)
    moment = datetime.fromtimestamp(until_ms / 1000, schedule.tz)
    day = "" if opening.until_ms - opening.since_ms < DAY_MS else f"{DAYS[moment.weekday()]} "
    return f"outside of the schedule until {day}{moment:%H:%M} ({schedule.zone})"


def _shift(at_ms: int) -> int:
    """Return by how much a time is moved back.

    `datetime` ends with the year 9999, and days repeat every 400 years.
    """
    return max(0, -(-(at_ms - LATEST_MS) // CYCLE_MS)) * CYCLE_MS


def instant(wall: datetime, zone: tzinfo) -> int:
    """Return when the clock of the zone first shows this time, which has no zone, or a later one."""
    first, second = (_ms(wall.replace(tzinfo=zone, fold=fold)) for fold in (0, 1))
    if first <= second:
        return first
    # Skipped: the clock jumps between the two, by the offset that `second` assumes.
    after = wall.replace(tzinfo=zone, fold=1).utcoffset()
    low, high = second, first
    while high - low > 1:
        middle = (low + high) // 2
        if datetime.fromtimestamp(middle / 1000, zone).utcoffset() == after:
            high = middle
        else:
            low = middle
    return high


Edge = tuple[int, int, int | None]
"""Time, +1 for the start of a period or -1 for its end, and its throttle."""


def _edges(schedule: Schedule, today: date, reach: timedelta) -> Iterable[Edge]:
    for number in range(-_before(reach).days - MARGIN_DAYS, reach.days + MARGIN_DAYS):
        day = today + timedelta(days=number)
        midnight = datetime.combine(day, time.min)
        for period in schedule.periods:
            if day.weekday() in period.days:
                start, end = (
                    instant(midnight + timedelta(minutes=minutes), schedule.tz)
                    for minutes in (period.start, period.end)
                )
                if start < end:
                    yield start, 1, period.throttle
                    yield end, -1, period.throttle


def _ms(moment: datetime) -> int:
    return round((moment - _EPOCH) / timedelta(milliseconds=1))


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
