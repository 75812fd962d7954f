from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from common.zones import host_zone
from controller.schedule.openings import (
    ANY_TIME,
    STALE,
    Opening,
    closed_reason,
    instant,
    opening_at,
    openings,
    seconds_until_done,
)
from controller.schedule.periods import Period, Schedule, parse_schedule, read_schedule
from tests.examples import examples

HOUR = 3_600_000
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "Pacific/Apia"]


def ms(text: str, zone: str = "UTC") -> int:
    """Return the time of `2026-03-28 22:00`; `+` at the end is the second occurrence of a time."""
    naive = datetime.fromisoformat(text.rstrip("+"))
    return round(naive.replace(tzinfo=ZoneInfo(zone), fold=text.endswith("+")).timestamp() * 1000)


def changes(text: str, start: str, end: str, zone: str = "UTC") -> list[tuple[str, bool]]:
    """Return when the schedule opens and closes between two times, on its clock, with the offset from UTC."""
    schedule, at, found = parse_schedule(text, host_zone), ms(start, zone), []
    while (until := opening_at(schedule, at).until_ms) is not None and until < ms(end, zone):
        at = until
        moment = datetime.fromtimestamp(at / 1000, ZoneInfo(zone))
        found.append((f"{moment:%a %H:%M%z}", opening_at(schedule, at).is_open))
    return found


def test_a_period_can_end_on_the_next_day() -> None:
    assert changes("Fri 22:00-06:00", "2026-06-01 00:00", "2026-06-08 00:00") == [
        ("Fri 22:00+0000", True),
        ("Sat 06:00+0000", False),
    ]


def test_periods_that_adjoin_or_overlap_are_one() -> None:
    text = "Mon 20:00-24:00; Tue 00:00-04:00; Tue 03:00-05:00"
    assert changes(text, "2026-06-01 00:00", "2026-06-08 00:00") == [
        ("Mon 20:00+0000", True),
        ("Tue 05:00+0000", False),
    ]


def test_the_lowest_throttle_of_overlapping_periods_holds() -> None:
    schedule = parse_schedule("20:00-06:00 throttle=50MB; 22:00-23:00 throttle=10MB; 21:00-24:00", host_zone)
    found = [opening_at(schedule, ms(f"2026-06-01 {hour}:30")) for hour in (20, 21, 22, 23)]
    assert [opening.throttle for opening in found] == [50_000_000, 50_000_000, 10_000_000, 50_000_000]
    assert found[0].until_ms == ms("2026-06-01 22:00")


def test_after_a_period_its_throttle_remains_for_the_steps_in_flight() -> None:
    schedule = parse_schedule("Mon 20:00-22:00 throttle=5MB; Mon 21:00-22:00; Tue 20:00-22:00", host_zone)
    assert opening_at(schedule, ms("2026-06-02 10:00"))[:2] == (False, 5_000_000)
    assert opening_at(schedule, ms("2026-06-03 10:00"))[:2] == (False, None)


def test_a_schedule_that_never_closes_is_looked_at_again_after_a_week() -> None:
    now = ms("2026-06-01 10:00")
    assert opening_at(parse_schedule("00:00-24:00", host_zone), now).until_ms == now + 7 * 24 * HOUR


def test_a_skipped_time_counts_as_the_moment_of_the_jump() -> None:
    berlin = "; tz=Europe/Berlin"
    day = ("2026-03-29 00:00", "2026-03-29 12:00", "Europe/Berlin")
    assert changes("Sun 01:00-02:30" + berlin, *day) == [("Sun 01:00+0100", True), ("Sun 03:00+0200", False)]
    assert changes("Sun 02:30-04:00" + berlin, *day) == [("Sun 03:00+0200", True), ("Sun 04:00+0200", False)]


def test_a_period_in_a_skipped_hour_does_not_take_place() -> None:
    text = "Sun 02:00-03:00; tz=Europe/Berlin"
    assert changes(text, "2026-03-29 00:00", "2026-03-30 00:00", "Europe/Berlin") == []
    before = opening_at(parse_schedule(text, host_zone), ms("2026-03-28 00:00", "Europe/Berlin"))
    assert before.until_ms == ms("2026-04-05 02:00", "Europe/Berlin")


def test_a_doubled_time_counts_at_its_first_occurrence() -> None:
    berlin = "; tz=Europe/Berlin"
    day = ("2026-10-25 00:00", "2026-10-25 12:00", "Europe/Berlin")
    assert changes("Sun 01:00-02:30" + berlin, *day) == [("Sun 01:00+0200", True), ("Sun 02:30+0200", False)]
    assert changes("Sun 02:30-04:00" + berlin, *day) == [("Sun 02:30+0200", True), ("Sun 04:00+0100", False)]
    assert changes("Sun 01:00-02:30; Sun 02:30-04:00" + berlin, *day) == [
        ("Sun 01:00+0200", True),
        ("Sun 04:00+0100", False),
    ]


def test_a_night_of_eight_hours_is_shorter_or_longer_when_the_clock_changes() -> None:
    schedule = parse_schedule("22:00-06:00; tz=Europe/Berlin", host_zone)
    for night, hours in (("2026-03-28", 7), ("2026-06-01", 8), ("2026-10-24", 9)):
        opening = opening_at(schedule, ms(f"{night} 23:00", "Europe/Berlin"))
        assert opening.until_ms == opening.since_ms + hours * HOUR


def test_a_day_that_a_zone_skipped_has_no_period() -> None:
    """Samoa had no 30 December 2011."""
    text = "Fri 08:00-10:00; tz=Pacific/Apia"
    assert changes(text, "2011-12-29 00:00", "2012-01-01 00:00", "Pacific/Apia") == []


def test_a_schedule_that_is_not_valid_is_closed_and_has_a_reason() -> None:
    broken = read_schedule("at night", host_zone)
    assert opening_at(broken, 0) == Opening(is_open=False, throttle=None)
    assert closed_reason(broken, opening_at(broken, 0)).startswith("the schedule is not valid: 'at night'")


@pytest.mark.parametrize(
    ("now", "until"),
    [
        ("2026-06-02 10:00", "22:00 (Europe/Berlin)"),
        ("2026-06-06 10:00", "Mon 22:00 (Europe/Berlin)"),
    ],
)
def test_the_reason_has_the_day_if_the_schedule_is_closed_for_longer_than_a_day(now: str, until: str) -> None:
    schedule = parse_schedule("Mon-Fri 22:00-06:00; tz=Europe/Berlin", host_zone)
    opening = opening_at(schedule, ms(now, "Europe/Berlin"))
    assert closed_reason(schedule, opening) == f"outside of the schedule until {until}"


def test_a_schedule_that_was_just_set_holds_at_no_time() -> None:
    assert not STALE.holds_at(0)
    assert ANY_TIME.holds_at(0)
    assert closed_reason(None, STALE) == "outside of the schedule"


# ---- forecasts ---------------------------------------------------------------------------------------------


def test_work_continues_in_the_next_period() -> None:
    schedule = parse_schedule("22:00-24:00", host_zone)
    now = ms("2026-06-01 23:00")
    assert seconds_until_done(schedule, now, 1800, 1) == 1800
    assert seconds_until_done(schedule, now, 3 * 3600, 1) == 25 * 3600


def test_work_waits_for_the_first_period() -> None:
    schedule = parse_schedule("22:00-24:00", host_zone)
    assert seconds_until_done(schedule, ms("2026-06-01 10:00"), 60, 1) == 12 * 3600 + 60


def test_a_throttle_of_a_period_makes_work_slower_and_never_faster() -> None:
    schedule = parse_schedule("00:00-12:00 throttle=10MB; 12:00-24:00 throttle=90MB", host_zone)
    now = ms("2026-06-01 11:00")
    assert seconds_until_done(schedule, now, 3600 * 40_000_000, 40_000_000) == 3600 + 2700


def test_work_that_takes_more_than_90_days_has_no_end() -> None:
    assert seconds_until_done(parse_schedule("Mon 00:00-00:01", host_zone), 0, 3600 * 24, 1) is None
    assert seconds_until_done(read_schedule("at night", host_zone), 0, 1, 1) is None


def test_a_forecast_computes_the_changes_once_and_not_for_each_period(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    instants: list[datetime] = []

    def counted(wall: datetime, zone: tzinfo) -> int:
        instants.append(wall)
        return instant(wall, zone)

    monkeypatch.setattr("controller.schedule.openings.instant", counted)
    text = "; ".join(f"{hour}:00-{hour}:30 throttle={hour + 1}" for hour in range(24))
    schedule = parse_schedule(text, host_zone)
    for _ in range(100):
        assert seconds_until_done(schedule, ms("2026-06-01 11:00"), 1e12, 1e9) is None
    assert len(instants) < 200 * 2 * 24


# ---- properties --------------------------------------------------------------------------------------------

MINUTES = st.integers(0, 24 * 60 - 1)
PERIODS = st.builds(
    lambda days, start, length, throttle: Period(tuple(sorted(days)), start, start + length, throttle),
    st.sets(st.integers(0, 6), min_size=1),
    MINUTES,
    st.integers(1, 24 * 60),
    st.sampled_from([None, 1_000, 2_000, 3_000]),
)
SCHEDULES = st.builds(
    lambda periods, zone: Schedule(tuple(periods), zone, tz=ZoneInfo(zone)),
    st.lists(PERIODS, min_size=1, max_size=5),
    st.sampled_from(ZONES),
)
WALL_TIMES = st.datetimes(datetime(2011, 1, 1), datetime(2030, 1, 1))  # noqa: DTZ001 (times of a clock)
TIMES = WALL_TIMES.map(lambda moment: round(moment.replace(tzinfo=UTC).timestamp() * 1000))


def wall(at_ms: int, zone: str) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, ZoneInfo(zone)).replace(tzinfo=None, fold=0)


def covering(schedule: Schedule, at_ms: int) -> list[Period]:
    """Return the periods at this time, by the clock of the zone only. Not for a doubled hour."""
    now = wall(at_ms, schedule.zone)
    found = []
    for period in schedule.periods:
        for back in (0, 1):
            midnight = datetime.combine(now.date() - timedelta(days=back), datetime.min.time())
            minutes = (now - midnight) / timedelta(minutes=1)
            if midnight.weekday() in period.days and period.start <= minutes < period.end:
                found.append(period)
    return found


def is_plain(at_ms: int, zone: str) -> bool:
    """Whether the clock did not change within the last three days."""
    moments = [at_ms - days * 24 * HOUR for days in range(4)]
    return len({datetime.fromtimestamp(m / 1000, ZoneInfo(zone)).utcoffset() for m in moments}) == 1


@settings(max_examples=examples(50), deadline=None)
@given(SCHEDULES, TIMES)
def test_the_schedule_is_open_when_the_clock_is_in_a_period(schedule: Schedule, now: int) -> None:
    opening = opening_at(schedule, now)
    if is_plain(now, schedule.zone):
        found = covering(schedule, now)
        assert opening.is_open == bool(found)
        if found:
            throttles = [period.throttle for period in found if period.throttle]
            assert opening.throttle == min(throttles, default=None)


@settings(max_examples=examples(50), deadline=None)
@given(SCHEDULES, TIMES)
@example(Schedule((Period((2,), 0, 1, None), Period((0, 1), 1, 1441, 1000)), "UTC"), 1_293_840_000_000)
def test_nothing_changes_before_the_next_change(schedule: Schedule, now: int) -> None:
    opening = opening_at(schedule, now)
    assert opening.until_ms is not None
    assert opening.holds_at(now)
    for at in (opening.since_ms, (now + opening.until_ms) // 2, opening.until_ms - 1):
        assert opening_at(schedule, at)[:2] == opening[:2]


@settings(max_examples=examples(50), deadline=None)
@given(SCHEDULES, TIMES)
def test_each_next_change_changes_something_or_is_a_week_away(schedule: Schedule, now: int) -> None:
    opening = opening_at(schedule, now)
    assert opening.until_ms is not None
    changed = opening_at(schedule, opening.until_ms)[:2] != opening[:2]
    assert changed or opening.until_ms == now + 7 * 24 * HOUR


@settings(max_examples=examples(100), deadline=None)
@given(SCHEDULES, TIMES)
def test_the_changes_are_in_order_of_time(schedule: Schedule, now: int) -> None:
    times = [opening.since_ms for opening in openings(schedule, now, timedelta(days=15))]
    assert times == sorted(set(times))


@settings(max_examples=examples(100), deadline=None)
@given(WALL_TIMES, st.sampled_from(ZONES), MINUTES)
def test_later_times_of_the_clock_are_never_earlier_instants(moment: datetime, zone: str, later: int) -> None:
    moment = moment.replace(microsecond=0)
    first = instant(moment, ZoneInfo(zone))
    assert first <= instant(moment + timedelta(minutes=later), ZoneInfo(zone))
    assert wall(first, zone) >= moment
    assert wall(first - 1, zone) < moment or is_doubled(first, zone)


def is_doubled(at_ms: int, zone: str) -> bool:
    """Whether the clock shows this time twice, or was set back just before."""
    offsets = {
        datetime.fromtimestamp(m / 1000, ZoneInfo(zone)).utcoffset() for m in (at_ms - HOUR, at_ms + HOUR)
    }
    return len(offsets) > 1


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati"])
@pytest.mark.parametrize("years", [400, 8_000, 40_000, 280_000])
def test_a_clock_after_the_year_9999_has_the_periods_of_400_years_before(years: int, zone: str) -> None:
    schedule = parse_schedule(f"Mon-Fri 22:00-06:00 throttle=50MB; tz={zone}", host_zone)
    now, ahead = ms("9998-12-31 23:00"), years // 400 * 146_097 * 24 * HOUR
    before, after = opening_at(schedule, now), opening_at(schedule, now + ahead)
    assert before.until_ms is not None
    assert after == before._replace(since_ms=before.since_ms + ahead, until_ms=before.until_ms + ahead)
    assert after.holds_at(now + ahead)
    assert closed_reason(schedule, after) == closed_reason(schedule, before)
    assert seconds_until_done(schedule, now + ahead, 1000, 1) == seconds_until_done(schedule, now, 1000, 1)
